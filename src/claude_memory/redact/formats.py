"""Secrets that show by their own shape, or by the name of the service before them: data, no code."""

from __future__ import annotations

from claude_memory.redact.rule import BASE64, QUOTE, Rule, named, token

_HEX32 = r"[0-9a-fA-F]{32}\b"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"

_PEM_SKIP = r"""(?:[\s"',+|>#*\\\x7f-]|\\+[nrt]|[0-9]{1,6}[\t\x7f:])*"""
_PEM_HEADERS = (
    r"(?:(?:\s|\\+[nr])*(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): [^\r\n\\\x00]{0,120})*"
)
# A log puts its own head before each line of the key: such a line counts when it ends in a long run.
_PEM_HEAD = r"\r?\n[^\n\x00]{0,80}[ \t|:>\x7f]"
_PEM_RUN = rf"(?:{_PEM_SKIP}[A-Za-z0-9+/=]{{12,}}|{_PEM_HEAD}[A-Za-z0-9+/]{{24,}}={{0,2}}[ \t]*)"
_PEM_LAST = rf"(?:(?:{_PEM_SKIP}|{_PEM_HEAD})[A-Za-z0-9+/=]{{0,80}}[ \t]*)?"
_PEM_END = (
    rf"(?:{_PEM_LAST}(?:{_PEM_SKIP}|{_PEM_HEAD})-----END [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----)?"
)

