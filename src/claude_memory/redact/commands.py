"""Secrets that stand where a named command takes them: after a flag, at a position, on its input. Data.

A flag means a password only beside its command: `mysql -p…` is one, `mkdir -p …` is none.
"""

from __future__ import annotations

from claude_memory.redact.rule import BARE, QUOTE, Rule

# The value as a shell sees it: in quotation marks or without.
_VALUE = rf"(?:{QUOTE}([^\"'`\n\\\x00]{{4,100}}){QUOTE}|({BARE}{{4,}}))"
_GAP = r"\b[^\n|;\x00]{0,160}?[ \t]"
_SPACED = r"(?:[ \t]+|=)"
_EITHER = r"[ \t=]{0,3}"
_SAY = rf"\b(?:echo|printf)[ \t]+(?:-[ne]+[ \t]+)?(?:{QUOTE}%s(?:\\+n)?{QUOTE}[ \t]+)?"
_PIPE = r"[ \t]*\|[ \t]*(?:sudo[ \t]+)?"
_HERE = r"[^\n|;\x00]{0,80}<<<[ \t]*"


def flag(kind: str, keywords: str, commands: str, flags: str, glue: str = _SPACED) -> Rule:
    """A password behind a flag of these commands."""
    pattern = rf"\b(?:{commands}){_GAP}(?:{flags}){glue}{_VALUE}"
    return Rule(kind, tuple(keywords.split(",")), pattern, "given")


_READERS = (
    r"(?:docker|podman|buildah|skopeo|nerdctl|helm|oras|crane|regctl)\b[^\n|\x00]{0,120}--password-stdin"
    r"|sudo[ \t]+(?:-[a-zA-Z-]+[ \t]+){0,4}?(?:-[A-Za-z]*S\b|--stdin)"
    r"|passwd\b[^\n|\x00]{0,40}--stdin|gh[ \t]+(?:secret[ \t]+set|auth[ \t]+login)|kinit\b|cryptsetup\b"
    r"|docker[ \t]+secret[ \t]+create|wrangler[ \t]+secret|gcloud[ \t]+secrets|fly[ \t]+secrets"
    r"|smbpasswd\b|vault[ \t]+login"
)
_READER_WORDS = (
    "--password-stdin",
    "sudo -",
    "passwd --stdin",
    "gh secret",
    "gh auth",
    "kinit",
    "cryptsetup",
    "secret create",
    "wrangler secret",
    "gcloud secrets",
    "smbpasswd",
    "vault login",
    "passwd",
)

