"""A hundred places where tools keep secrets, written as their documentation has them.

Each has a kind of the list in docs/security.md, the text, and the secret in it. The secrets are made up.
"""

from __future__ import annotations

from typing import NamedTuple

W = "hq7Wn2Yx0Lr9"
"""A password: a few letters and digits that have no form."""
A = "a1B2c3D4e5F6g7H8i9J0"
H = "9f86d081884c7d659a2feaa0c55ad015"
B = "dXNlcjpocTdXbjJZeDBMcjk="
"""`user:hq7Wn2Yx0Lr9` in base64."""
JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"


class Shape(NamedTuple):
    """A text with a secret."""

    kind: str
    name: str
    text: str
    secret: str


def _shapes() -> list[Shape]:
    found: list[Shape] = []

    def kind(name: str, **texts: tuple[str, str] | str) -> None:
        for each, text in texts.items():
            found.append(Shape(name, each.replace("_", " "), *(text if isinstance(text, tuple) else (text, W))))

    kind(
        "keys and tokens of a known form",
        openai=(f"OpenAI(api_key='sk-proj-{A}{A}')", A),
        anthropic=(f"export A=sk-ant-api03-{A}{A}-AA", A),
        github=(f"git remote set-url origin https://ghp_{A}{A[:16]}@github.com/a/b.git", A),
        github_fine=(f"gh auth: github_pat_11ABCDEFG0{A}{A}", A),
        gitlab=(f"glpat-{A}", A),
        slack=(f"SLACK xoxb-123456789012-1234567890123-{A}", A),
        stripe=(f"stripe.api_key = sk_live_{A}{A}", A),
        aws_id=("aws_access_key_id = AKIAIOSFODNN7EXAMPL3", "AKIAIOSFODNN7EXAMPL3"),
        google=("maps?key=AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
        hugging_face=(f"hf auth login hf_{A}{A}", A),
        npm_token=(f"npm_{A}{A[:16]}", A),
        pypi_token=(f"pypi-AgEIcHlwaS5vcmc{A}{A}", A),
        sendgrid=(f"SG.{A}.{A}{A}", A),
        digital_ocean=(f"doctl auth init -t dop_v1_{H}{H}", H),
        vault_token=(f"VAULT hvs.{A}{A}", A),
        shopify=(f"shpat_{H}", H),
        databricks=(f"dapi{H}", H),
        web_token=(f"kubectl --token={JWT}", "eyJpc3MiOiJrdWJlcm5ldGVzIn0"),
        web_token_alone=(f"cookie: session={JWT}; path=/", "eyJpc3MiOiJrdWJlcm5ldGVzIn0"),
        age=(f"# public key: age1x\nAGE-SECRET-KEY-1{'QPZRY9X8GF2TVDW0S3JN' * 3}", "QPZRY9X8GF2TVDW0S3JN"),
    )
    kind(
        "private keys",
        pem=(f"-----BEGIN PRIVATE KEY-----\n{PEM}\n-----END PRIVATE KEY-----", PEM),
        rsa=(f"-----BEGIN RSA PRIVATE KEY-----\n{PEM}\n-----END RSA PRIVATE KEY-----", PEM),
        openssh=(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM}\n-----END OPENSSH PRIVATE KEY-----", PEM),
        encrypted=(f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{PEM}\n-----END ENCRYPTED PRIVATE KEY-----", PEM),
        pgp=(f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{PEM}\n-----END PGP PRIVATE KEY BLOCK-----", PEM),
        gcloud=(
            f'{{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\\n{PEM}\\n-----END PRIVATE KEY-----\\n"}}',
            PEM,
        ),
        indented=(
            f"tls:\n  key: |\n    -----BEGIN EC PRIVATE KEY-----\n    {PEM}\n    -----END EC PRIVATE KEY-----",
            PEM,
        ),
        putty=(f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{PEM}\nPrivate-MAC: {H}", PEM),
    )
    kind(
        "passwords in addresses",
        postgres=f"DATABASE_URL=postgres://app:{W}@db.local:5432/shop",
        amqp=f"amqp://guest:{W}@mq:5672/%2f",
        redis=f"redis://:{W}@cache:6379/0",
        mongo=f"mongodb+srv://root:{W}@cluster0.mongodb.net/x?retryWrites=true",
        git=f"[remote] url = https://bot:{W}@git.local/x.git",
        proxy=f"HTTPS_PROXY=http://me:{W}@proxy:3128",
        ftp=f"wget ftp://me:{W}@files.local/a.zip",
        pip=f"index-url = https://__token__:{W}@pypi.local/simple",
        jdbc=f"jdbc:mysql://app:{W}@db:3306/shop",
        sqlalchemy=f"create_engine('mysql+pymysql://app:{W}@db/shop')",
        log=f"2026-11-18 dial tcp: amqps://svc:{W}@broker failed",
        basic_docker=f"docker -H tcp://me:{W}@host:2376 ps",
    )
    kind(
        "values under a name such as password, secret, token or key",
        env=f"DB_PASSWORD={W}",
        env_export=f'export PGPASSWORD="{W}"',
        env_secret=f"JWT_SECRET={W}",
        env_aws=("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYz1", "wJalrXUtnFEMI"),
        env_windows=f"set API_TOKEN={W}",
        powershell=f"$env:API_KEY = '{W}'",
        docker_env=f"docker run -e MYSQL_ROOT_PASSWORD={W} mysql",
        dockerfile=f"ENV REDIS_PASSWORD {W}",
        systemd=f'Environment="SMTP_PASSWORD={W}"',
        aws_credentials=("[default]\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYz1", "wJalrXUtnFEMI"),
        aws_session=(f"aws_session_token = FwoGZXIvYXdzE{A}{A}", A),
        npmrc=f"//registry.local/:_authToken={W}",
        npmrc_password=f"//registry.local/:_password={W}",
        pypirc=f"[pypi]\nusername = __token__\npassword = {W}",
        ini=f"[client]\nuser=root\npassword={W}",
        properties=f"spring.datasource.password={W}",
        properties_colon=f"mail.smtp.password: {W}",
        toml=f'[database]\npassword = "{W}"',
        toml_token=f'[registry]\ntoken = "{W}"',
        yaml=f"auth:\n  username: bot\n  password: {W}",
        yaml_quoted=f"client_secret: '{W}'",
        json=f'{{"user": "bot", "password": "{W}"}}',
        json_key=f'{{"apiKey": "{W}"}}',
        json_camel=f'{{"clientSecret": "{W}", "accessToken": "{W}"}}',
        json_in_json=f'{{"body": "{{\\"password\\": \\"{W}\\"}}"}}',
        json_in_json_in_json=f'"{{\\\\\\"db\\\\\\": {{\\\\\\"api_key\\\\\\": \\\\\\"{W}\\\\\\"}}}}"',
        python=f'connect(host="db", password="{W}")',
        python_dict=f"{{'secret_key': '{W}'}}",
        javascript=f"const apiKey = '{W}';",
        go=f'Password: "{W}",',
        ruby=f"config.secret_key_base => '{W}'",
        php=f"define('DB_PASSWORD', '{W}');",
        php_array=f"'password' => '{W}',",
        terraform=f'variable "db_password" {{\n  default = "{W}"\n}}',
        terraform_attribute=f'  master_password = "{W}"',
        tfstate=f'"attributes": {{"password": "{W}", "username": "app"}}',
        ansible=f"ansible_become_password: {W}",
        ansible_ini=f"web1 ansible_host=10.0.0.1 ansible_ssh_pass={W}",
        compose=f"environment:\n  - POSTGRES_PASSWORD={W}",
        query=f"https://api.local/cb?access_token={W}&state=1",
        azure=f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={W}aB3dE5==;EndpointSuffix=core",
        ado_net=f"Server=db;Database=shop;User Id=sa;Password={W};",
        odbc=f"DRIVER={{SQL}};SERVER=db;UID=sa;PWD={W}",
        libpq=f"host=db dbname=shop user=app password={W} sslmode=require",
        ldap=f"ldapsearch bind_password: {W}",
        sentence=f"The password is {W}",
        chat=f"my password: {W}",
        wifi=f'network={{\n ssid="home"\n passphrase="{W}"\n}}',
        kotlin=f'storePassword "{W}"',
        html_form=f'<input type="hidden" name="csrf_token" value="{W}">',
        html_password=f'<input name="password" type="password" value="{W}"/>',
    )
    kind(
        "headers and program options with credentials",
        bearer=(f"curl -H 'Authorization: Bearer {A}' https://x", A),
        basic=(f"Authorization: Basic {B}", B),
        token_header=(f"Authorization: token {A}", A),
        api_key_header=f"x-api-key: {W}",
        curl=f"curl -u admin:{W} https://x",
        curl_long=f"curl --user admin:{W} https://x",
        sshpass=f"sshpass -p {W} ssh root@host",
        mysql=f"mysqldump -u root -p{W} shop",
        docker_login=f"docker login -u bot -p {W} registry.local",
        redis_cli=f"redis-cli -h cache -a {W} ping",
        long_option=f"vault login --token {W}",
        option_equals=f"mongodump --password={W}",
        netrc=f"machine git.local login bot password {W}",
        netrc_lines=f"machine git.local\n  login bot\n  password {W}",
        wget=f"wget --http-password={W} https://x",
        http_ie=f"http -a admin:{W} https://x",
        openssl=f"openssl rsa -passin pass:{W} -in k.pem",
        psql=f"PGPASSWORD={W} psql -h db",
        ldap_w=f"ldapsearch -D cn=admin -w {W} -b dc=x",
        kubectl=f"kubectl create secret generic db --from-literal=password={W}",
        helm=f"helm install x --set postgresql.auth.password={W}",
        smbclient=f"smbclient //host/share -U bob%{W}",
    )
    kind(
        "pairs, elements and tables",
        k8s_env=f"env:\n- name: DB_PASSWORD\n  value: {W}",
        k8s_secret=(f"kind: Secret\ndata:\n  password: {B}", B),
        k8s_string=f"kind: Secret\nstringData:\n  api-token: {W}",
        ecs=f'{{"name": "DB_PASSWORD", "value": "{W}"}}',
        cloudformation=f'{{"ParameterKey": "ApiToken", "ParameterValue": "{W}"}}',
        jenkins=f"<hudson.util.Secret><password>{W}</password></hudson.util.Secret>",
        maven=f"<server><id>x</id><password>{W}</password></server>",
        web_config=f'<add key="SmtpPassword" value="{W}" />',
        nuget=f'<add key="ClearTextPassword" value="{W}" />',
        plist=f"<key>password</key>\n<string>{W}</string>",
        markdown=f"| setting | value |\n|---|---|\n| db_password | {W} |",
        markdown_column=f"| user | password |\n|---|---|\n| bob | {W} |",
        psql_table=f" user | password \n------+----------\n bob  | {W}",
        csv=f"user,password,active\nbob,{W},1",
        tsv=f"DB_PASSWORD\t{W}",
        pgpass=f"db.local:5432:shop:app:{W}",
        k8s_tls=(
            "kind: Secret\ndata:\n  tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlC",
            "CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlC",
        ),
        hadoop=f"<property><name>fs.s3a.secret.key</name><value>{W}</value></property>",
        npm_auth=(f"//registry.local/:_auth={B}", B),
        kubeconfig=f"users:\n- name: admin\n  user:\n    token: {W}",
        kubeconfig_key=(f"    client-key-data: {PEM}{PEM}", PEM),
        docker_config=(f'{{"auths": {{"registry.local": {{"auth": "{B}"}}}}}}', B),
    )
    return [_own(at, shape) for at, shape in enumerate(found)]


def _own(at: int, shape: Shape) -> Shape:
    """Return a shape with a secret of its own, of the same length and form."""
    secret = f"{shape.secret[:-4]}{at:03}{shape.secret[-1]}"
    return shape._replace(text=shape.text.replace(shape.secret, secret), secret=secret)


SHAPES = _shapes()
KINDS = tuple(dict.fromkeys(shape.kind for shape in SHAPES))