BLOCKS = (
    Rule(
        "private-key",
        ("private key",),
        rf"(-----BEGIN [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----{_PEM_HEADERS}"
        rf"{_PEM_RUN}+{_PEM_END})",
    ),
    Rule(
        "ssh2-private-key",
        ("ssh2 encrypted private key",),
        rf"(---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----(?:{_PEM_SKIP}[A-Za-z0-9+/=:]{{8,}})+)",
    ),
    Rule(
        "putty-private-key",
        ("private-lines", "private-mac"),
        rf"Private-Lines: ?[0-9]+({_PEM_RUN}+(?:{_PEM_SKIP}{BASE64}{{2,}}={{1,2}})?)"
        r"|Private-MAC: ?([0-9a-f]{40,})",
    ),
    token("age-secret-key", "age-secret-key-", r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{40,}"),
    named(
        "wireguard-private-key",
        "private_?key|preshared_?key",
        "privatekey private_key presharedkey",
        rf"{BASE64}{{43}}=",
    ),
    named("kubeconfig-client-key", "client-key-data", "client-key-data", rf"{BASE64}{{40,}}={{0,2}}"),
)

CLOUD = (
    token(
        "aws-access-key-id",
        "akia asia abia acca",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}",
        None,
    ),
    token("aws-bedrock-key", "absk", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    named(
        "aws-session-token",
        r"session_?token|security_?token",
        "sessiontoken session_token securitytoken security_token security-token",
        rf"{BASE64}{{80,}}={{0,2}}",
    ),
    named(
        "aws-secret-access-key",
        r"secret_?access_?key|aws_?secret(?:_?key)?|aws[a-z0-9_.-]{0,16}secret",
        "secretaccesskey secret_access_key aws_secret awssecret aws-secret secret_accesskey",
        rf"{BASE64}{{40,}}",
    ),
    token("gcp-api-key", "aiza", r"AIza[\w-]{35,}"),
    token("google-oauth-client-secret", "gocspx-", r"GOCSPX-[\w-]{24,}"),
    token("google-oauth-access-token", "ya29.", r"ya29\.[\w.-]{20,}"),
    token("google-oauth-refresh-token", "1//0", r"1//0[\w-]{30,}"),
    named("gcp-private-key-id", "private_key_id", "private_key_id", r"[0-9a-f]{40}\b"),
    named(
        "azure-storage-key",
        "AccountKey|storage_?(?:account_?)?key",
        "accountkey storage_key storagekey storage_account_key",
        rf"{BASE64}{{86}}==",
    ),
    named(
        "azure-shared-access-key",
        "SharedAccessKey|SharedSecretKey",
        "sharedaccesskey sharedsecretkey",
        rf"{BASE64}{{40,}}={{0,2}}",
    ),
    Rule(
        "azure-sas-signature", ("sig=",), r"(?i:[?&;]|amp;|\\u0026)sig=([A-Za-z0-9%+/_-]{30,}={0,2})", "token"
    ),
    token("azure-client-secret", "8q~ 7q~", r"[\w~.-]{3}[78]Q~[\w~.-]{31,34}"),
    token("azure-devops-token", "azdo", r"[A-Za-z0-9]{70,}AZDO[A-Za-z0-9]{4}"),
    token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64,}"),
    token("alibaba-access-key-id", "ltai", r"LTAI[A-Za-z0-9]{12,30}\b", "random"),
    token("yandex-cloud-key", "aqvn t1.", r"AQVN[\w-]{35,}|t1\.[A-Z0-9a-z_-]+=?=?\.[A-Z0-9a-z_-]{86}={0,2}"),
    token("heroku-api-key", "hrku-", r"HRKU-[\w-]{36,}"),
    named("heroku-api-key", "heroku", "heroku", _UUID),
    named("linode-token", "linode", "linode", r"[a-f0-9]{64}\b"),
    named(
        "cloudflare-api-token",
        "cloudflare|cf_api|cf_token",
        "cloudflare cf_api cf_token",
        r"[\w-]{37,40}\b",
        "random",
    ),
    token("cloudflare-origin-ca-key", "v1.0-", r"v1\.0-[a-f0-9]{20,}-[a-f0-9]{120,}"),
    named("fastly-token", "fastly", "fastly", r"[\w-]{32}\b", "random"),
    token("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", r"nf[pcoub]_[A-Za-z0-9_-]{36,}"),
    named("netlify-token", "netlify", "netlify", r"[\w-]{40,46}\b", "random"),
    token("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", r"vc[piark]_[A-Za-z0-9_-]{40,}"),
    named("vercel-token", "vercel", "vercel", r"[A-Za-z0-9]{24}\b", "random"),
    token("flyio-token", "fo1_ fm1 fm2_", r"fo1_[\w-]{43,}|fm[12][ar]?_[A-Za-z0-9+/]{80,}={0,3}"),
    token("terraform-cloud-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}"),
    token("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,}"),
    named(
        "vault-token",
        "vault_?token",
        "vault_token vaulttoken vault-token x-vault-token",
        r"s\.[A-Za-z0-9]{24}\b",
    ),
    token("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    token("databricks-token", "dapi dose dkea", r"(?:dapi|dose|dkea)[a-f0-9]{32}(?:-[0-9])?"),
    named(
        "snowflake-password",
        "snowflake[a-z0-9_.-]{0,12}(?:password|pwd|token)|snowsql_pwd",
        "snowflake snowsql_pwd",
        r"""[^\s"'`\\,;\x00]{8,}""",
        "password",
    ),
    token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth|oauth_access)_[\w.=-]{30,}"),
    token("supabase-token", "sbp_ sb_secret_", r"sbp_[a-f0-9]{40,}|sb_secret_[\w-]{30,}"),
    token("scaleway-key", "scw", r"SCW[A-Z0-9]{17}\b", "random"),
    token("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    token("1password-service-token", "ops_ey", r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,2}"),
    token(
        "1password-secret-key",
        "a3-",
        r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
    ),
)

