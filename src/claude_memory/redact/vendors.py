"""Tokens of younger services, and blobs that are keys by what they begin with: data, no code."""

from __future__ import annotations

from claude_memory.redact.rule import BASE64, QUOTE, Rule, named, token

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
_CRYPT = r"[A-Za-z0-9./]"

VENDORS = (
    token("elevenlabs-key", "sk_", r"sk_[a-f0-9]{48}\b"),
    token("nvidia-key", "nvapi-", r"nvapi-[\w-]{40,}"),
    token("jina-key", "jina_", r"jina_[\w-]{50,}", "random"),
    token("firecrawl-key", "fc-", r"fc-[a-f0-9]{32}\b"),
    token("cursor-key", "key_ crsr_", r"(?:key|crsr)_[a-f0-9]{64}\b"),
    token("modal-token", "ak- as-", r"a[ks]-[A-Za-z0-9]{22}\b", "random"),
    token("e2b-key", "e2b_", r"(?:sk_)?e2b_[a-f0-9]{40}\b"),
    token("neon-key", "napi_ npg_", r"napi_[a-z0-9]{40,}|npg_[A-Za-z0-9]{10,}", "random"),
    token(
        "convex-key", "prod: dev: preview:", r"(?:prod|dev|preview):[a-z0-9-]{3,60}\|([A-Za-z0-9+/_=-]{30,})"
    ),
    token("cerebras-key", "csk-", r"csk-[a-z0-9]{40,}"),
    token("voyage-key", "pa-", r"pa-[\w-]{43}\b", "random"),
    token("langfuse-key", "sk-lf-", rf"sk-lf-{_UUID}"),
    token("posthog-key", "phx_ phs_ pha_ phr_", r"ph[xsar]_[A-Za-z0-9]{36,}"),
    token(
        "sourcegraph-token",
        "sgp_ slk_ sgd_",
        r"sgp_(?:local_|[a-f0-9]{16}_)?[a-f0-9]{40}\b|(?:slk|sgd)_[a-f0-9]{64}\b",
    ),
    token("gitlab-other-token", "glffct- glrtr- glwt- glcbt-", r"gl(?:ffct|rtr|wt|cbt)-[\w.-]{20,}"),
    token("slack-token", "xoxd- xoxc- xwfp-", r"xox[cd]-[A-Za-z0-9%+/=-]{20,}|xwfp-[0-9]-[A-Za-z0-9-]{20,}"),
    token("discord-bot-token", "discord-shape", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}", "random"),
    token("together-key", "tgp_v1_", r"tgp_v1_[\w-]{40,}"),
    token("runpod-key", "rpa_", r"rpa_[A-Z0-9]{40,}"),
    token("llamacloud-key", "llx-", r"llx-[A-Za-z0-9]{40,}"),
    token("apify-token", "apify_api_", r"apify_api_[A-Za-z0-9]{30,}"),
    token("browserbase-key", "bb_live_", r"bb_live_[\w-]{20,}", "random"),
    token("mem0-key", "m0-", r"m0-[A-Za-z0-9]{40}\b"),
    token("brave-key", "bsa", r"BSA[\w-]{28}\b", "random"),
    token("anyscale-key", "esecret_", r"esecret_[A-Za-z0-9]{20,}"),
    token("render-key", "rnd_", r"rnd_[A-Za-z0-9]{28,}\b", "random"),
    token("aiven-password", "avns_", r"AVNS_[\w-]{16,}"),
    token("trigger-key", "tr_prod_ tr_dev_ tr_stg_", r"tr_(?:prod|dev|stg|preview)_[A-Za-z0-9]{20,}"),
    token("inngest-key", "signkey-", r"signkey-(?:prod|test|branch)-[a-f0-9]{32,}"),
    token("polar-token", "polar_", r"polar_(?:oat|pat|at_u|at_o|rt_u|whs)_[A-Za-z0-9]{30,}"),
    token("paddle-key", "pdl_", r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9_]{20,}"),
    token("vercel-token", "vercel_blob_rw_", r"vercel_blob_rw_[A-Za-z0-9_]{30,}"),
    token("cloudflare-api-token", "cfut_ cfat_ cfk_", r"cf(?:ut|at|k)_[A-Za-z0-9]{40,}"),
    token("mongodb-atlas-secret", "mdb_sa_sk_", r"mdb_sa_sk_[\w-]{30,}"),
    token("axiom-token", "xaat- xapt-", rf"xa(?:at|pt)-{_UUID}"),
    token("logfire-token", "pylf_v", r"pylf_v[0-9]_[a-z]{2,8}_[A-Za-z0-9]{40,}"),
    token("honeycomb-key", "hcaik_ hcaic_ hcbik_ hcxik_ hcalk_ hcamk_", r"hc[abx][a-z]{2}_[A-Za-z0-9]{50,}"),
    token("statsig-key", "secret-", r"secret-[A-Za-z0-9]{40,}\b", "random"),
    token("prefect-key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}\b"),
    token("dbt-token", "dbtc_ dbtu_", r"dbt[cu]_[\w-]{30,}"),
    token("easypost-key", "ezak eztk", r"EZ[AT]K[A-Za-z0-9]{54}\b"),
    token("adafruit-key", "aio_", r"aio_[A-Za-z0-9]{28}\b"),
    token("typeform-token", "tfp_", r"tfp_[\w.=-]{40,}"),
    token("readme-key", "rdme_", r"rdme_[a-z0-9]{60,}"),
    token("frameio-token", "fio-u-", r"fio-u-[\w=-]{60,}"),
    token("flutterwave-key", "flwseck", r"FLWSECK(?:_TEST)?-[a-h0-9]{12,}(?:-X)?"),
    token("octopus-key", "api-", r"API-[A-Z0-9]{25,32}\b", "random"),
    token("jetbrains-token", "perm:", r"perm:[A-Za-z0-9=]{4,}\.[A-Za-z0-9=]{4,}\.[A-Za-z0-9]{30,}"),
    token("clickup-token", "pk_", r"pk_[0-9]{6,10}_[A-Z0-9]{32}\b"),
    token("cal-key", "cal_live_", r"cal_live_[a-f0-9]{32}\b"),
    token("gcp-api-key", "aq.ab8", r"AQ\.Ab8[\w-]{40,}"),
    token("depot-token", "depot_", r"depot_(?:org|project|user)_[a-f0-9]{40,}"),
    token("raycast-token", "rca_", r"rca_[a-f0-9]{64}\b"),
    token("doppler-token", "dp.st.", r"dp\.st\.[a-z0-9_-]{2,35}\.[A-Za-z0-9]{40,}"),
    token("infisical-token", "st.", r"st\.[a-f0-9]{24}\.[a-f0-9]{32}(?:\.[a-f0-9]{32})?\b"),
    token("tinybird-token", "p.ey", r"p\.eyJ[\w-]{40,}(?:\.[\w-]+)?"),
    token("stripe-key", "sk_org_", r"sk_org_(?:live|test)_[A-Za-z0-9]{16,}"),
    token("shopify-token", "shptka_", r"shptka_[a-fA-F0-9]{32,}"),
    token("prisma-key", "prisma_", r"prisma_[a-z]{2,8}_[\w-]{30,}", "random"),
    token("svix-key", "svix_ testsk_", r"(?:svix|testsk)_[\w.-]{30,}", "random"),
    token("upcloud-token", "ucat_", r"ucat_[A-Z0-9]{26}\b"),
    token("azure-key", "jqqj99", r"[A-Za-z0-9]{40,60}JQQJ99[A-Za-z0-9]{20,40}\b"),
)

