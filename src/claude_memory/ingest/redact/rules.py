"""The formats of secrets, as data: kind, prefilter keywords, pattern in re2 syntax, check.

Every group of a pattern is cut where it matched. Order is rank: where two rules overlap, the earlier names
the kind. NUL marks what was cut before and must be in no value class.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One format. The rule runs only on texts that hold one of its keywords (lower case)."""

    kind: str
    keywords: tuple[str, ...]
    pattern: str
    check: str | None = None


# A token may follow an escape of JSON, of a URL or of a terminal, whose last letter would join the word.
_B = r"(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}|\[[0-9;]*m)"
_Q = r"""\\*["'`]"""
# `name = "value"`, `"name": "value"`, `name => value`, `--name value`, `name", "value`
_SEP = rf"(?:{_Q})?\]?[ \t]{{0,3}}(?:=>|:=|\?=|==|[=:,]|[ \t])(?:\\\r?\n)?[ \t]{{0,3}}[bru]?(?:{_Q})?"


def _token(kind: str, keywords: str, body: str, check: str | None = "token") -> Rule:
    """A format that shows by itself."""
    return Rule(kind, tuple(keywords.split()), f"{_B}({body})", check)


def _named(kind: str, names: str, keywords: str, value: str, check: str | None = "token") -> Rule:
    """A value without a format of its own: the name of its service stands before it."""
    pattern = rf"(?i:(?:{names})[a-z0-9_.-]{{0,24}}){_SEP}({value})"
    return Rule(kind, tuple(keywords.split()), pattern, check)


_HEX32 = r"[0-9a-fA-F]{32}\b"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
_B64 = r"[A-Za-z0-9+/]"

_PEM_SKIP = r"""(?:[\s"',+|>#*\\\x7f-]|\\+[nrt]|[0-9]{1,6}[\t\x7f:])*"""
_PEM_HEADERS = (
    r"(?:(?:\s|\\+[nr])*(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\r\n\\\x00]{0,120})*"
)
_PEM_END = (
    rf"(?:{_PEM_SKIP}[A-Za-z0-9+/=]{{0,80}}{_PEM_SKIP}-----END [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----)?"
)