COMMANDS = (
    flag(
        "mysql-password",
        "mysql,mariadb,mycli",
        r"(?:mysql|mariadb)(?:[-_]?(?:dump|admin|import|show|check|slap|binlog))?|mycli",
        "-p",
        "",
    ),
    Rule(
        "mysql-password",
        ("mysqladmin",),
        rf"\bmysqladmin{_GAP}password[ \t]+{_VALUE}",
        "given",
    ),
    flag(
        "login-password",
        " login",
        r"(?:docker|podman|buildah|skopeo|nerdctl|oras|helm[ \t]+registry|crane[ \t]+auth|az|az[ \t]+acr"
        r"|cf|oc"
        r"|argocd|harbor|jf|heroku|npm|pulumi|tkn|ibmcloud)[ \t]+login",
        "-p|--password|--pass|--token",
        _EITHER,
    ),
    flag(
        "ldap-password",
        "ldap",
        r"ldap(?:search|modify|add|delete|passwd|whoami|compare|modrdn)",
        "-w",
        _EITHER,
    ),
    flag("archive-password", "zip ,unzip,rar ", r"zip|unzip|zipcloak|rar|unrar|7z[ar]?", "-P|-hp", _EITHER),
    flag("archive-password", "7z ,7za ,7zr ,rar ", r"7z[ar]?|rar|unrar", "-p", ""),
    flag("database-password", "sqlcmd,osql,bcp ,isql,tsql", r"sqlcmd|osql|bcp|isql|tsql", "-P", _EITHER),
    flag(
        "database-password",
        "mongo,cqlsh,influx,arangosh,cbq,neo4j,cypher-shell,clickhouse,impala,beeline",
        r"mongo(?:sh|dump|restore|export|import|stat|top|files)?|cqlsh|influx|arangosh|cbq|cypher-shell"
        r"|clickhouse-client|impala-shell|beeline",
        "-p|--password|-password",
        _EITHER,
    ),
    flag("broker-password", "mosquitto_,ipmitool", r"mosquitto_(?:pub|sub|rr)|ipmitool", "-P|-pw", _EITHER),
    flag("snmp-password", "snmp", r"snmp(?:walk|get|set|bulkwalk|table|trap)", "-[AXc]", _SPACED),
    flag(
        "remote-password",
        "psexec,winrs,winexe,rdesktop",
        r"(?i:psexec\w*|winrs|winexe)|rdesktop",
        "[-/]p:?",
        _EITHER,
    ),
    flag("remote-password", "plink,pscp,psftp,putty", r"plink|pscp|psftp|putty", "-pw", _SPACED),
    flag("remote-password", "freerdp,mstsc", r"[xw]l?freerdp|mstsc", "/p:", ""),
    flag("key-passphrase", "ssh-keygen", "ssh-keygen", "-[NP]", _EITHER),
    flag("registry-password", "twine", "twine", "-p|--password", _EITHER),
    flag("registry-key", "gem push,gem yank", r"gem[ \t]+(?:push|yank)", "-k|--key", _SPACED),
    flag("sshpass-password", "sshpass", r"sshpass", "-p", _EITHER),
    flag(
        "redis-password",
        "redis-cli,valkey-cli,keydb-cli",
        r"(?:redis|valkey|keydb)-cli",
        "-a|--pass",
        _SPACED,
    ),
    flag("secret-body", "secret set", r"gh[ \t]+secret[ \t]+set", "-b|--body", _SPACED),
    flag("openssl-password", "openssl", r"openssl", "-k|-K|-pass(?:in|out)?[ \t]+pass:", r"[ \t=]{0,1}"),
    flag(
        "keytool-password",
        "keytool,jarsigner",
        "keytool|jarsigner",
        "-(?:store|key|src|dest)[a-z]{0,8}pass",
        _SPACED,
    ),
    Rule(
        "openssl-password",
        ("pass:",),
        rf"(?:-pass(?:in|out|word)?[ \t=]+|--pass(?:in|out)?[ \t=]+)(?:{QUOTE})?pass:({BARE}{{4,}})",
        "given",
    ),
    Rule(
        "smb-password",
        ("smbclient", "rpcclient", "smbmap", "smbget", "net ads", "wbinfo"),
        rf"\b(?:smbclient|rpcclient|smbget|net|wbinfo){_GAP}(?:-U|--user|--authenticate)[ \t=]{{0,2}}"
        rf"(?:{QUOTE})?"
        rf"[\w.\\@/-]{{1,60}}%({BARE}{{4,}})",
        "given",
    ),
    Rule(
        "windows-password",
        ("net use", "net user"),
        rf"\b(?i:net[ \t]+use)[ \t][^\n|\x00]{{0,120}}?[ \t]{_VALUE}[ \t]+/(?i:user):"
        rf"|\b(?i:net[ \t]+user)[ \t]+[\w.\\-]+[ \t]+(?:{QUOTE})?({BARE}{{4,}})",
        "given",
    ),
    Rule(
        "oracle-password",
        ("sqlplus", "expdp", "impdp", "rman"),
        rf"\b(?:sqlplus|expdp|impdp|rman)\b[^\n|;\x00]{{0,80}}?[ \t](?:{QUOTE})?[\w$#]{{1,30}}/"
        rf"({BARE}{{4,}})@",
        "given",
    ),
    Rule(
        "login-password",
        ("etcdctl", "--user ", "--user="),
        rf"\b(?:etcdctl|influx|nats|vault|http|xh){_GAP}--user[ =](?:{QUOTE})?[\w.@-]{{1,60}}:"
        rf"({BARE}{{4,}})",
        "given",
    ),
    Rule(
        "storage-password",
        ("mc alias", "mc config"),
        rf"\bmc[ \t]+(?:alias[ \t]+set|config[ \t]+host[ \t]+add)[ \t]+\S+[ \t]+\S+[ \t]+\S+[ \t]+{_VALUE}",
        "given",
    ),
    Rule(
        "database-password",
        ("pragma key", "pragma rekey", "mysqlsh"),
        rf"(?i:pragma[ \t]+(?:re)?key)[ \t]*=[ \t]*{_VALUE}|\bmysqlsh{_GAP}(?:[a-z]+://)?[\w.-]{{1,40}}:"
        rf"({BARE}{{4,}})@",
        "given",
    ),
    Rule(
        "ftp-password",
        ("lftp",),
        rf"\blftp{_GAP}(?:-u|--user)[ \t=]{{0,2}}(?:{QUOTE})?[\w.@-]{{1,60}},({BARE}{{4,}})",
        "given",
    ),
    Rule(
        "wifi-password",
        ("nmcli", "wpa_passphrase", "wifi:"),
        rf"\bnmcli{_GAP}(?:password|wifi-sec\.psk)[ \t]+{_VALUE}"
        rf"|\bwpa_passphrase[ \t]+(?:{QUOTE})?[\w.-]{{1,40}}(?:{QUOTE})?[ \t]+{_VALUE}"
        r"|WIFI:[^\n\x00]{0,80}?;?P:([^;\n\x00]{4,100});",
        "given",
    ),
    Rule(
        "broker-password",
        ("rabbitmqctl",),
        rf"\brabbitmqctl{_GAP}(?:add_user|change_password|authenticate_user)[ \t]+\S+[ \t]+{_VALUE}",
        "given",
    ),
    Rule(
        "htpasswd-password",
        ("htpasswd",),
        rf"\bhtpasswd[ \t]+(?:-\w+[ \t]+)*-\w*b\w*[ \t]+(?:-\w+[ \t]+)*\S+[ \t]+"
        rf"(?:[\w.@-]+[ \t]+)?{_VALUE}[ \t]*(?:$|[\n\"'|;&>\\])",
        "given",
    ),
    Rule(
        "piped-password",
        _READER_WORDS,
        rf"{_SAY}{_VALUE}{_PIPE}(?:{_READERS})|\b(?:{_READERS}){_HERE}{_VALUE}",
        "given",
    ),
    Rule(
        "chpasswd-password",
        ("chpasswd",),
        rf"{_SAY}(?:{QUOTE})?[\w.-]{{1,40}}:({BARE}{{4,}})(?:{QUOTE})?{_PIPE}chpasswd"
        rf"|\bchpasswd{_HERE}(?:{QUOTE})?[\w.-]{{1,40}}:({BARE}{{4,}})",
        "given",
    ),
    Rule(
        "vault-login",
        ("vault login", "cargo login", "hf auth login", "wandb login"),
        rf"\b(?:vault|cargo|hf[ \t]+auth|wandb)[ \t]+login[ \t]+(?:-[\w=-]+[ \t]+){{0,4}}"
        rf"(?:token=)?({BARE}{{8,}})",
        "spoken",
    ),
    Rule(
        "configured-secret",
        ("configure set",),
        rf"\bconfigure[ \t]+set[ \t]+[\w.-]{{0,40}}(?:secret|token|password"
        rf"|key)[\w.-]{{0,20}}[ \t]+{_VALUE}",
        "spoken",
    ),
)