BLOBS = (
    # Base64 of "-----BEGIN", of a key in DER, of an OpenSSH key.
    token(
        "encoded-private-key",
        "ls0tls1crudj",
        r"LS0tLS1CRUdJTi[A-Za-z0-9+/_-]*(?:UFJJVkFURSBLRVk|QUklWQVRFIEtFW|BSSVZBVEUgS0VZ)[A-Za-z0-9+/=_-]{40,}",
        None,
    ),
    token("encoded-private-key", "b3blbnnzac1rzxktdje", r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=_-]{60,}", None),
    token(
        "encoded-private-key",
        "mii",
        r"MII[A-Za-z0-9+/]{3,8}(?:IBADANBgkqhkiG9w0BAQEF|AgEAAoI|IBAAKC|AgEAMA0GCSqGSIb3DQEB)[A-Za-z0-9+/=]{60,}",
        None,
    ),
    token(
        "encoded-private-key",
        "miguageam mhccaqe mc4caqa",
        r"(?:MIG[A-Za-z]AgEAM|MHcCAQE|MC4CAQAw)[A-Za-z0-9+/=]{40,}",
        None,
    ),
    Rule(
        "password-hash",
        ("$2", "$5$", "$6$", "$1$", "$apr1$", "$y$", "$argon2", "$7$", "$gy$", "$sha1$"),
        rf"(\$2[abxy]?\$[0-9]{{2}}\${_CRYPT}{{53}})"
        rf"|(\$(?:[156]|apr1|sha1)\$(?:rounds=[0-9]+\$)?{_CRYPT}{{1,16}}\${_CRYPT}{{20,86}})"
        rf"|(\$(?:y|gy|7)\${_CRYPT}{{2,12}}\${_CRYPT}{{4,86}}\${_CRYPT}{{40,}})"
        r"|(\$argon2(?:id|i|d)\$[\w=,$]{6,40}\$[A-Za-z0-9+/]{10,}\$[A-Za-z0-9+/]{16,})",
        "token",
    ),
    Rule(
        "password-hash",
        ("pbkdf2", "scrypt:", "scram-sha", "{ssha", "{sha", "{smd5", "{crypt", "bcrypt_sha256", "pbkdf2:sha"),
        r"(pbkdf2[_:]sha\d{1,3}[:$][0-9]+\$[^\s$\"'\x00]{4,64}\$[A-Za-z0-9+/=]{20,})"
        r"|(scrypt:[0-9:]{5,20}\$[^\s$\"'\x00]{4,64}\$[a-f0-9]{32,})"
        r"|(SCRAM-SHA-\d{1,3}\$[0-9]+:[A-Za-z0-9+/=]{8,}\$[A-Za-z0-9+/=]{20,}:[A-Za-z0-9+/=]{20,})"
        r"|\{(?i:ssha\d{0,3}|sha\d{0,3}|smd5|crypt)\}([A-Za-z0-9+/=$.]{20,})",
        "token",
    ),
    Rule(
        "password-hash",
        (":::", "native_password", "identified"),
        r"[\w.$\\-]{1,40}:[0-9]{1,6}:([a-fA-F0-9]{32}:[a-fA-F0-9]{32}):::"
        r"|(?i:native_password|password|sha2_password)[ \t]+(?i:as|by)[ \t]+\\*'(\*[A-F0-9]{40})'"
        r"|(?i:identified by password)[ \t]+\\*'(\*[A-F0-9]{40})'",
        "token",
    ),
    Rule(
        "docker-auth",
        ('auth"', "auth\\", "auth=", "identitytoken", "registrytoken"),
        rf"(?:\b|_)(?:auth|identitytoken|registrytoken)(?:{QUOTE})?\s{{0,4}}[:=]\s{{0,4}}{QUOTE}([A-Za-z0-9+/_-]{{8,}}={{0,2}}){QUOTE}",
        "basic",
    ),
    Rule(
        "jwk-private-part",
        ("kty",),
        rf"{QUOTE}(?:d|p|q|dp|dq|qi|k){QUOTE}\s*:\s*{QUOTE}([A-Za-z0-9_-]{{20,}}){QUOTE}",
        "token",
    ),
    Rule(
        "otp-secret",
        ("otpauth://",),
        r"otpauth://[^\s\"'`\x00]{1,200}?[?&]secret=([A-Za-z2-7]{8,}={0,6})",
        None,
    ),
    Rule(
        "kubernetes-secret",
        ('"kind": "secret"', '"kind":"secret"', '\\"kind\\": \\"secret', '\\"kind\\":\\"secret'),
        rf"{QUOTE}data{QUOTE}\s*:\s*\{{[^{{}}\x00]{{0,400}}?{QUOTE}[\w.-]{{1,60}}{QUOTE}\s*:\s*{QUOTE}({BASE64}{{10,}}={{0,2}}){QUOTE}",
        "kubernetes",
    ),
    named("ngrok-token", "ngrok|authtoken", "ngrok authtoken", r"[\w]{30,60}\b", "random"),
)