BLOCKS = (
    Rule(
        "private-key",
        ("private key",),
        rf"(-----BEGIN [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----{_PEM_HEADERS}"
        rf"(?:{_PEM_SKIP}[A-Za-z0-9+/=]{{12,}})+{_PEM_END})",
    ),
    Rule(
        "ssh2-private-key",
        ("ssh2 encrypted private key",),
        rf"(---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?:{_PEM_SKIP}[A-Za-z0-9+/=:]{{8,}})+)",
    ),
    Rule(
        "putty-private-key",
        ("private-lines", "private-mac"),
        rf"Private-Lines: ?[0-9]+((?:{_PEM_SKIP}{_B64}{{12,}}={{0,2}})+(?:{_PEM_SKIP}{_B64}{{2,}}={{1,2}})?)|Private-MAC: ?([0-9a-f]{{40,}})",
    ),
    _token("age-secret-key", "age-secret-key-", r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{40,}"),
    _named(
        "wireguard-private-key",
        "private_?key|preshared_?key",
        "privatekey private_key presharedkey",
        rf"{_B64}{{43}}=",
    ),
    _named("kubeconfig-client-key", "client-key-data", "client-key-data", rf"{_B64}{{40,}}={{0,2}}"),
)

CLOUD = (
    _token(
        "aws-access-key-id",
        "akia asia abia acca",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}",
        None,
    ),
    _token("aws-bedrock-key", "absk", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    _named(
        "aws-session-token",
        r"session_?token|security_?token",
        "sessiontoken session_token securitytoken security_token security-token",
        rf"{_B64}{{80,}}={{0,2}}",
    ),
    _named(
        "aws-secret-access-key",
        r"secret_?access_?key|aws_?secret(?:_?key)?|aws[a-z0-9_.-]{0,16}secret",
        "secretaccesskey secret_access_key aws_secret awssecret aws-secret secret_accesskey",
        rf"{_B64}{{40}}\b",
    ),
    _token("gcp-api-key", "aiza", r"AIza[\w-]{35,}"),
    _token("google-oauth-client-secret", "gocspx-", r"GOCSPX-[\w-]{24,}"),
    _token("google-oauth-access-token", "ya29.", r"ya29\.[\w.-]{20,}"),
    _token("google-oauth-refresh-token", "1//0", r"1//0[\w-]{30,}"),
    _named("gcp-private-key-id", "private_key_id", "private_key_id", r"[0-9a-f]{40}\b"),
    _named(
        "azure-storage-key",
        "AccountKey|storage_?(?:account_?)?key",
        "accountkey storage_key storagekey storage_account_key",
        rf"{_B64}{{86}}==",
    ),
    _named(
        "azure-shared-access-key",
        "SharedAccessKey|SharedSecretKey",
        "sharedaccesskey sharedsecretkey",
        rf"{_B64}{{40,}}={{0,2}}",
    ),
    Rule(
        "azure-sas-signature", ("sig=",), r"(?i:[?&;]|amp;|\\u0026)sig=([A-Za-z0-9%+/_-]{30,}={0,2})", "token"
    ),
    _token("azure-client-secret", "8q~ 7q~", r"[\w~.-]{3}[78]Q~[\w~.-]{31,34}"),
    _token("azure-devops-token", "azdo", r"[A-Za-z0-9]{70,}AZDO[A-Za-z0-9]{4}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64,}"),
    _token("alibaba-access-key-id", "ltai", r"LTAI[A-Za-z0-9]{12,30}\b", "random"),
    _token("yandex-cloud-key", "aqvn t1.", r"AQVN[\w-]{35,}|t1\.[A-Z0-9a-z_-]+=?=?\.[A-Z0-9a-z_-]{86}={0,2}"),
    _token("heroku-api-key", "hrku-", r"HRKU-[\w-]{36,}"),
    _named("heroku-api-key", "heroku", "heroku", _UUID),
    _named("linode-token", "linode", "linode", r"[a-f0-9]{64}\b"),
    _named(
        "cloudflare-api-token",
        "cloudflare|cf_api|cf_token",
        "cloudflare cf_api cf_token",
        r"[\w-]{37,40}\b",
        "random",
    ),
    _token("cloudflare-origin-ca-key", "v1.0-", r"v1\.0-[a-f0-9]{20,}-[a-f0-9]{120,}"),
    _named("fastly-token", "fastly", "fastly", r"[\w-]{32}\b", "random"),
    _token("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", r"nf[pcoub]_[A-Za-z0-9_-]{36,}"),
    _named("netlify-token", "netlify", "netlify", r"[\w-]{40,46}\b", "random"),
    _token("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", r"vc[piark]_[A-Za-z0-9_-]{40,}"),
    _named("vercel-token", "vercel", "vercel", r"[A-Za-z0-9]{24}\b", "random"),
    _token("flyio-token", "fo1_ fm1 fm2_", r"fo1_[\w-]{43,}|fm[12][ar]?_[A-Za-z0-9+/]{80,}={0,3}"),
    _token("terraform-cloud-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}"),
    _token("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,}"),
    _named(
        "vault-token",
        "vault_?token",
        "vault_token vaulttoken vault-token x-vault-token",
        r"s\.[A-Za-z0-9]{24}\b",
    ),
    _token("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    _token("databricks-token", "dapi dose dkea", r"(?:dapi|dose|dkea)[a-f0-9]{32}(?:-[0-9])?"),
    _named(
        "snowflake-password",
        "snowflake[a-z0-9_.-]{0,12}(?:password|pwd|token)|snowsql_pwd",
        "snowflake snowsql_pwd",
        r"""[^\s"'`\\,;\x00]{8,}""",
        "password",
    ),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth|oauth_access)_[\w.=-]{30,}"),
    _token("supabase-token", "sbp_ sb_secret_", r"sbp_[a-f0-9]{40,}|sb_secret_[\w-]{30,}"),
    _token("scaleway-key", "scw", r"SCW[A-Z0-9]{17}\b", "random"),
    _token(
        "doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"
    ),
    _token("1password-service-token", "ops_ey", r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,2}"),
    _token(
        "1password-secret-key",
        "a3-",
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
)

FORGES = (
    _token("github-token", "ghp_", r"ghp_[A-Za-z0-9]{36,}"),
    _token("github-oauth-token", "gho_", r"gho_[A-Za-z0-9]{36,}"),
    _token("github-app-token", "ghu_ ghs_", r"gh[us]_[A-Za-z0-9_.-]{36,}"),
    _token("github-refresh-token", "ghr_", r"ghr_[A-Za-z0-9]{36,}"),
    _token("github-fine-grained-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{50,}"),
    _named(
        "github-legacy-token", "github[a-z0-9_.-]{0,12}token|gh_token", "github gh_token", r"[a-f0-9]{40}\b"
    ),
    _token("gitlab-token", "glpat-", r"glpat-[\w.-]{20,}"),
    _token("gitlab-deploy-token", "gldt-", r"gldt-[\w-]{20,}"),
    _token("gitlab-runner-token", "glrt- gr1348941", r"glrt-[\w.-]{20,}|GR1348941[\w-]{20,}"),
    _token(
        "gitlab-other-token",
        "glptt- glcbt- glft- glsoat- glagent- glimt- gloas-",
        r"gl(?:ptt|cbt|ft|soat|agent|imt|oas)-[\w.-]{20,}",
    ),
    _token("bitbucket-token", "atbb atctt3", r"ATBB[A-Za-z0-9]{24,}(?:[A-F0-9]{8})?|ATCTT3[\w=-]{50,}"),
    _token("atlassian-token", "atatt3", r"ATATT3[\w=+/-]{50,}"),
    _named(
        "atlassian-token",
        "atlassian|jira|confluence",
        "atlassian jira confluence",
        r"[A-Za-z0-9]{24}\b",
        "random",
    ),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36,}"),
    Rule(
        "npm-auth",
        ("_auth", "_password"),
        rf"(?:^|[\s:/;]):?_(?:authToken|auth|password)\s{{0,3}}=\s{{0,3}}(?:{_Q})?([^\s\"'`\\;$\x00]{{8,}})",
        "password",
    ),
    _token("pypi-token", "pypi-ageichlwas pypi-agenzgvzd", r"pypi-Ag[A-Za-z0-9_-]{40,}"),
    _token("rubygems-token", "rubygems_", r"rubygems_[a-f0-9]{48,}"),
    _token("cargo-token", "cio", r"cio[A-Za-z0-9]{32}\b", "random"),
    _token("docker-hub-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{20,}"),
    _token("jfrog-token", "akcp cmvmd", r"AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{55,}"),
    _token("nuget-key", "oy2", r"oy2[a-z0-9]{43}\b"),
    _token("clojars-token", "clojars_", r"CLOJARS_[a-z0-9]{60,}"),
)

SERVICES = (
    _token(
        "slack-token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe",
        r"xox[bparsoe](?:\.xox[bp])?-[A-Za-z0-9-]{10,}",
    ),
    _token("slack-app-token", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    Rule(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{20,})",
        "token",
    ),
    Rule(
        "discord-webhook",
        ("/api/webhooks/",),
        r"discord(?:app)?\.com/api/webhooks/([0-9]{15,}/[\w-]{50,})",
        "token",
    ),
    _token("discord-bot-token", "discord bot", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    _token("telegram-bot-token", ":aa", r"[0-9]{8,10}:AA[\w-]{32,}"),
    Rule("telegram-bot-token", ("api.telegram.org",), r"api\.telegram\.org/bot([0-9]{6,}:[\w-]{30,})"),
    Rule(
        "teams-webhook",
        ("webhook.office.com",),
        r"webhook\.office\.com/(?:webhookb2/)?([\w@-]{36,}/IncomingWebhook/[\w-]+/[\w-]+)",
    ),
    _token("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}"),
    _token("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    _token(
        "square-token",
        "sq0atp- sq0csp- sq0idp- eaaa",
        r"sq0(?:atp|csp|idp)-[\w-]{22,}|EAAA[A-Za-z0-9_-]{56,}",
    ),
    _token(
        "paypal-braintree-token",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{12,}\$[0-9a-f]{32}",
    ),
    _named("paypal-secret", "paypal", "paypal", r"E[A-Za-z0-9_-]{60,}", "random"),
    _token("adyen-key", "aqe", r"AQE[a-z][a-z0-9]{2}[A-Za-z0-9+/=*.-]{60,}"),
    _token("twilio-key", "sk ac", r"SK[0-9a-f]{32}\b"),
    _named("twilio-auth-token", "twilio", "twilio", _HEX32),
    _token("sendgrid-key", "sg.", r"SG\.[\w-]{16,}\.[\w-]{32,}"),
    _token("mailgun-key", "key- pubkey-", r"(?:pub)?key-[0-9a-f]{32}\b"),
    _named("mailgun-key", "mailgun", "mailgun", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    _token("mailchimp-key", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}\b"),
    _token("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _named("postmark-token", "postmark", "postmark", _UUID),
    _token("resend-key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b", "random"),
    _token(
        "new-relic-key",
        "nrak- nrjs- nrii- nral",
        r"NR(?:AK|JS|II|AA|IQ)-[A-Za-z0-9_-]{19,}|[a-f0-9]{36}NRAL\b",
    ),
    _named(
        "datadog-key",
        "datadog|dd_(?:api|app|application)",
        "datadog dd_api dd_app dd-api dd-app",
        r"[0-9a-f]{32}(?:[0-9a-f]{8})?\b",
    ),
    Rule(
        "sentry-dsn", ("sentry",), r"https?://([0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]*(?:sentry|ingest)", None
    ),
    _token("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    _token(
        "grafana-token",
        "glsa_ glc_ eyjrijoi",
        r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,2}|eyJrIjoi[A-Za-z0-9+/]{40,}={0,2}",
    ),
    _token("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _token("notion-token", "ntn_ secret_", r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b", "random"),
    _token("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    _named("airtable-key", "airtable", "airtable", r"key[A-Za-z0-9]{14}\b"),
    _token("asana-token", "/", r"[0-2]/[0-9]{12,}(?:/[0-9]{12,})?:[0-9a-f]{32}\b"),
    _named("asana-token", "asana", "asana", r"[0-9a-f]{32}\b|[0-9a-z]{32}\b", "random"),
    _token("figma-token", "figd_ figo_ figu_", r"fig[dou]_[\w-]{36,}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", r"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32,}"),
    _token("facebook-token", "eaac eaab eaaa eaag eaad", r"EAA[A-Z][A-Za-z0-9]{60,}"),
    _named("facebook-secret", "facebook|fb_app|meta_app", "facebook fb_app meta_app", _HEX32),
    _token("twitter-bearer-token", "aaaaaaaaaaaaaaaaaaaa", r"A{20,}[A-Za-z0-9%]{40,}", None),
    _named(
        "twitter-secret", "twitter", "twitter", r"[A-Za-z0-9]{35,50}\b|[0-9]{8,}-[A-Za-z0-9]{30,}", "random"
    ),
    _named(
        "linkedin-secret", "linkedin", "linkedin", r"(?:WPL_AP1\.)?[A-Za-z0-9]{16}(?:\.[\w+/=]+)?\b", "random"
    ),
    _token("dropbox-token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_=-]{100,}"),
    _named("dropbox-key", "dropbox", "dropbox", r"[a-z0-9]{15}\b|[A-Za-z0-9_-]{64}\b", "random"),
    _token("postman-key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _token("mapbox-token", "sk.ey", r"sk\.eyJ[\w-]{20,}\.[\w-]{20,}"),
    _token("launchdarkly-key", "sdk- api- mob-", rf"(?:sdk|api|mob)-{_UUID}"),
    _token("contentful-token", "cfpat-", r"CFPAT-[\w-]{40,}"),
    _token("hubspot-token", "pat-", rf"pat-(?:na|eu|ap)[0-9]-{_UUID}"),
    _token("intercom-token", "dg9r", r"dG9rO[A-Za-z0-9+/=]{40,}"),
    _token("buildkite-token", "bkua_ bkaj_", r"bk(?:ua|aj)_[a-f0-9]{40}"),
    _token("circleci-token", "ccipat_ ccipprj_", r"CCIP(?:AT|PRJ)_[A-Za-z0-9]{20,}_[a-f0-9]{40}"),
    _token("sonar-token", "squ_ sqp_ sqa_", r"sq[upa]_[a-f0-9]{40}"),
    _token("dynatrace-token", "dt0c01 dt0s", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{60,}"),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9]+-?[A-Za-z0-9]{16,}"),
    _token("shippo-token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    _token("duffel-token", "duffel_", r"duffel_(?:live|test)_[\w-]{40,}"),
    _token("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
)

MODELS = (
    _token("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{24,}"),
    _token(
        "openai-key",
        "sk-proj- sk-svcacct- sk-admin- sk-service t3blbkfj",
        r"sk-(?:proj|svcacct|admin|service)-[\w-]{20,}|sk-[\w-]{15,}T3BlbkFJ[\w-]{15,}",
    ),
    _token("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[a-f0-9]{40,}"),
    _token("openai-key", "sk-", r"sk-[A-Za-z0-9]{32,}"),
    _token("huggingface-token", "hf_ api_org_", r"hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{34}", "random"),
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37,}"),
    _named("cohere-key", "cohere|co_api", "cohere co_api", r"[A-Za-z0-9]{40}\b", "random"),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}"),
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _token("fireworks-key", "fw_", r"fw_[A-Za-z0-9]{22,}\b", "random"),
    _token("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _token("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{50,}"),
    _token("wandb-key", "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{60,}"),
    _named("wandb-key", "wandb", "wandb", r"[0-9a-f]{40}\b"),
    _token("tavily-key", "tvly-", r"tvly-[A-Za-z0-9-]{28,}"),
    _named("mistral-key", "mistral", "mistral", r"[A-Za-z0-9]{32}\b", "random"),
)

# What a secret can be made of where nothing but its surroundings marks it. A backslash belongs to the value
# unless it begins an escape that ends the line or the string.
_CHARS = r"""(?:[^\s"'`\\\x00]|\\[^nrtu"'`\s\\\x00])"""
_BARE = r"""(?:[^\s"'`\\,;&|<>()\x00]|\\[^nrtu"'`\s\\\x00])"""
_NAME = (
    r"(?i:secret|token|passw(?:or)?d|passphrase|pwd|api[_-]?key|access[_-]?key|secret[_-]?key(?:[_-]?base)?|private[_-]?key"
    r"|auth[_-]?key|(?:encryption|signing|master|account|shared|license|app)[_-]?key|credentials?|[_-]pass|[_-]auth)"
)
_NAME_WORDS = tuple(
    "secret token passwd password passphrase pwd api_key api-key apikey access_key access-key accesskey private_key "
    "private-key privatekey auth_key auth-key encryption_key signing_key master_key master-key account_key "
    "accountkey shared_key license_key app_key credential _pass _auth -auth -pass".split()
)
_TYPE = r"(?::[ \t]?[A-Za-z][\w.]*(?:\[\w+\])?(?:[ \t]?\|[ \t]?None)?[ \t]?)?"

CONTEXTS = (
    _token("jwt", "eyj zxlk", r"eyJ[\w-]{8,}(?:\.[\w-]+){1,2}\.[\w-]*(?:\.[\w-]+)*", "jwt"),
    Rule(
        "authorization-header",
        ("authorization", "x-api-key", "x-auth-token", "private-token", "x-access-token", "api-key"),
        rf"(?:^|[^A-Za-z])(?i:authorization|x-api-key|x-auth-token|private-token|x-access-token|api-key){_SEP}"
        rf"(?i:(?:bearer|token|basic|apikey|digest|key|bot|splunk|negotiate|ghost)(?:[ \t]+|%20|=))?({_BARE}{{8,}})",
        "random",
    ),
    _named("bearer-token", "bearer", "bearer", r"[\w.~+/-]{16,}={0,2}", "random"),
    Rule("basic-login", ("basic",), r"(?i:\bbasic)[ \t]+([A-Za-z0-9+/_-]{8,}={0,2})", "basic"),
    Rule(
        "url-password",
        ("://",),
        r"""\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/?#@"'<>`\x00]{0,80}:([^\s/?#"'<>`\x00]{3,})@[A-Za-z0-9\[_.\x7f-]""",
        "password",
    ),
    Rule(
        "connection-string-password",
        ("password=", "pwd=", "password ="),
        rf"(?i:;[ \t]?|[\s\"'])(?i:password|pwd)[ \t]?=[ \t]?([^;\s\"'`\x00]{{4,}});",
        "password",
    ),
    Rule(
        "curl-login",
        ("curl", "wget", "http"),
        r"""\s(?:-u|--user|--proxy-user|-U)[ =]?["']?[\w.@+%-]+:([^\s"'`\x00]{4,})""",
        "password",
    ),
    Rule(
        "command-password",
        ("--pass", "--pwd", "--token", "--secret", "--api-key", "--auth", "-pass"),
        rf"(?:\s|^|[\"'])--?[a-z-]{{0,30}}(?:password|passwd|passphrase|pwd|pass|token|secret|api-key|auth)(?:[ \t=]|(?:{_Q}),?[ \t]?)(?:\\\r?\n[ \t]*)?(?:{_Q})?({_BARE}{{6,}})",
        "env",
    ),
    Rule(
        "mysql-password",
        ("mysql", "mariadb", "sshpass", "redis-cli"),
        rf"(?:mysql\w*|mariadb\w*)\s[^\n|;]{{0,120}}?\s-p({_BARE}{{6,}})|sshpass\s+-p[ \t]*(?:{_Q})?({_BARE}{{4,}})|redis-cli\s[^\n|;]{{0,120}}?-a[ \t]+(?:{_Q})?({_BARE}{{6,}})",
        "env",
    ),
    Rule(
        "netrc-password",
        ("machine", "login"),
        r"(?:machine\s+[\w.:-]+|default)\s+login\s+\S+\s+password\s+([^\s\x00]{4,})",
        "password",
    ),
    Rule(
        "sql-password",
        ("identified by", "password '", "encrypted password"),
        r"(?i:identified by|(?:with|encrypted|set|role [\w\"]+|user [\w\"]+) password)\s+\\*'([^'\s\x00]{6,})'",
        "env",
    ),
    Rule(
        "xml-password",
        ("</",),
        r"<(?i:[\w.:-]{0,30}(?:password|passwd|secret|token|apikey|api_key|api-key))>([^<\s\x00]{8,})</",
        "random",
    ),
    Rule(
        "session-cookie",
        ("cookie",),
        r"""(?i:cookie)[^\n\x00]{0,400}?(?i:sess(?:ion)?[\w.-]{0,16}|sid|auth[\w.-]{0,16}|token|jwt|connect\.sid|remember[\w.-]{0,16}|csrftoken|phpsessid|jsessionid)["']?[=:][ ]?["']?([^\s;,"'\x00]{16,})""",
        "random",
    ),
    Rule(
        "kubernetes-secret",
        ("kind: secret", '"kind": "secret"', '"kind":"secret"'),
        rf"(?m)^[ \t+-]*[\w.-]{{1,60}}:[ \t]+(?:{_Q})?({_B64}{{10,}}={{0,2}})(?:{_Q})?[ \t]*$",
        "kubernetes",
    ),
    Rule(
        "env-secret",
        tuple(
            f"{word}="
            for word in (
                "password",
                "passwd",
                "pwd",
                "pass",
                "secret",
                "token",
                "key",
                "credentials",
                "passphrase",
                "auth",
                "key_base",
            )
        ),
        r"""(?m)(?:^|\\n)[ \t+-]*(?:[0-9]+[\t\x7f])?(?:export |set |ENV |ARG |- )?(?:[A-Z][A-Z0-9_]*_)?(?:PASSWORD|PASSWD|PWD|PASS|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_KEY|ENCRYPTION_KEY|SIGNING_KEY|KEY_BASE|CREDENTIALS|PASSPHRASE|AUTH)="""
        rf"(?:{_Q})?({_CHARS}{{6,}})",
        "env",
    ),
    Rule(
        "secret-assignment",
        _NAME_WORDS,
        rf"(?:[A-Z]\w*::[A-Z]\w*::\w*)?{_NAME}(?:{_Q})?\]?{_TYPE}[ \t]{{0,12}}(?:=>|:=|\?=|==|[=:,])[ \t]{{0,12}}[bru]?{_Q}({_CHARS}{{8,}})"
        rf"|{_NAME}(?:{_Q})?\]?{_TYPE}[ \t]{{0,12}}(?:=>|:=|\?=|[=:])[ \t]{{0,12}}({_BARE}{{8,}})"
        rf"|(?i:\bset(?:env|x)?)[ \t]+\w*{_NAME}[ \t]+(?:{_Q})?({_BARE}{{8,}})",
        "random",
    ),
)

RULES: tuple[Rule, ...] = (*BLOCKS, *CLOUD, *FORGES, *SERVICES, *MODELS, *CONTEXTS)
