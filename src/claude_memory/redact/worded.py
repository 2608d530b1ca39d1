"""Secrets that words beside them give away: sentences, headings, tables, forms, calls, in many languages.

Data. DEL (`\\x7f`) stands for any character beyond ASCII; words of other scripts come as `SPELLED` has them.
"""

from __future__ import annotations

from claude_memory.redact.rule import BARE, CHARS, QUOTE, Rule

# Words for "password" in other scripts. The engine reads SOH for each of their letters, so that offsets hold.
_OTHER_SCRIPTS = (
    *("пароль", "Пароль", "пароля", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호"),
    *("كلمة المرور", "كلمة السر", "סיסמה", "סיסמא", "รหัสผ่าน", "κωδικός πρόσβασης", "पासवर्ड", "пароль"),
)
SPELLED = {**{word: "\x01" * len(word) for word in _OTHER_SCRIPTS}, "：": ":", "＝": "="}

_LATIN = (
    r"passwor[dt]|passwd|passphrase|passcode|kennwort|mot de passe|contrase(?:\x7f|n\x7f?)a|senha"
    r"|wachtwoord"
    r"|has(?:\x7f|l)o|l\x7f{1,2}senord|losenord|adgangskode|passord|salasana|heslo|(?:\x7f|s\x7f)ifre"
    r"|parola"
    r"|jelsz(?:\x7f|o\x7f?)|m\x7f{1,3}t kh\x7f{1,3}u|kata sandi|lozinka|geslo|zugangscode|\bmdp\b"
    r"|\x01{2,20}"
)
PASSWORD = rf"(?i:{_LATIN}|(?:\b|_)(?:pwd|pw))"
_WHOLE = rf"(?i:{_LATIN})"
# Short or common words, which mean much else where no sign follows them.
_SHORT = r"(?:(?:^|[^\w-])(?:[Pp]ass|(?i:clave|wi-?fi key|network key|psk)))|(?:\b|_)(?i:pwd|pw)"
_KEYWORDS = (
    *"passwor passwd passphrase passcode kennwort senha wachtwoord senord adgangskode passord".split(),
    *"salasana heslo ifre: parola jelsz lozinka geslo zugangscode mdp pwd contrase".split(),
    *("mot de passe", "kata sandi", "has\x7fo", "pw:", "pw ", "pw=", "pw\x7f", "m\x7ft kh", "\x01"),
)
_VALUE = r"([^\s\"'`,;|<>\\\x00]{4,}[^\s\"'`,;|<>.!?:)*_\]}\\\x00])"
_QUALIFIED = (
    r"(?:[ \t]*\([^()\n\x00]{1,40}\)|[ \t]+(?i:for|of|on|to|from|f\x7fr|vom|von|de|para|pour"
    r"|\x7f{1,4})[ \t]+"
    r"[^\s:=\x00]{1,40}(?:[ \t]+[^\s:=\x00]{1,24}){0,2}?)?"
)
_VERB = (
    r"(?i:is|was|are|to|ist|war|lautet|lauten|est|es|era|e|\x7f|\x7fr|jest|on|je|it's|was set to|is set to"
    r"|is now)"
)
_SIGN = (
    r"(?:[ \t]*(?:[:=;]|'s\b|-{1,2}>|=>|\x7f{1,2}|-{1,2}[ \t])[ \t]*"
    rf"|[ \t]+{_VERB}[ \t]+(?:now[ \t]+)?)"
)
_OPEN = r"[*_]{0,3}[ \t]*[*_`\"'(\x7f]{0,3}"
# Letters and digits in one word, which tells a password from the words around it.
_MIXED = (
    r"((?:[A-Za-z!#$%*+._-]{1,24}[0-9]|[0-9]{1,8}[A-Za-z])[^\s\"'`,;|<>()\[\]{}\\\x00]{2,}"
    r"[^\s\"'`,;|<>()\[\]{}\\.?:\x00])"
)
_BREAK = r"(?:[ \t]*(?:\r?\n|\\+r?\\*n)){1,2}"
_NAMED_CALL = (
    r"(?i:(?:set|with|new|add|change|reset|check|verify|update)_?(?:db_?|user_?|admin_?|root_?)?"
    r"(?:password|passwd|pwd|passphrase))"
)
_GIVEN_CALL = (
    r"(?:(?i:basic_?auth|HTTPBasicAuth|HTTPDigestAuth|NetworkCredential|PasswordAuthentication"
    r"|UsernamePassword\w{0,20}"
    r"|Credentials|BasicAWSCredentials|PlainAuth|PasswordCredential)|\.login|\bauth)"
)

# Cells of these names head a column of secrets.
_COLUMN = (
    r"(?i:[\w .-]{0,24}?(?:passwor[dt]|passwd|passphrase|passcode|kennwort|contrase\x7fa|senha|pwd|pw"
    r"|api[ _-]?key"
    r"|secret[ _-]?key|access[ _-]?token|client[ _-]?secret))"
)
_COLUMN_WORDS = (
    *("passwor", "passwd", "passphrase", "kennwort", "contrase", "senha", "pwd", "pw |", "|pw|", "api key"),
    *(
        "api_key",
        "secret key",
        "secret_key",
        "access token",
        "access_token",
        "client_secret",
        "client secret",
    ),
)

_MEMBER_WORDS = tuple(
    f"{quote}{name}{quote}"
    for quote in ('"', "'", '\\"')
    for name in ("name", "key", "field", "label", "id", "title")
)

WORDED = (
    Rule(
        "told-password",
        _KEYWORDS,
        rf"{_WHOLE}[*_`\"'\]]{{0,3}}{_QUALIFIED}{_SIGN}{_OPEN}{_VALUE}",
        "spoken",
    ),
    Rule(
        "told-password",
        (
            "pass:",
            "pass =",
            "pass=",
            "clave",
            "wifi key",
            "wi-fi key",
            "psk",
            "pass is",
            "pwd",
            "pw:",
            "pw ",
            "pw=",
        ),
        rf"(?:{_SHORT})[*_`\"']{{0,3}}{_SIGN}{_OPEN}{_VALUE}",
        "mixed",
    ),
    Rule(
        "told-password",
        _KEYWORDS,
        rf"{PASSWORD}[ \t]+[`\"']?([A-Za-z0-9][^\s\"'`,;|<>/()\\\x00]{{5,40}}[^\s\"'`,;"
        rf"|<>.!?:)*_\]}}\\\x00])",
        "scrawl",
    ),
    Rule(
        "told-password",
        ("as the pass", "as pass", "as my pass", "as your pass", "as its pass", "as a pass", "is the pass"),
        r"[`\"']?([^\s\"'`,;|<>()\\\x00]{6,64})[`\"']?[ \t]+(?:as|is)[ \t]+(?:(?:the|my|your|its|a"
        r"|our)[ \t]+)?"
        r"(?:\w+[ \t]+)?(?i:passwor[dt]|passphrase|passcode)\b",
        "spoken",
    ),
    Rule(
        "told-login",
        ("login", "log in", "credential", "creds", "zugangsdaten", "sign in", "logged in", "anmelde"),
        r"(?i:\b(?:log(?:ged)?[ -]?in|credentials?|creds|zugangsdaten|anmeldedaten"
        r"|sign in)\b)[^\n/:\x00]{0,24}[ \t:(]+"
        rf"[`\"'*]{{0,2}}[\w.@+-]{{2,40}}(?:[ \t]+/[ \t]+|:[ \t]?|[ \t]+:[ \t]+){_VALUE}",
        "scrawl",
    ),
    Rule(
        "password-below",
        _KEYWORDS,
        rf"(?:^|[\s>#*|\"'(/]|\\n){PASSWORD}"
        rf"[*_`\"']{{0,3}}[ \t]*:?[*_]{{0,3}}[ \t]*(?:[|>][+-]?)?"
        rf"{_BREAK}[ \t]*(?:-[ \t])?(?:(?:value|default|data"
        rf"|plain)[ \t]*:[ \t]*)?[`\"']?([^\s\"'`\\\x00]{{5,}})[`\"']?[ \t]*(?:$|[\r\n\"\\])",
        "scrawl",
    ),
    Rule(
        "password-cell",
        ("</td", "</th", "</dt", "</label", "</b>", "</strong"),
        rf"{PASSWORD}[ \t:]{{0,3}}</(?:td|th|dt|b|strong|label|span)>\s*(?:</\w{{1,8}}>\s*)?"
        rf"<(?:td|dd|span|code|input)[^<>\x00]{{0,80}}>\s*(?:<\w{{1,8}}>)?{_VALUE}",
        "spoken",
    ),
    Rule(
        "password-attribute",
        ("value=", "key=", "name="),
        rf"(?i:\b(?:key|name|id))=\\*[\"'][^\"'<>\n\x00]{{0,60}}{PASSWORD}[^\"'<>\n\x00]{{0,8}}\\*[\"']"
        rf"(?:[^<>\n\x00]{{0,60}}?\bvalue=\\*[\"']"
        r"|[^<>\n\x00]{0,20}>\s*)([^\"'<>\s\x00]{5,})",
        "spoken",
    ),
    Rule(
        "password-member",
        _MEMBER_WORDS,
        rf"{QUOTE}(?i:name|key|field|label|id|title){QUOTE}[ \t]*:[ \t]*{QUOTE}"
        rf"[^\"'\\\n\x00]{{0,40}}{PASSWORD}{QUOTE}[ \t]*,\s*"
        rf"{QUOTE}\w{{1,12}}{QUOTE}"
        rf"[ \t]*:[ \t]*(?:\{{[ \t]*{QUOTE}\w{{1,16}}{QUOTE}[ \t]*:[ \t]*)?{QUOTE}({CHARS}{{5,}}){QUOTE}",
        "env",
    ),
    Rule(
        "secret-member",
        _MEMBER_WORDS,
        rf"{QUOTE}(?i:name|key|header){QUOTE}[ \t]*:[ \t]*{QUOTE}(?i:[\w-]{{0,30}}(?:authorization"
        rf"|api[_-]?key|token|secret)){QUOTE}[ \t]*,\s*"
        rf"{QUOTE}\w{{1,12}}{QUOTE}[ \t]*:[ \t]*{QUOTE}(?:(?i:bearer|basic"
        rf"|token)[ \t])?({CHARS}{{8,}}){QUOTE}",
        "random",
    ),
    Rule(
        "password-inside",
        ("passwor", "passwd", "passphrase", "pwd"),
        rf"(?i:passwor[dt]|passwd|passphrase|pwd)(?:{QUOTE})[ \t]*:\s*[\[{{]\s*(?:{QUOTE}"
        rf"[$\w]{{1,16}}{QUOTE}\s*:\s*)?{QUOTE}({CHARS}{{5,}}){QUOTE}",
        "env",
    ),
    Rule(
        "password-call",
        ("password", "passwd", "pwd", "passphrase"),
        rf"{_NAMED_CALL}!?[ \t]?\([ \t]*(?:{QUOTE}[\w.@+-]{{1,40}}{QUOTE},[ \t]*)?{QUOTE}"
        rf"({CHARS}{{5,}}?){QUOTE}[ \t]*[,)]"
        rf"|(?i:password|passwd|pwd|passphrase){QUOTE},[ \t]?{QUOTE}({CHARS}{{5,}}?){QUOTE}[ \t]*[,)\]]"
        rf"|\bPASSWORD\([ \t]*{QUOTE}({CHARS}{{5,}}?){QUOTE}[ \t]*\)",
        "spoken",
    ),
    Rule(
        "login-call",
        ("auth(", "auth=(", "auth = (", "credential", ".login("),
        rf"{_GIVEN_CALL}[ \t]?=?[ \t]?\([ \t]*{QUOTE}[\w.@+-]{{0,60}}{QUOTE},[ \t]*{QUOTE}"
        rf"({CHARS}{{5,}}?){QUOTE}",
        "scrawl",
    ),
    Rule(
        "login-member",
        ("pass:", "pass :", 'pass"', "pass'"),
        rf"(?:\b|_)(?i:pass)(?:{QUOTE})?[ \t]?(?:=>|[:=])[ \t]?{QUOTE}({CHARS}{{5,}}?){QUOTE}",
        "spoken",
    ),
    Rule(
        "server-password",
        ("requirepass", "masterauth", "rpcpassword", "psk="),
        rf"(?m)(?:^|[\s\"'`/:])(?:requirepass|masterauth|rpcpassword|psk)[ \t=]+(?:{QUOTE})?({BARE}{{5,}})",
        "given",
    ),
    Rule(
        "pgpass-password",
        (":5432:", ":5433:", "*:*:", ":*:", ":6432:"),
        rf"(?m)(?:^|[\s\"'`+(/\x7f]|\\n)[\w.*-]{{1,80}}:(?:[0-9]{{2,5}}"
        rf"|\*):[\w*-]{{1,60}}:[\w*.@-]{{1,60}}:({BARE}{{4,}})(?:$|[\s\"'`,;)\\])",
        "given",
    ),
    Rule(
        "escaped-password",
        ("password%3d", "password=&quot;", "password&#", "passwd%3d", "pwd%3d", "password%22"),
        r"(?i:password|passwd|pwd)(?:%22)?(?:%3[aAdD](?:%22)?|=&quot;|=&#34;|&#61;)"
        r"([^\s\"'`&%;<>\x00]{5,})",
        "spoken",
    ),
    Rule(
        "inline-environment",
        tuple(
            f"{name}="
            for name in ("password", "passwd", "pwd", "pass", "passphrase", "secret", "token", "_key")
        ),
        rf"\b[A-Z][A-Z0-9_]*(?:PASSWORD|PASSWD|PWD|PASS|PASSPHRASE|SECRET|TOKEN|API_KEY|SECRET_KEY)="
        rf"(?:{QUOTE})?({BARE}{{6,}})",
        "spoken",
    ),
    Rule(
        "parameter-password",
        ("password=", "passwd=", "pwd=", "pass="),
        r"(?:[?&;,]|[ \t\"'])(?i:[\w.-]{0,40}(?:password|passwd|pwd|pass))="
        r"(?:\\*[\"'])?([^\s&;,\"'`<>\\\x00]{5,})",
        "spoken",
    ),
    # Whatever the words between: the first thing on the line that no word, number or name is.
    Rule(
        "near-password",
        _KEYWORDS,
        rf"{_WHOLE}[^\n\x00]{{0,48}}?(?:[\s\"'`(:=>,\x7f]|\\[nrt]){_MIXED}",
        "strong",
    ),
    Rule(
        "near-password",
        (
            " pass ",
            "rootpw",
            "creds",
            "securestring",
            "admin/",
            "root/",
            "<<<",
            'send "',
            "send '",
            " secret",
        ),
        rf"(?:\b[Pp]ass|\brootpw|\b[Cc]reds|ConvertTo-SecureString|\b(?i:api|client|app) secret|<<<)"
        rf"[^\n\x00]{{0,24}}?[\s\"'`(:=>,]{_MIXED}|\b(?:admin|root)/{_MIXED}|\bsend[ \t]+\\*[\"']{_MIXED}",
        "strong",
    ),
    Rule(
        "told-password",
        (*_KEYWORDS, "pass for", "pass of", "creds for"),
        rf"(?:{PASSWORD}|\b[Pp]ass|\b[Cc]reds)(?:[ \t]+[A-Za-z0-9_\x7f-]{{1,14}}){{1,5}}?"
        rf"(?:[ \t]*[:=]|[ \t]+(?i:is|was|ist|lautet|est|es|jest)\b:?)[ \t]*{_OPEN}{_VALUE}",
        "scrawl",
    ),
    Rule(
        "password-attribute",
        ("<pass", "password ", "passwd "),
        r"<[\w:.-]{0,30}(?i:password|passwd)[\w:.-]{0,10}[ \t][^<>\n\x00]{0,60}?(?i:value"
        r"|text)=\\*[\"']([^\"'<>\s\x00]{5,})",
        "spoken",
    ),
    Rule(
        "told-secret",
        ("token for", "token we", "token is", "key we", "key for", "key is", "secret for", "key:", "token:"),
        r"(?i:\b(?:api[ _-]?key|access[ _-]?key|token|secret|key))(?:[ \t]+[A-Za-z0-9_-]{1,14}){0,5}?"
        rf"(?:[ \t]*[:=]|[ \t]+(?:is|was)\b:?)[ \t]*{_OPEN}{_MIXED}",
        "strong",
    ),
    Rule(
        "seed-phrase",
        ("seed phrase", "recovery phrase", "mnemonic", "seed words", "secret phrase"),
        r"(?i:(?:seed|recovery|secret|backup)[ _-](?:phrase|words)|mnemonic(?:[ _-]phrase)?)"
        r"(?:\\*[\"'`*])*[ \t]*(?:[:=]|is)(?:[\\\"'`* \t]|\n)*"
        r"((?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8})\b",
        None,
    ),
    Rule(
        "wallet-key",
        ("private key", "private_key", "privatekey", "privkey"),
        r"(?i:priv(?:ate)?[ _-]?key)(?:\\*[\"'`*])*[ \t]{0,3}(?:[:=]|is)?(?:[\\\"'`* \t])*("
        r"(?:0x)?[0-9a-fA-F]{64})\b",
        "token",
    ),
    # One row that says it of the next cell, and columns whose head says it.
    Rule(
        "password-cell",
        tuple(
            f"{word}{end}"
            for word in (
                "password",
                "passwort",
                "passwd",
                "pwd",
                "pw",
                "secret",
                "token",
                "_key",
                "api key",
                "passphrase",
            )
            for end in (" |", "|", "` |", "** |")
        ),
        rf"\|[ \t*`]{{0,4}}[\w .-]{{0,24}}(?:{PASSWORD}|(?i:secret|token"
        rf"|api[ _-]?key))[ \t*`]{{0,4}}\|[ \t*`]{{0,4}}([^\s|`\"'\x00]{{5,}}?)[ \t*`]{{0,4}}\|",
        "scrawl",
    ),
    Rule(
        "password-column",
        _COLUMN_WORDS,
        rf"(?m)(?:^|[|,;\t])[ \t*`\"']{{0,4}}({_COLUMN})[ \t*`\"']{{0,4}}(?:[|,;\t\r]|$)",
        "scrawl",
        finder=True,
    ),
)
