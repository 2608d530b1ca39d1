"""Secrets in the shapes in which they are hardest to see, made from a seed at run time.

A shape is a text with a hole (`@@`); each is filled with several values, from random ones to what people
make up. Tokens that tell what they are by their own prefix stand in `VENDORS`, formats of files and blobs
that need a value of their own in `MADE`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
from collections.abc import Callable

from tests.quality.secret_samples import ALNUM, B64, LOWER_HEX, UPPER, URLSAFE, Sample

SEED = 20251103
_WORDS = "Falke Regen Winter Koffer Sturm Birke Anker Lampe Ziegel Wolke Pfeffer Kobalt Marder Rubin".split()
_UUID = "hex-uuid"

# Alphabet and length of what follows the prefix; None: a UUID.
VENDORS: dict[str, tuple[str, str, int]] = {
    "elevenlabs": ("sk_", LOWER_HEX, 48),
    "nvidia": ("nvapi-", URLSAFE, 64),
    "jina": ("jina_", ALNUM, 60),
    "firecrawl": ("fc-", LOWER_HEX, 32),
    "cursor": ("key_", LOWER_HEX, 64),
    "cursor-new": ("crsr_", LOWER_HEX, 64),
    "modal-id": ("ak-", ALNUM, 22),
    "modal-secret": ("as-", ALNUM, 22),
    "e2b": ("e2b_", LOWER_HEX, 40),
    "neon": ("napi_", string.ascii_lowercase + string.digits, 64),
    "neon-role": ("npg_", ALNUM, 16),
    "convex": ("prod:quick-otter-123|", B64, 60),
    "cerebras": ("csk-", string.ascii_lowercase + string.digits, 48),
    "voyage": ("pa-", URLSAFE, 43),
    "langfuse": ("sk-lf-", _UUID, 36),
    "posthog": ("phx_", ALNUM, 43),
    "posthog-secret": ("phs_", ALNUM, 40),
    "sourcegraph": ("sgp_", LOWER_HEX, 40),
    "sourcegraph-local": ("sgp_local_", LOWER_HEX, 40),
    "sourcegraph-instance": ("sgp_0123456789abcdef_", LOWER_HEX, 40),
    "gitlab-flags": ("glffct-", URLSAFE, 20),
    "gitlab-runner-registration": ("glrtr-", URLSAFE, 20),
    "gitlab-workspace": ("glwt-", URLSAFE, 20),
    "gitlab-scim": ("glsoat-", URLSAFE, 20),
    "slack-cookie": ("xoxd-", ALNUM + "%", 120),
    "slack-client": ("xoxc-123456789012-123456789012-", LOWER_HEX, 64),
    "slack-workflow": ("xwfp-1-", ALNUM, 40),
    "discord-bot": ("MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe.", URLSAFE, 38),
    "together": ("tgp_v1_", URLSAFE, 43),
    "runpod": ("rpa_", UPPER, 46),
    "llamacloud": ("llx-", ALNUM, 48),
    "apify": ("apify_api_", ALNUM, 36),
    "browserbase": ("bb_live_", URLSAFE, 27),
    "mem0": ("m0-", ALNUM, 40),
    "brave": ("BSA", URLSAFE, 28),
    "anyscale": ("esecret_", ALNUM, 26),
    "render": ("rnd_", ALNUM, 28),
    "aiven": ("AVNS_", URLSAFE, 20),
    "trigger": ("tr_prod_", ALNUM, 20),
    "inngest": ("signkey-prod-", LOWER_HEX, 64),
    "polar": ("polar_oat_", ALNUM, 43),
    "paddle": ("pdl_live_apikey_01hv8gwm3n5zx6t7r8q9p0s1d2_", ALNUM, 22),
    "vercel-blob": ("vercel_blob_rw_", ALNUM, 40),
    "cloudflare-user": ("cfut_", ALNUM, 48),
    "atlas": ("mdb_sa_sk_", URLSAFE, 40),
    "axiom": ("xaat-", _UUID, 36),
    "logfire": ("pylf_v1_us_", ALNUM, 43),
    "honeycomb": ("hcaik_", ALNUM, 58),
    "statsig": ("secret-", ALNUM, 43),
    "prefect": ("pnu_", ALNUM, 36),
    "dbt": ("dbtc_", URLSAFE, 40),
    "easypost": ("EZAK", ALNUM, 54),
    "adafruit": ("aio_", ALNUM, 28),
    "typeform": ("tfp_", URLSAFE, 59),
    "readme": ("rdme_", string.ascii_lowercase + string.digits, 70),
    "frameio": ("fio-u-", URLSAFE, 64),
    "flutterwave": ("FLWSECK_TEST-", LOWER_HEX, 32),
    "octopus": ("API-", UPPER, 26),
    "jetbrains": ("perm:cm9vdA==.NDctMA==.", ALNUM, 40),
    "clickup": ("pk_12345678_", UPPER, 32),
    "cal": ("cal_live_", LOWER_HEX, 32),
    "google-ai": ("AQ.Ab8", URLSAFE, 46),
    "depot": ("depot_org_", LOWER_HEX, 64),
    "raycast": ("rca_", LOWER_HEX, 64),
    "doppler-service": ("dp.st.prd.", ALNUM, 42),
    "infisical": ("st.63f1a2b3c4d5e6f708192a3b.", LOWER_HEX, 32),
    "onepassword-connect": ("ops_eyJ", ALNUM, 260),
    "tinybird": ("p.eyJ1IjogI", ALNUM, 90),
    "openai-service": ("sk-service-", URLSAFE, 60),
    "stripe-organisation": ("sk_org_live_", ALNUM, 60),
    "shopify-partner": ("shptka_", LOWER_HEX, 32),
    "digitalocean-oauth": ("doo_v1_", LOWER_HEX, 64),
    "github-app-jwt-free": ("ghs_", ALNUM, 40),
}

# Where one of those stands.
TOKEN_PLACES = (
    "use @@ for now",
    '{"note": "@@"}',
    "curl 'https://api.service.dev/x?k=@@&page=2'",
    "| staging | @@ |",
    "**Key:** `@@`",
)

COMMANDS = (
    "ngrok config add-authtoken 2dQx7aLmN0pRsTuVwXyZ1b3C4e5_@@",
    "mysql -u root -p@@ shop",
    "mysql -h db -uroot -p'@@' -e 'show tables'",
    "mysqldump --all-databases -p@@ > all.sql",
    "mysqladmin -u root password @@",
    "docker login -u ci -p @@ registry.internal",
    "docker login registry.internal -p @@ -u ci",
    "podman login --username ci --password @@ quay.internal",
    "echo @@ | docker login -u ci --password-stdin registry.internal",
    "helm registry login -u ci -p @@ registry.internal",
    "az login --service-principal -u app -p @@ --tenant t1",
    "ldapsearch -x -D cn=admin,dc=corp -w @@ -b dc=corp",
    "ldapmodify -D cn=admin -w '@@' -f x.ldif",
    "zip -P @@ -r out.zip secret/",
    "unzip -P @@ out.zip",
    "7z x backup.7z -p@@",
    "curl -u deploy:@@ https://nexus.internal/",
    "curl --user 'deploy:@@' https://nexus.internal/",
    "wget --user=ci --password=@@ https://files.internal/a",
    "echo @@ | sudo -S apt-get update",
    "echo '@@' | sudo --stdin systemctl restart app",
    "sudo -S ls <<< '@@'",
    "echo 'root:@@' | chpasswd",
    "echo root:@@ | sudo chpasswd",
    "chpasswd <<< 'app:@@'",
    "echo @@ | passwd --stdin app",
    "printf '%s' '@@' | gh secret set DEPLOY",
    "sshpass -p@@ ssh root@10.0.0.5",
    "PGPASSWORD=@@ psql -h db -U app",
    "MYSQL_PWD='@@' mysql -u root",
    "redis-cli -h cache -a @@ ping",
    "mongosh --host db -u admin -p @@ --authenticationDatabase admin",
    "mongodump -u admin -p @@",
    "psql 'host=db user=app password=@@ dbname=shop'",
    "rabbitmqctl add_user app @@",
    "rabbitmqctl change_password app '@@'",
    "htpasswd -bc .htpasswd admin @@",
    "openssl pkcs12 -in a.p12 -passin pass:@@ -nodes",
    "openssl enc -aes-256-cbc -k @@ -in a -out b",
    "gpg --batch --passphrase @@ -d a.gpg",
    "smbclient //srv/share -U ann%@@",
    "mount -t cifs //srv/share /mnt -o username=ann,password=@@,vers=3.0",
    "net use Z: \\\\srv\\share @@ /user:ann",
    "net user admin @@ /add",
    "keytool -list -keystore a.jks -storepass @@",
    "sqlcmd -S db -U sa -P @@ -Q 'select 1'",
    "bcp shop.dbo.t out t.csv -S db -U sa -P @@",
    "sqlplus system/@@@orcl",
    "lftp -u ann,@@ sftp://host",
    "nmcli dev wifi connect home password @@",
    "wpa_passphrase home @@",
    "xfreerdp /v:host /u:ann /p:@@",
    "plink -ssh -pw @@ root@host uname",
    "psexec \\\\host -u admin -p @@ cmd",
    "ipmitool -I lanplus -H bmc -U admin -P @@ power status",
    "svn checkout --username ann --password @@ https://svn.internal/",
    "aws configure set aws_secret_access_key @@",
    "kubectl create secret generic db --from-literal=password=@@",
    "vault kv put secret/db password=@@",
    "vault login @@",
    "heroku config:set SESSION_SECRET=@@",
    "fly secrets set DB_PASSWORD='@@'",
    "gh secret set DEPLOY_KEY --body @@",
    "ansible-playbook site.yml -e 'ansible_become_pass=@@'",
    "terraform apply -var 'db_password=@@'",
    "mosquitto_pub -h mq -u app -P @@ -t x -m y",
    "influx -username admin -password @@",
    "cqlsh -u cassandra -p @@ host",
    "clickhouse-client --user default --password @@",
    "snmpwalk -v3 -u ann -A @@ host",
    "kinit admin <<< @@",
    "git clone https://ann:@@@git.internal/app.git",
    "restic -r b2:x --password-command 'echo @@' backup",
    "pass: @@ (ssh root@host)",
)

FILES = (
    "db.internal:5432:shop:app:@@",
    "*:*:*:postgres:@@",
    "[client]\nuser = root\npassword = @@\nhost = db",
    "[mysqldump]\nuser=root\npassword='@@'",
    '[mysql]\npassword="@@"',
    "machine api.internal login ann password @@",
    "db.password=@@",
    "spring.datasource.password = @@",
    "quarkus.datasource.password: @@",
    '<add key="DbPassword" value="@@" />',
    '<property name="hibernate.connection.password" value="@@"/>',
    '<entry key="smtp.password">@@</entry>',
    '<input type="password" name="password" value="@@">',
    '<connection user="sa" password="@@"/>',
    "define('DB_PASSWORD', '@@');",
    "$cfg['Servers'][1]['password'] = '@@';",
    "'password' => '@@',",
    ":password => '@@'",
    'Password: "@@",',
    'ds.setPassword("@@");',
    'container.withPassword("@@")',
    "new NetworkCredential('ann', '@@')",
    "requests.get(url, auth=('ann', '@@'))",
    "session.auth = HTTPBasicAuth('ann', '@@')",
    "auth: { user: 'ann', pass: '@@' }",
    'smtp.login("ann@corp.dev", "@@")',
    "CREATE USER app WITH PASSWORD '@@';",
    "ALTER ROLE app PASSWORD '@@';",
    "CREATE LOGIN app WITH PASSWORD = '@@';",
    "SET PASSWORD FOR 'app'@'%' = PASSWORD('@@');",
    'ALTER USER app IDENTIFIED BY "@@";',
    "GRANT ALL ON *.* TO 'app'@'%' IDENTIFIED BY '@@';",
    "requirepass @@",
    "rpcpassword=@@",
    "WIFI:S:home;T:WPA;P:@@;;",
    'psk="@@"',
    "password: |\n  @@\nuser: x",
    "password: >-\n    @@",
    "password:\n  value: @@",
    "db:\n  user: app\n  pass: @@\n  port: 5432",
    'password = """@@"""',
    "secret_key_base: @@",
    "ansible_ssh_pass: @@",
    "POSTGRES_PASSWORD: '@@'",
    "- POSTGRES_PASSWORD=@@",
    "environment:\n  - name: X\n  - MYSQL_ROOT_PASSWORD=@@",
    "Server=db;Database=shop;Uid=sa;Pwd=@@;",
    "jdbc:postgresql://db/shop?user=app&password=@@",
    "jdbc:sqlserver://db;user=sa;password=@@;encrypt=true",
    "https://api.service.dev/login?user=ann&password=@@&next=/",
    "password%3D@@%26next",
    "password=&quot;@@&quot;",
    '{\\"password\\":\\"@@\\"}',
    '{\\\\\\"password\\\\\\": \\\\\\"@@\\\\\\"}',
)

SPOKEN = (
    "my password is @@",
    "the password for prod is @@, do not share",
    "the root password was @@ until May",
    "set the password to @@ please",
    "I changed the password to @@",
    "use @@ as the password",
    "use the password @@ for staging",
    "login with admin / @@",
    "log in as admin with password @@",
    "credentials: admin / @@",
    "credentials are admin:@@",
    "user: admin, pass: @@",
    "username admin password @@",
    "admin user, pw @@",
    "Password (prod): @@",
    "Password for ann@corp.dev: @@",
    "password -> @@",
    "password → @@",
    "Password — @@",
    "Password:\n@@",
    "Password:\n\n    @@\n",
    "the passphrase is '@@'",
    "passcode: @@",
    "wifi key: @@",
    "pwd @@",
    "**Password:** @@",
    "**Password**: `@@`",
    "- **DB password:** @@",
    "*Password:* @@",
    "### Password\n\n@@\n",
    "`password`: @@",
    "| password | @@ |",
    "| DB_PASSWORD | `@@` | prod |",
    "| user | password |\n|------|----------|\n| admin | @@ |",
    "| host | login | pw |\n|---|---|---|\n| db | root | @@ |",
    "<tr><td>Password</td><td>@@</td></tr>",
    "user,password\nann,@@\n",
    "Passwort: @@",
    "das Passwort ist @@",
    "das Passwort lautet @@",
    "Das Kennwort: @@",
    "Zugangsdaten: admin / @@",
    "mot de passe : @@",
    "le mot de passe est @@",
    "contraseña: @@",
    "la contraseña es @@",
    "clave: @@",
    "senha: @@",
    "a senha é @@",
    "la password è @@",
    "wachtwoord: @@",
    "hasło: @@",
    "lösenord: @@",
    "adgangskode: @@",
    "salasana: @@",
    "heslo: @@",
    "şifre: @@",
    "parola: @@",
    "jelszó: @@",
    "пароль: @@",
    "пароль — @@",
    "Пароль от базы: @@",
    "密码：@@",
    "密码是@@",
    "パスワード：@@",
    "パスワードは @@ です",
    "비밀번호: @@",
    "كلمة المرور: @@",
    "סיסמה: @@",
    "mật khẩu: @@",
    "kata sandi: @@",
)

MIXED = (
    "docker compose run -e DB_PASS=@@ web",
    "docker-compose exec db psql -c \"ALTER USER app PASSWORD '@@'\"",
    "mysql --user=root --password=@@ shop",
    "mysqlsh root:@@@db:3306",
    "sqlite3 x.db \"PRAGMA key='@@'\"",
    "curl -d 'username=ann&password=@@' https://x/login",
    "curl -H 'X-Token: @@' https://x",
    'curl -X POST -d \'{"password":"@@"}\' x',
    "http POST x/login password=@@",
    "wget --http-password=@@ x",
    "git config credential.helper '!f() { echo password=@@; }; f'",
    "pip install --index-url https://ci:@@@pypi.corp/simple x",
    "npm config set //r/:_authToken=@@",
    "twine upload -u ann -p @@ dist/*",
    "cargo login @@",
    "gem push --key @@ x",
    "helm install x --set auth.rootPassword=@@",
    "kubectl -n x create secret generic s --from-literal=api-key=@@",
    'terraform: variable "pw" { default = "@@" }',
    "ansible: become_pass: '@@'",
    "vagrant: config.ssh.password = '@@'",
    'packer: "ssh_password": "@@",',
    "jenkins: usernamePassword('ci', '@@')",
    "useradd -m ann && echo ann:@@ | chpasswd",
    "passwd ann: new password @@ retype @@",
    "smbpasswd -a ann  (pass @@)",
    "Enter password: @@",
    "sudo password for dev: @@",
    "[sudo] password for dev: @@",
    "I logged in with ann@corp.dev and @@ as password",
    "pw's @@",
    "password for root is still @@ I think",
    "btw pw=@@",
    "The admin account: user root, password @@.",
    "DB: host=db user=app pass=@@",
    "prod db -> app/@@",
    "key: @@ (do not commit)",
    "token for CI: @@",
    "the api key we use is @@",
    "secret token: @@",
    "Zugang: Benutzer admin, Passwort @@",
    "Das Admin-Kennwort ist jetzt @@",
    "mdp: @@",
    "identifiant admin, mot de passe @@",
    "usuario admin contraseña @@",
    "Пароль от сервера: @@",
    "用户名 admin 密码 @@",
    "ユーザー admin パスワード @@",
    "<td>pw</td><td>@@</td>",
    "|Password|@@|",
    "Password | @@",
    "password;@@",
    "PASSWORD => @@",
    "setenv DB_PASSWORD @@",
    "$env:DB_PASSWORD = '@@'",
    "set DB_PASSWORD=@@",
    "DB_PASSWORD @@",
    'password "@@";',
    "PASSWORD: ***@@***",
    "docker run -e MYSQL_ROOT_PASSWORD=@@ mysql:8",
    "ssh-keygen -t ed25519 -N '@@' -f key",
    "pg_dump postgresql://u:@@@h/db > x.sql",
    "export PGPASSWORD='@@'; pg_restore -d shop",
    'echo "@@" > /run/password.txt',
    "su -c 'id' <<< '@@'",
    "expect -c 'send \"@@\\r\"'",
    "borg init --encryption=repokey  # passphrase @@",
    "BORG_PASSPHRASE=@@ borg list",
    'RESTIC_PASSWORD="@@" restic snapshots',
    "nats --user app --password @@ pub x y",
    "etcdctl --user root:@@ get /",
    "mc alias set s3 https://minio.local admin @@",
    "consul kv put app/password @@",
    "kubectl create secret docker-registry r --docker-password=@@",
    "gcloud sql users set-password root --password=@@",
    "aws rds modify-db-instance --master-user-password @@",
    "az vm create --admin-password @@",
    "openstack user set --password @@ ann",
    "New-Object PSCredential('ann', (ConvertTo-SecureString '@@' -AsPlainText -Force))",
    "runas /user:admin # pw: @@",
    "ftp: user ann pass @@",
    "ADMIN_PW: @@",
    "rootpw --plaintext @@",
    "set_password!('@@')",
    'user.password = "@@"',
    "User.create(email: 'a@b.c', password: '@@')",
    "await page.fill('#password', '@@')",
    "cy.get('[name=password]').type('@@')",
    "driver.find_element(By.ID, 'password').send_keys('@@')",
    "conn = psycopg2.connect(dbname='x', user='y', password='@@')",
    "redis.Redis(host='h', password='@@')",
    "mongoose.connect(uri, { user: 'a', pass: '@@' })",
    "smtp_pass = @@",
    "imap.login('ann', '@@')",
    "Password hint: the real one is @@",
    "pwd for the vpn: @@",
    "here is the pass for staging: @@",
    "admin/@@ works for grafana",
    "Use these creds -> admin : @@",
    "The wifi password at the office is @@",
    "temporary password @@ expires tomorrow",
    "Ihr Passwort lautet: @@",
    "Le mot de passe: «@@»",
    "La clave es @@",
    "Пароль: «@@»",
    "パスワードは@@です",
    "新密码: @@",
    "wachtwoord is @@",
    "<password>@@</password>",
    '<Password Value="@@"/>',
    "password: !vault @@",
    "pass=@@&user=ann",
    "{'user': 'ann', 'pwd': '@@'}",
    "('password', '@@')",
    "login: ann\npassword: @@\n",
    "Username: ann\nPassword: @@",
    "* user = ann\n* password = @@",
    "1. Password: @@",
    "> password: @@",
    "api secret - @@",
    "client secret: @@",
)

JSON_SHAPES: tuple[object, ...] = (
    {"note": "token: @@"},
    {"note": "secret: @@"},
    {"note": "api key: @@"},
    {"note": "password: @@"},
    {"lines": ["api_key=@@"]},
    {"password": {"value": "@@"}},
    {"password": ["@@"]},
    {"credentials": {"username": "ann", "password": "@@"}},
    {"db": {"auth": {"pass": "@@"}}},
    {"key": "password", "val": "@@"},
    {"field": "password", "content": "@@"},
    {"label": "Password", "text": "@@"},
    {"id": "password", "data": "@@"},
    {"Name": "DB_PASSWORD", "Value": {"stringValue": "@@"}},
    {"Password": {"S": "@@"}},
    {"rows": [["password", "@@"]]},
    {"env": ["DB_PASSWORD=@@"]},
    {"args": ["--password=@@"]},
    {"args": ["login", "-u", "ann", "-p", "@@"]},
    {"command": ["mysql", "-u", "root", "-p@@"]},
    {"headers": {"X-Vault-Token": "@@"}},
    {"headers": [{"name": "Authorization", "value": "@@"}]},
    {"cookies": [{"name": "sessionid", "value": "@@"}]},
    {"secret": {"data": {"v": "@@"}}},
    {"columns": ["user", "password"], "rows": [["ann", "@@"]]},
    {"inner": '{"password": {"value": "@@"}}'},
    {"inner": '{"user": "ann", "password": ["@@"]}'},
    {"inner": '{"name": "password", "value": "@@"}'},
    {"dbPassword": "@@"},
    {"smtp_pass": "@@"},
    {"passphrase": "@@"},
    {"pw": "@@"},
)


def _value(rng: random.Random, number: int) -> str:
    """From random to what people make up; never a mere word."""
    word = rng.choice(_WORDS)
    if number == 0:
        return "k7" + "".join(rng.choices(ALNUM, k=13)) + "Z"
    if number == 1:
        return f"{word}{rng.randrange(1000, 9999)}!"
    if number == 2:
        return f"{word.lower()}-{rng.choice(_WORDS).lower()}-{rng.randrange(10, 99)}"
    mixed = "".join(rng.choices(ALNUM + "#*+!", k=9))
    return f"q{rng.randrange(10)}{mixed}X"


def _filled(shape: object, value: str) -> str:
    text = shape if isinstance(shape, str) else json.dumps(shape, ensure_ascii=False)
    return text.replace("@@", value)


def _blob(rng: random.Random, size: int) -> str:
    return base64.b64encode(rng.randbytes(size)).decode()


def _pem(rng: random.Random) -> str:
    dashes, body = "-" * 5, "\n".join(_blob(rng, 48) for _ in range(12))
    return f"{dashes}BEGIN PRIVATE KEY{dashes}\n{body}\n{dashes}END PRIVATE KEY{dashes}\n"


def _docker_auth(rng: random.Random) -> Sample:
    auth = base64.b64encode(f"ci:{_value(rng, 0)}".encode()).decode()
    return Sample("docker-auth", auth, json.dumps({"auths": {"registry.internal": {"auth": auth}}}))


def _jwk(rng: random.Random, names: tuple[str, ...], kind: str) -> Sample:
    secret = base64.urlsafe_b64encode(rng.randbytes(32)).decode().rstrip("=")
    public = base64.urlsafe_b64encode(rng.randbytes(32)).decode().rstrip("=")
    key = {"kty": kind, "crv": "P-256", "x": public, **dict.fromkeys(names, secret)}
    return Sample(f"jwk-{kind}-{names[0]}", secret, json.dumps(key))


def _hash(kind: str) -> Callable[[random.Random], Sample]:
    def make(rng: random.Random) -> Sample:
        crypt = "".join(rng.choices(ALNUM + "./", k=86))
        salt = "".join(rng.choices(ALNUM, k=16))
        text = {
            "bcrypt": f"$2b$12${crypt[:53]}",
            "sha512": f"$6${salt}${crypt}",
            "sha256": f"$5${salt}${crypt[:43]}",
            "md5": f"$1${salt[:8]}${crypt[:22]}",
            "apr1": f"$apr1${salt[:8]}${crypt[:22]}",
            "yescrypt": f"$y$j9T${salt}${crypt[:43]}",
            "argon2": f"$argon2id$v=19$m=65536,t=3,p=4${_blob(rng, 16).rstrip('=')}${_blob(rng, 32).rstrip('=')}",
            "django": f"pbkdf2_sha256$600000${salt}${_blob(rng, 32)}",
            "werkzeug": f"scrypt:32768:8:1${salt}${rng.randbytes(64).hex()}",
            "ssha": f"{{SSHA}}{_blob(rng, 24)}",
            "scram": f"SCRAM-SHA-256$4096:{_blob(rng, 16)}${_blob(rng, 32)}:{_blob(rng, 32)}",
            "mysql": f"*{hashlib.sha1(rng.randbytes(8)).hexdigest().upper()}",
            "ntlm": f"ann:1001:{rng.randbytes(16).hex()}:{rng.randbytes(16).hex()}:::",
        }[kind]
        secret = text[-20:] if kind != "ntlm" else text[-35:-3]
        places = {
            "mysql": f"IDENTIFIED WITH mysql_native_password AS '{text}'",
            "sha512": f"root:{text}:19700:0:99999:7:::",
        }
        return Sample(f"hash-{kind}", secret, places.get(kind, f"ann:{text}"))

    return make


def _encoded_key(rng: random.Random) -> Sample:
    blob = base64.b64encode(_pem(rng).encode()).decode()
    return Sample("base64-of-key", blob[80:140], f"echo {blob} | base64 -d > key.pem")


def _encoded_openssh(rng: random.Random) -> Sample:
    head = b"openssh-key-v1\0\0\0\0\4none\0\0\0\4none" + rng.randbytes(300)
    blob = base64.b64encode(head).decode()
    return Sample("bare-openssh", blob[60:140], f"key: {blob}")


def _bare_der(rng: random.Random) -> Sample:
    head = bytes.fromhex("308204bd020100300d06092a864886f70d0101010500048204a7308204a30201000282010100")
    blob = base64.b64encode(head + rng.randbytes(300)).decode()
    return Sample("bare-pkcs8", blob[80:160], f'"privateKey": "{blob}"')


def _otp(rng: random.Random) -> Sample:
    secret = "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=32))
    return Sample("otpauth", secret, f"otpauth://totp/Corp:ann?secret={secret}&issuer=Corp")


def _seed_words(rng: random.Random) -> Sample:
    words = (
        "rally orbit canyon velvet museum lava ticket oxygen puzzle dragon cement noble tower brisk".split()
    )
    secret = " ".join(rng.sample(words, 12))
    return Sample("seed-phrase", secret, f"seed phrase: {secret}")


def _ethereum(rng: random.Random) -> Sample:
    secret = rng.randbytes(32).hex()
    return Sample("ethereum", secret, f"wallet private key 0x{secret}")


def _kubernetes_json(rng: random.Random) -> Sample:
    secret = base64.b64encode(_value(rng, 0).encode()).decode()
    document = {"apiVersion": "v1", "kind": "Secret", "data": {"password": secret}}
    return Sample("kubernetes-json", secret, json.dumps(document))


MADE: dict[str, Callable[[random.Random], Sample]] = {
    "docker-auth": _docker_auth,
    "jwk-ec": lambda rng: _jwk(rng, ("d",), "EC"),
    "jwk-rsa": lambda rng: _jwk(rng, ("d", "p", "q"), "RSA"),
    "jwk-oct": lambda rng: _jwk(rng, ("k",), "oct"),
    **{
        f"hash-{kind}": _hash(kind)
        for kind in "bcrypt sha512 sha256 md5 apr1 yescrypt argon2 django werkzeug ssha scram mysql ntlm".split()
    },
    "base64-of-key": _encoded_key,
    "bare-openssh": _encoded_openssh,
    "bare-der": _bare_der,
    "otpauth": _otp,
    "seed-phrase": _seed_words,
    "ethereum": _ethereum,
    "kubernetes-json": _kubernetes_json,
}


def vendor_tokens(seed: int = SEED) -> list[Sample]:
    """Every vendor's token once in each place."""
    rng = random.Random(seed)
    found = []
    for index, (name, (prefix, alphabet, size)) in enumerate(VENDORS.items()):
        for place in (TOKEN_PLACES[index % 5], TOKEN_PLACES[(index + 2) % 5]):
            token = prefix + _random(rng, alphabet, size)
            found.append(Sample(f"{name}: {place}", token, place.replace("@@", token)))
    return found


def _random(rng: random.Random, alphabet: str, size: int) -> str:
    if alphabet == _UUID:
        text = rng.randbytes(16).hex()
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
    letters = [c for c in alphabet if c.isalpha()]
    return "".join(rng.choices(alphabet, k=size - 2)) + "7" + rng.choice(letters)


def hostile(seed: int = SEED, values: int = 2) -> list[Sample]:
    """Every shape with `values` values, each another kind of value."""
    rng = random.Random(seed)
    found = []
    for index, shape in enumerate((*COMMANDS, *FILES, *SPOKEN, *MIXED, *JSON_SHAPES)):
        for turn in range(values):
            value = _value(rng, (index + turn) % 4)
            text = _filled(shape, value)
            found.append(Sample(text.replace(value, "@@")[:60], value, text))
    return [*found, *(make(rng) for make in MADE.values())]
