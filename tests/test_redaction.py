"""What opens doors goes, what merely looks random stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.redaction import REMOVED, redact

A32 = "a1B2c3D4" * 4
HEX = "0123456789abcdef" * 4
PEM = "-----BEGIN {} KEY-----\nMIIEow{}\nabc/+=\n-----END {} KEY-----"

SECRETS = [
    ("bedrock-api-key-" + "YmVkcm9jay1hcGkt" * 3, "YmVkcm9jay"),
    ("ABSK" + "QmVkcm9ja0FQSUtleS0x" * 3, "QmVkcm9ja0"),
    ("sk-" + A32, "sk-"),
    ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "4eC39"),
    ("ghp_" + "a1B2c3" * 6, "a1B2c3"),
    ("github_pat_" + "11ABCDEFG0" * 4, "11ABCDEFG0"),
    ("xoxb-" + "123456789012-abcdefABCDEF", "abcdefABCDEF"),
    ("AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N", "eyJzdWIi"),
    (PEM.format("RSA PRIVATE", A32, "RSA PRIVATE"), A32),
    (PEM.format("EC PRIVATE", A32, "nothing").replace("-----END nothing KEY-----", ""), A32),
    ("postgresql://app:hunter2@db.local:5432/shop", "hunter2"),
    ("Authorization: Bearer " + A32, A32),
    ("curl -u admin:letmein99 http://x", "letmein99"),
    ("Authorization: Basic Ym9iOnB3", "Ym9iOnB3"),
    ("authorization: token abcd1234efgh", "abcd1234efgh"),
    ('{"Authorization": "Bearer abcdefgh"}', "abcdefgh"),
    ("curl -H 'Authorization: s3cr3t'", "s3cr3t"),
    ("The password of the shop is hunter22correct.", "hunter22correct"),
    ("the token for the bot's account is abcd1234efgh", "abcd1234efgh"),
    ("the passphrase is 'correct horse battery staple'", "horse"),
    ("password=hunter2!", "hunter2"),
    ('"password": "tr0ub4dor&3"', "tr0ub4dor"),
    ("the password is hunter2", "hunter2"),
    ("api-key: 9d8f7a6b5c4e", "9d8f7a6b5c4e"),
    ('client_secret = "GH12-ab34-CD56"', "GH12"),
    ("https://x.org/cb?access_token=abc123def456&state=1", "abc123def456"),
    ("mysql --password=s3cr3t shop", "s3cr3t"),
    (f'password="{REMOVED}hunter2"', "hunter2"),
    (r'{"body": "{\"user\": \"app\", \"password\": \"hunter2xyz\"}"}', "hunter2xyz"),
    (r'"{\\\"db\\\": {\\\"api_key\\\": \\\"a1B2c3D4e5F6\\\"}}"', "a1B2c3D4e5F6"),
    ("<connection><password>hunter2xyz</password></connection>", "hunter2xyz"),
    ('<db:Password type="text">\n  tr0ub4dor\n</db:Password>', "tr0ub4dor"),
    ("- name: DB_PASSWORD\n  value: hunter2xyz", "hunter2xyz"),
    ('{"name": "DB_PASSWORD", "value": "hunter2xyz"}', "hunter2xyz"),
    ("machine git.local\n  login bot\n  password hunter2xyz", "hunter2xyz"),
    ("sshpass -p 'hunter2xyz' scp a b", "hunter2xyz"),
    ("mysqldump -u root -phunter2xyz shop", "hunter2xyz"),
    ("| setting | value |\n|---|---|\n| db_password | hunter2xyz |", "hunter2xyz"),
    ("| user | password |\n|---|---|\n| bob | hunter2xyz |\n| eve | s3same |", "hunter2xyz"),
    ("user,password,active\nbob,hunter2xyz,1", "hunter2xyz"),
    ("DB_PASSWORD=Winter2024&Summer2025", "Summer2025"),
    ("my password is p@ss&w0rd!x", "w0rd!x"),
    ("password: Winter;2024secret", "2024secret"),
    ("postgres://shop:p@ssw0rd1@db.local/shop", "ssw0rd1"),
    ("sk-ant-api03-" + A32 + "\n" + A32[:20], A32[:20]),
]
HARMLESS = [
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    f"sha256:{HEX}",
    "7f3c9a1b-0d2e-4f5a-8b6c-1234567890ab",
    "src/auth/token.py and config/secrets.yaml",
    "max_tokens=4096, used tokens: 1200",
    "the password is required",
    "password: str",
    "Password: must be at least 8 characters",
    "password = os.environ['DB_PASSWORD']",
    "token = get_token()",
    "api_key=settings.api_key",
    "api_key: ${API_KEY}",
    "password=<your password>",
    "password: ********",
    "token: null",
    "secret: true",
    "the secret is in the vault",
    "tokens left: 12,345 of 200,000",
    "https://x.org/a?page=2&sort=name",
    "http://localhost:8080/path",
    "git@git.local:team/repo.git",
    "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----",
    "b2:0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "ORD-48213 and #4711 in v1.2.3-rc.1",
    "a bearer of bad news",
    "Authorization: required for admins",
    "authorization: token based access is used",
    "authorization: bearer tokens are used here",
    "The password of the shop is wrong.",
    "the password of a user is at least 8 characters long",
    "the password for the shop is set in config.yaml",
    "passphrase: ask the admin for it",
    "sk-learn and task-sk-lists are packages",
    "public_key = load('id_rsa.pub')",
    "密码 是 必须 的",
    "signature: def f(x1: int) -> str",
    "token_type: bearer",
    "| field | password |\n|---|---|\n| type | string |",
    "name: password-policy\nvalue: strict",
    "<token>identifier</token>",
    "the login page and -p 8080",
    "docker run -p 8080:80 nginx login",
    "max_tokens     4096",
    "mysql -u root -p shop",
    '["password", "username", "email", "token"]',
    "the field password 'of the user' is new",
    "secretName: tls-cert-2024",
    "first-pass: 12 tests, second pass: 3",
    "ok: pass=12 fail=3",
    '{"auth": "oauth2", "auth_type": "basic"}',
    "main.c:5432:5:error:missing",
    "https://x.org -a b:c",
    "<name>password</name><value>string</value>",
    "ENV PASSWORD_FILE /run/secrets/db",
    "client_key_path: certs/client-1.pem",
    'variable "password_length" {\n  default = 16\n}',
    "the --token option names a variable",
    "pass --api-key with each call",
]


@pytest.mark.requirement("X8")
@pytest.mark.parametrize("around", ["{}", "see: {} ok", "a\n{}\nb"], ids=["alone", "in a line", "in a text"])
def test_a_secret_goes_and_the_text_around_it_stays(around):
    start, end = around.split("{}")
    wrong = []
    for text, inside in SECRETS:
        cleaned = redact(around.format(text))
        kept = cleaned.startswith(start) and (cleaned.endswith(end) or "PRIVATE KEY" in text)
        if inside in cleaned or REMOVED not in cleaned or not kept or redact(cleaned) != cleaned:
            wrong.append((text, cleaned))
    assert wrong == []


def test_a_password_may_be_a_word_in_front_of_another():
    assert redact("deploy --password hunter again") == f"deploy --password {REMOVED} again"


def test_what_is_no_secret_stays_as_it_is():
    assert [(text, redact(text)) for text in HARMLESS if redact(text) != text] == []


@pytest.mark.parametrize("text", ["DB_PASSWORD\thunter2xyz", "user\tbob\nPassword      hunter2xyz\nactive  yes"])
def test_a_name_and_its_value_apart_by_a_tab_or_spaces_are_a_line_of_their_own(text):
    assert redact(text) == text.replace("hunter2xyz", REMOVED)


def test_every_value_of_a_column_of_passwords_goes():
    text = " user | password \n------+----------\n bob  | hunter2xyz"
    assert redact(text) == text.replace("hunter2xyz", REMOVED)
    text = (
        "| user | password | mail |\n|---|---|---|\n| bob | hunter2xyz | b@x.org |\n| eve | s3same | e@x.org |\n\ndone"
    )
    assert redact(text) == text.replace("hunter2xyz", REMOVED).replace("s3same", REMOVED)


def test_the_address_keeps_all_but_its_password():
    assert redact("postgresql://app:hunter2@db:5432/shop") == f"postgresql://app:{REMOVED}@db:5432/shop"


@given(st.text())
def test_any_text_can_be_cleaned_again_without_change(text):
    assert redact(redact(text)) == redact(text)


@given(st.uuids(), st.binary(min_size=20, max_size=32))
def test_uuids_and_hashes_are_no_secrets(uuid, raw):
    text = f"trace {uuid} of {raw.hex()} in runs/{raw.hex()[:8]}/log.txt"
    assert redact(text) == text


@given(st.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=12, max_size=40), st.sampled_from(
    ["password={}", "api_key: {}", "TOKEN={}", '"client_secret": "{}"', "postgres://u:{}@h/d"]))  # fmt: skip
def test_a_random_value_under_a_telling_name_goes(value, form):
    value = f"{value}7x"
    assert value not in redact(form.format(value))


def test_a_passphrase_of_several_words_goes_to_the_end_of_its_line():
    """ "passphrase: correct horse battery staple stays"."""
    assert redact("passphrase: correct horse battery staple\nnext") == f"passphrase: {REMOVED}\nnext"