FORGES = (
    token("github-token", "ghp_", r"ghp_[A-Za-z0-9]{36,}"),
    token("github-oauth-token", "gho_", r"gho_[A-Za-z0-9]{36,}"),
    token("github-app-token", "ghu_ ghs_", r"gh[us]_[A-Za-z0-9_.-]{36,}"),
    token("github-refresh-token", "ghr_", r"ghr_[A-Za-z0-9]{36,}"),
    token("github-fine-grained-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{50,}"),
    named(
        "github-legacy-token", "github[a-z0-9_.-]{0,12}token|gh_token", "github gh_token", r"[a-f0-9]{40}\b"
    ),
    token("gitlab-token", "glpat-", r"glpat-[\w.-]{20,}"),
    token("gitlab-deploy-token", "gldt-", r"gldt-[\w-]{20,}"),
    token("gitlab-runner-token", "glrt- gr1348941", r"glrt-[\w.-]{20,}|GR1348941[\w-]{20,}"),
    token(
        "gitlab-other-token",
        "glptt- glcbt- glft- glsoat- glagent- glimt- gloas-",
        r"gl(?:ptt|cbt|ft|soat|agent|imt|oas)-[\w.-]{20,}",
    ),
    token("bitbucket-token", "atbb atctt3", r"ATBB[A-Za-z0-9]{24,}(?:[A-F0-9]{8})?|ATCTT3[\w=-]{50,}"),
    token("atlassian-token", "atatt3", r"ATATT3[\w=+/-]{50,}"),
    named(
        "atlassian-token",
        "atlassian|jira|confluence",
        "atlassian jira confluence",
        r"[A-Za-z0-9]{24}\b",
        "random",
    ),
    token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36,}"),
    Rule(
        "npm-auth",
        ("_auth", "_password"),
        rf"(?:^|[\s:/;]):?_(?:authToken|auth|password)\s{{0,3}}=\s{{0,3}}(?:{QUOTE})?([^\s\"'`\\;$\x00]{{8,}})",
        "password",
    ),
    token("pypi-token", "pypi-ageichlwas pypi-agenzgvzd", r"pypi-Ag[A-Za-z0-9_-]{40,}"),
    token("rubygems-token", "rubygems_", r"rubygems_[a-f0-9]{48,}"),
    token("cargo-token", "cio", r"cio[A-Za-z0-9]{32}\b", "random"),
    token("docker-hub-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{20,}"),
    token("jfrog-token", "akcp cmvmd", r"AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{55,}"),
    token("nuget-key", "oy2", r"oy2[a-z0-9]{43}\b"),
    token("clojars-token", "clojars_", r"CLOJARS_[a-z0-9]{60,}"),
)

SERVICES = (
    token(
        "slack-token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe",
        r"xox[bparsoe](?:\.xox[bp])?-[A-Za-z0-9-]{10,}",
    ),
    token("slack-app-token", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
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
    token("discord-bot-token", "discord bot", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    token("telegram-bot-token", ":aa", r"[0-9]{8,10}:AA[\w-]{32,}"),
    Rule("telegram-bot-token", ("api.telegram.org",), r"api\.telegram\.org/bot([0-9]{6,}:[\w-]{30,})"),
    Rule(
        "teams-webhook",
        ("webhook.office.com",),
        r"webhook\.office\.com/(?:webhookb2/)?([\w@-]{36,}/IncomingWebhook/[\w-]+/[\w-]+)",
    ),
    token("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16,}"),
    token("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    token(
        "square-token",
        "sq0atp- sq0csp- sq0idp- eaaa",
        r"sq0(?:atp|csp|idp)-[\w-]{22,}|EAAA[A-Za-z0-9_-]{56,}",
    ),
    token(
        "paypal-braintree-token",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{12,}\$[0-9a-f]{32}",
    ),
    named("paypal-secret", "paypal", "paypal", r"E[A-Za-z0-9_-]{60,}", "random"),
    token("adyen-key", "aqe", r"AQE[a-z][a-z0-9]{2}[A-Za-z0-9+/=*.-]{60,}"),
    token("twilio-key", "sk", r"SK[0-9a-f]{32}\b"),
    named("twilio-auth-token", "twilio", "twilio", _HEX32),
    token("sendgrid-key", "sg.", r"SG\.[\w-]{16,}\.[\w-]{32,}"),
    token("mailgun-key", "key- pubkey-", r"(?:pub)?key-[0-9a-f]{32}\b"),
    named("mailgun-key", "mailgun", "mailgun", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    token("mailchimp-key", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}\b"),
    token("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    named("postmark-token", "postmark", "postmark", _UUID),
    token("resend-key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b", "random"),
    token(
        "new-relic-key",
        "nrak- nrjs- nrii- nral",
        r"NR(?:AK|JS|II|AA|IQ)-[A-Za-z0-9_-]{19,}|[a-f0-9]{36}NRAL\b",
    ),
    named(
        "datadog-key",
        "datadog|dd_(?:api|app|application)",
        "datadog dd_api dd_app dd-api dd-app",
        r"[0-9a-f]{32}(?:[0-9a-f]{8})?\b",
    ),
    Rule(
        "sentry-dsn", ("sentry",), r"https?://([0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]*(?:sentry|ingest)", None
    ),
    token("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    token(
        "grafana-token",
        "glsa_ glc_ eyjrijoi",
        r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,2}|eyJrIjoi[A-Za-z0-9+/]{40,}={0,2}",
    ),
    token("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    token("notion-token", "ntn_ secret_", r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b", "random"),
    token("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    named("airtable-key", "airtable", "airtable", r"key[A-Za-z0-9]{14}\b"),
    token("asana-token", "/", r"[0-2]/[0-9]{12,}(?:/[0-9]{12,})?:[0-9a-f]{32}\b"),
    named("asana-token", "asana", "asana", r"[0-9a-f]{32}\b|[0-9a-z]{32}\b", "random"),
    token("figma-token", "figd_ figo_ figu_", r"fig[dou]_[\w-]{36,}"),
    token("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", r"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32,}"),
    token("facebook-token", "eaac eaab eaaa eaag eaad", r"EAA[A-Z][A-Za-z0-9]{60,}"),
    named("facebook-secret", "facebook|fb_app|meta_app", "facebook fb_app meta_app", _HEX32),
    Rule(
        "twitter-bearer-token",
        ("aaaaaaaaaaaaaaaaaaaa",),
        # Zero bytes in base64 look the same: hence the narrow edges.
        r"""(?:^|[\s"'=:])(?:%20)?(A{20,26}[B-Za-z0-9][A-Za-z0-9%]{70,})(?:$|[\s"'&,;)\\\x7f])""",
    ),
    named(
        "twitter-secret", "twitter", "twitter", r"[A-Za-z0-9]{35,50}\b|[0-9]{8,}-[A-Za-z0-9]{30,}", "random"
    ),
    named(
        "linkedin-secret", "linkedin", "linkedin", r"(?:WPL_AP1\.)?[A-Za-z0-9]{16}(?:\.[\w+/=]+)?\b", "random"
    ),
    token("dropbox-token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_=-]{100,}"),
    named("dropbox-key", "dropbox", "dropbox", r"[a-z0-9]{15}\b|[A-Za-z0-9_-]{64}\b", "random"),
    token("postman-key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    token("mapbox-token", "sk.ey", r"sk\.eyJ[\w-]{20,}\.[\w-]{20,}"),
    token("launchdarkly-key", "sdk- api- mob-", rf"(?:sdk|api|mob)-{_UUID}"),
    token("contentful-token", "cfpat-", r"CFPAT-[\w-]{40,}"),
    token("hubspot-token", "pat-", rf"pat-(?:na|eu|ap)[0-9]-{_UUID}"),
    token("intercom-token", "dg9r", r"dG9rO[A-Za-z0-9+/=]{40,}"),
    token("buildkite-token", "bkua_ bkaj_", r"bk(?:ua|aj)_[a-f0-9]{40}"),
    token("circleci-token", "ccipat_ ccipprj_", r"CCIP(?:AT|PRJ)_[A-Za-z0-9]{20,}_[a-f0-9]{40}"),
    token("sonar-token", "squ_ sqp_ sqa_", r"sq[upa]_[a-f0-9]{40}"),
    token("dynatrace-token", "dt0c01 dt0s", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{60,}"),
    token("tailscale-key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9]+-?[A-Za-z0-9]{16,}"),
    token("shippo-token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    token("duffel-token", "duffel_", r"duffel_(?:live|test)_[\w-]{40,}"),
    token("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
)

MODELS = (
    token("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{24,}"),
    token(
        "openai-key",
        "sk-proj- sk-svcacct- sk-admin- sk-service t3blbkfj",
        r"sk-(?:proj|svcacct|admin|service)-[\w-]{20,}|sk-[\w-]{15,}T3BlbkFJ[\w-]{15,}",
    ),
    token("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[a-f0-9]{40,}"),
    token("openai-key", "sk-", r"sk-[A-Za-z0-9]{32,}"),
    token("huggingface-token", "hf_ api_org_", r"hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{34}", "random"),
    token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37,}"),
    named("cohere-key", "cohere|co_api", "cohere co_api", r"[A-Za-z0-9]{40}\b", "random"),
    token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    token("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}"),
    token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    token("fireworks-key", "fw_", r"fw_[A-Za-z0-9]{22,}\b", "random"),
    token("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    token("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{50,}"),
    token("wandb-key", "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{60,}"),
    named("wandb-key", "wandb", "wandb", r"[0-9a-f]{40}\b"),
    token("tavily-key", "tvly-", r"tvly-[A-Za-z0-9-]{28,}"),
    named("mistral-key", "mistral", "mistral", r"[A-Za-z0-9]{32}\b", "random"),
)
