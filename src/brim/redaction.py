"""Remove keys, tokens and passwords from texts that are kept or shown.

A summary, a log or a page outlives its messages and is copied further, so it must not contain credentials. Strings
that merely look random stay: an agent works with hashes, paths and UUIDs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

REMOVED = "[secret removed]"
"""Replaces a secret."""

_WHOLE = re.compile(
    r"""
    -----BEGIN\ [A-Z0-9 ]*PRIVATE\ KEY(?:\ BLOCK)?-----.*?(?:-----END\ [A-Z0-9 ]*PRIVATE\ KEY(?:\ BLOCK)?-----|\Z)
    | \bLS0tLS1CRUdJTi(?:BQUklW|BSU0Eg|BFQyBQ|BPUEVO|BFTkNS)[A-Za-z0-9+/=]{20,}
    | \bPrivate-Lines:\ \d+\s.*?(?:^Private-MAC:|\Z)
    | \bsk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{20,}
    | \b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{30,} | \bgithub_pat_[A-Za-z0-9_]{22,}
    | \bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_-]{20,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,} | \bxapp-\d-[A-Za-z0-9-]{10,}
    | \b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{35} | \bya29\.[A-Za-z0-9_-]{20,} | \bGOCSPX-[A-Za-z0-9_-]{20,}
    | \bhf_[A-Za-z0-9]{30,} | \bgsk_[A-Za-z0-9]{30,} | \bxai-[A-Za-z0-9]{30,} | \br8_[A-Za-z0-9]{30,}
    | \bnpm_[A-Za-z0-9]{36} | \bpypi-AgE[A-Za-z0-9_-]{30,} | \bdckr_pat_[A-Za-z0-9_-]{20,}
    | \bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | \bkey-[0-9a-f]{32}\b
    | \bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32} | \bdop_v1_[a-f0-9]{64} | \bwhsec_[A-Za-z0-9+/=]{20,}
    | \blin_api_[A-Za-z0-9]{30,} | \bfigd_[A-Za-z0-9_-]{30,} | \bAGE-SECRET-KEY-1[A-Z0-9]{50,}
    | \bbedrock-api-key-[A-Za-z0-9+/=_-]{20,} | \bABSK[A-Za-z0-9+/=]{40,}
    | \bhvs\.[A-Za-z0-9_-]{20,} | \bdapi[a-f0-9]{32}\b | \bsq0[a-z]{3}-[A-Za-z0-9_-]{22,}
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
"""Secrets that are recognised by their form; a private key may be base64-encoded, as in Kubernetes."""

_WEB_TOKEN = re.compile(r"(?<![\w-])(?=[\w-]++\.[\w-]{8})([\w-]*?\b)eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?")
"""A JSON web token. It may begin inside a word; each word is read once, and only if a dot and a second part follow."""

_IN_ADDRESS = re.compile(
    r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"<>]{0,80}:)(?![\[<${*])([^\s/'\"<>]{1,200})(?=@[\w\[.-])", re.I
)
"""The password in the address of a server."""

_AFTER_WORD = re.compile(
    r"(\b(?:authorization\s*+[:=](?:\s*+[\"']?(?:bearer|basic|token|digest)|\s*+[\"']|(?=\s))|bearer)\s++)(?![\[<${*])"
    r"(?=\S*[\d+/=_.-])([A-Za-z0-9._~+/=-]{16,}+)",
    re.I,
)
"""The token after `bearer` or `authorization`. Possessive white space avoids backtracking."""
_HEADER = re.compile(
    r"(\bauthorization(?:\\{0,8}[\"'])?\s*+[:=]\s*+(?:\\{0,8}[\"'])?(?P<scheme>(?:bearer|basic|token)\s++)?)(?![\[<${*])"
    r"(?=[\w.~+/=-]{0,400}\d"
    r"|(?(scheme)[\w.~+/=-]{0,400}(?:[+/=_.-]\w|(?<=[\w.~+/=-]{6})(?:\\{0,8}[\"']|[ \t]{0,4}$))|(?!)))"
    r"([\w.~+/=-]{6,}+)",
    re.I | re.M,
)
"""A short value of the header `Authorization`; without a scheme it has a digit, with one it may end a line or text."""

_OPTION = re.compile(
    r"((?:^|\s)--?(?:password|passwd|token|secret|api-?key|access-?key|auth-?token|client-?secret)(?:\s+|=)[\"']?)"
    r"(?![\[<${*-])([^\s\"']{4,})",
    re.I,
)
_SMALL_WORD = re.compile(r"[a-z]{4,12}")
_IN_SENTENCE = re.compile(r"\s[a-z]{1,12}(?:[\s.,;]|$)")
"""The next word of a sentence."""
_USER_OPTION = re.compile(
    r"(\b(?:curl|https?)(?=\s)[^\n|;]{0,200}?\s(?:-u|--user|-a|--auth)[ =]?[\"']?[^\s:\"']{1,80}:)"
    r"(?![\[<${*])([^\s\"']+)"
)

_QUOTE = r"\\{0,8}[\"'`]"
_VALUE = (
    rf"(?:(?P<quote>{_QUOTE})(?P<quoted>[^\"'`\n]{{4,400}}?)(?P=quote)"
    r"|(?P<bare>(?:[^\s\"'`,;&<>(){}\[\]\\]|[,;&](?=[^\s\"'`,;&<>(){}\[\]\\])(?![\w.-]{1,40}\s?[=:])){4,400}))"
)
"""A value in quotes, or without. A separator ends the latter only before white space or the next name: `a=1&b=2`."""
_STRONG = r"password|passwd|passphrase|pwd|passcode|(?<=[a-z\d][_-])pass(?![a-z])"
_NAMED = (
    r"(?:api|access|secret|account|private|client|signing|encryption|master|shared[ _-]?access)[ _-]?key"
    r"(?:[ _-]?id|[_-](?:base|data))?"
    r"|(?:client[ _-]?)?secret|token|credential|(?<![A-Za-z])sig(?:nature)?"
)
_NAMED_VALUE = re.compile(
    rf"((?:(?P<strong>{_STRONG})|{_NAMED})"
    rf"(?P<link>(?:{_QUOTE})?\s*(?:=>|:=|[=:]"
    rf"|(?:\s(?:of|for|to|on)(?:\s[\w'.@-]{{1,40}}){{1,5}}?)?\s(?:is|was|to)\b:?|(?:,\s?|\s)(?={_QUOTE}))\s*)){_VALUE}",
    re.I,
)
"""A name such as `password`, and its value; quotes may be escaped, as in JSON inside of JSON."""
_PHRASE = re.compile(
    rf"(passphrase(?:{_QUOTE})?(?:\s{{0,4}}[=:]|\s(?:is|was)(?=\s{{0,4}}{_QUOTE}))\s{{0,4}}(?:{_QUOTE})?)"
    rf"([a-z]{{3,20}}(?:[ -][a-z]{{3,20}}){{3,11}}+)(?=[.!]?(?:{_QUOTE}|[ \t]{{0,4}}$))",
    re.I | re.M,
)
"""A passphrase of four or more words; a sentence has a shorter word such as `in`."""

_ANY = rf"(?:(?P<strong>{_STRONG})|{_NAMED})"
_OTHERS = r"(?:[\w-]{1,30}\s{0,4}=\s{0,4}\S{1,80}\s{1,40}){0,3}"
_PAIR = re.compile(
    rf"(\b\w{{0,20}}(?:name|key|variable)(?:{_QUOTE})?\s{{0,20}}[=:\s]\s{{0,20}}(?:{_QUOTE})?[\w.-]{{0,60}}?{_ANY}[\w.-]{{0,20}}"
    rf"(?:{_QUOTE})?[\s,;{{]{{1,40}}{_OTHERS}(?:{_QUOTE})?\w{{0,20}}(?:value|default)"
    rf"(?P<link>(?:{_QUOTE})?\s{{0,20}}[=:]\s{{0,20}})){_VALUE}",
    re.I,
)
"""A name and a value that have names of their own: `name: DB_PASSWORD`, `value: ...`."""
_ELEMENT = re.compile(
    rf"([<>][\w:.-]{{0,40}}?{_ANY}[\w:.-]{{0,20}}(?:\s[^<>]{{0,200}}|</\w{{1,20}}>\s{{0,40}}<\w{{1,20}})?(?P<link>>)\s{{0,40}})"
    r"(?P<quote>)(?P<quoted>)(?P<bare>[^<>\s]{4,400})(?=\s{0,40}</)",
    re.I,
)
"""An element with a name, or one after an element that is the name: `<name>db.password</name><value>...</value>`."""
_CELL = re.compile(
    rf"((?:[|│][ \t]*|^[ \t]*|(?<=[\"']))[`*]{{0,4}}[\w.-]{{0,40}}?{_ANY}[\w.-]{{0,20}}[`*]{{0,4}}"
    r"(?P<link>[ \t]*[|│][ \t]*|\t+|[ ]{2,})"
    r"[`*]{0,4})(?P<quote>)(?P<quoted>)(?P<bare>[^\s|│`*\"']{4,400})(?=[`*]{0,4}[ \t]*(?:[|│\"']|$))",
    re.I | re.M,
)
"""A name and its value in two cells of a table, or separated by a tab or by spaces at the start of a line."""
_COLUMN = re.compile(rf"^\W*(?:\w{{1,40}}[_ -])?(?:{_STRONG})\W*$", re.I)
_RULE = re.compile(r"^[\s|+:│┼-]{3,}$")
_SEPARATORS = "|│\t,;"
_PROGRAMS = tuple(
    (word, re.compile(rf"({before})([\"']?)(?![\[<${{*])([^\s\"']{{4,400}})", re.I | re.M))
    for word, before in (
        ("login", r"\blogin\s{1,40}\S{1,80}\s{1,40}password\s{1,40}"),
        ("sshpass", r"\bsshpass\s(?:[^\n|;]{0,80}?\s)?-p\s{0,4}"),
        ("mysql", r"\bmysql\w{0,20}\s(?:[^\n|;]{0,200}?\s)?-p"),
        ("mariadb", r"\bmariadb[\w-]{0,20}\s(?:[^\n|;]{0,200}?\s)?-p"),
        ("login", r"\b(?:docker|podman|nerdctl|skopeo|helm registry|oc|az)\s+login\s(?:[^\n|;]{0,200}?\s)?-p[ =]?"),
        ("redis-cli", r"\bredis-cli\s(?:[^\n|;]{0,200}?\s)?-a\s{1,4}"),
        ("ldap", r"\bldap\w{3,12}\s(?:[^\n|;]{0,200}?\s)?-w\s{1,4}"),
        ("smbclient", r"\bsmbclient\s(?:[^\n|;]{0,200}?\s)?-U\s{0,4}[^\s%]{1,80}%"),
        ("pass:", r"\s-pass(?:in|out)?\s{1,4}pass:"),
        ("env ", r"(?:^|(?<=[\"']))[ \t]*ENV\s{1,4}\w{0,40}(?:PASSWORD|SECRET|TOKEN|API_KEY)\s{1,4}"),
        ("auth", r"(?<![\w-])(?:_auth\s{0,4}=\s{0,4}|\"auth\"\s{0,4}:\s{0,4})(?=\"?[\w+/]{12,400}={0,2}(?:\"|$))"),
        (":5432:", r"(?:^|(?<=[\"']))[\w.*-]{1,80}:5432:[\w*-]{1,80}:[\w*-]{1,80}:(?=\S{0,400}\d)"),
    )
)
"""Arguments of programs that take an unnamed password, and lines of netrc, .pgpass and Docker's config."""
_BROKEN = re.compile(
    rf"{re.escape(REMOVED)}(?:\\?\n[ \t]*(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{{12,400}}(?=[\s\"'`,;)]|$))+"
)
"""The rest of a secret that a line break has split."""

_PLACEHOLDER = re.compile(
    r"^(?:[*x.•_-]+|\$.*|%.*|<.*|\{.*|\[.*|(?:str|string|bytes|int|bool|none|null|true|false|optional|required|missing|empty|invalid"
    r"|expired|hidden|redacted|changeme|undefined|unset|unknown|wrong|incorrect|example|secretstr|text|value|field"
    r"|your[-_ ].*|my[-_]?(?:password|token|secret|key)|password|token|secret|here|todo|tbd))[.!?]?$",
    re.I,
)
_CODE = re.compile(
    r"^[A-Za-z_][\w.]*[\[(]|^(?:os|self|env|config|settings|process|args|options|ctx|request|req|cfg)\.[\w.]+$"
)
_PLAIN_WORD = re.compile(r"^[A-Za-z]++(?:[-_][A-Za-z]++)*+[.!?]?$")
_NUMBER = re.compile(r"^[\d.,_]{1,9}[A-Za-z%]{0,2}$")
_LINE_END = re.compile(r"[ \t]*(?:[\"'`,;}\])]|$)", re.M)


_LOOKS = (
    *("private key", "eyj", "sk-", "_live_", "_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "xox", "xapp-", "akia", "asia", "abia"),
    *("acca", "aiza", "ya29.", "gocspx-", "hf_", "gsk_", "xai-", "r8_", "npm_", "pypi-", "dckr_pat_", "sg.", "key-"),
    *("shpat_", "shpca_", "shppa_", "shpss_", "dop_v1_", "whsec_", "lin_api_", "figd_", "age-secret", "hvs.", "dapi"),
    *("sq0", "bedrock-api-key-", "absk", "ls0tls1crudjti", "private-lines:"),
)
"""Every secret of a known form contains one of these; most texts contain none, and need no search."""
_ESCAPE = re.compile(r"\\([\"\\/nrt])")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_EDGES = "\"'\\{}[](),; \t"
_MOST_ESCAPED = 3
"""Levels of JSON inside JSON that are unescaped."""
_MOST_REPLACED = 100
"""Secrets that are replaced one by one; a text with more loses its escapes."""
SHORTEST = 6
"""Characters of the shortest secret that is masked everywhere in a text."""
_LONGEST_HEADER = 1_000
"""Characters of the header of a table."""
_WORDS = ("pass", "pwd", "key", "secret", "token", "credential", "sig")
"""Every name of a secret contains one of these."""


def redact(text: str) -> str:
    """Return the text with `[secret removed]` in place of secrets; without one, the same text.

    In JSON, an escape may hide the start of a secret, so the text is also searched without escapes.
    """
    text = plain = _redacted(text)
    for _ in range(_MOST_ESCAPED):
        before, plain = plain, _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), plain)
        if plain == before:
            break
        parts = (part.strip(_EDGES) for each in masked_in(plain) for part in each.split("\n"))
        secrets = {part for part in parts if len(part) >= SHORTEST}
        if len(secrets) > _MOST_REPLACED:
            text = plain = _redacted(plain)
        for secret in sorted(secrets, key=len, reverse=True)[:_MOST_REPLACED]:
            if any(map(str.isdigit, secret)):  # A plain word may occur elsewhere.
                text = text.replace(secret, REMOVED)
    return text


def masked_in(text: str) -> Iterator[str]:
    """Yield the secrets of a text."""
    at = 0
    *parts, last = _redacted(text).split(REMOVED)
    for part in filter(None, parts):  # Adjacent marks have nothing between them.
        end = text.find(part, at)
        if end < 0:
            return
        if end - at >= SHORTEST:
            yield text[at:end]
        at = end + len(part)
    if parts and text.endswith(last) and len(text) - len(last) - at >= SHORTEST:
        yield text[at : len(text) - len(last)]


def _redacted(text: str) -> str:
    low = text.lower()
    if any(map(low.__contains__, _LOOKS)):
        text = _BROKEN.sub(REMOVED, _WHOLE.sub(REMOVED, _WEB_TOKEN.sub(rf"\1{REMOVED}", text)))
    if "://" in low:
        text = _IN_ADDRESS.sub(rf"\1{REMOVED}", text)
    if "bearer" in low or "authorization" in low:
        text = _HEADER.sub(rf"\1{REMOVED}", _AFTER_WORD.sub(rf"\1{REMOVED}", text))
    if "curl" in low or "http" in low:
        text = _USER_OPTION.sub(rf"\1{REMOVED}", text)
    for word, program in _PROGRAMS:
        if word in low:
            text = program.sub(rf"\1\2{REMOVED}", text)
    if any(map(low.__contains__, _WORDS)):
        text = _columns(_OPTION.sub(_without_argument, _PHRASE.sub(rf"\1{REMOVED}", text)))
        for named in (_PAIR, _ELEMENT, _CELL, _NAMED_VALUE):
            text = named.sub(_without_value, text)
    return text


def _columns(text: str) -> str:
    """Return a text without the values of table columns for passwords."""
    lines, column, separator = text.split("\n"), None, ""
    for at, line in enumerate(lines):
        if column is not None and _RULE.match(line):
            continue
        cells = line.split(separator) if column is not None else []
        if column is not None and len(cells) > column[0] and len(cells) == column[1]:
            value = cells[column[0]].strip().strip("`*\"'")
            if _is_secret(value, strong=True, quoted=True, spoken=False):
                cells[column[0]] = cells[column[0]].replace(value, REMOVED)
                lines[at] = separator.join(cells)
            continue
        column = None
        if len(line) > _LONGEST_HEADER:
            continue
        for separator in (each for each in _SEPARATORS if each in line):
            heads = line.split(separator)
            own = [i for i, head in enumerate(heads) if _COLUMN.match(head)]
            if own and len(heads) > 1 and len(own) < len(heads) and all(len(head) < 60 for head in heads):
                column = own[0], len(heads)
                break
    return "\n".join(lines)


def _without_argument(match: re.Match[str]) -> str:
    """Return an option with its value removed; both unchanged in a sentence such as "the --token option names"."""
    rest = match.string[match.end() : match.end() + 40]
    if "pass" not in match[1].lower() and _SMALL_WORD.fullmatch(match[2]) and _IN_SENTENCE.match(rest):
        return match[0]  # A password may be a word; a token or a key is not.
    return f"{match[1]}{REMOVED}"


def _without_value(match: re.Match[str]) -> str:
    """Return a name with its value removed, or both unchanged if the value cannot be a secret."""
    quote, value = match["quote"] or "", match["quoted"] if match["quote"] else match["bare"]
    strong, spoken = bool(match["strong"]), not set(match["link"]) & set("=:")
    if not _is_secret(value, strong=strong, quoted=bool(quote), spoken=spoken):
        return match[0]
    shouted = strong and match["strong"].isupper() and match["link"] == "="
    if not quote and not shouted and _PLAIN_WORD.match(value) and not _LINE_END.match(match.string, match.end()):
        return match[0]  # The start of a sentence, not a password.
    if not quote and match.string[match.end() : match.end() + 1] in ("(", "["):
        return match[0]  # A call or an item: code that fetches the secret.
    return f"{match[1]}{quote}{REMOVED}{quote}"


def _is_secret(value: str, *, strong: bool, quoted: bool, spoken: bool) -> bool:
    """Return whether a value can be a secret, after a name such as `password` (strong) or `token`."""
    value = value.replace(REMOVED, "")  # A mark in the input must not protect a secret after it.
    if not value or _PLACEHOLDER.match(value) or _CODE.match(value):
        return False
    if quoted and any(map(str.isspace, value)):
        return strong and any(map(str.isdigit, value)) and len(value) <= 60
    if strong:
        if _PLAIN_WORD.match(value) and (spoken or not quoted):
            return not spoken and len(value) >= 8 and "_" not in value
        return len(value) >= 6 or (quoted and len(value) >= 4)
    if _NUMBER.match(value) or _PLAIN_WORD.match(value) or "/" in value[:1] or "://" in value:
        return False
    return len(value) >= 8 and any(map(str.isdigit, value)) and any(map(str.isalpha, value))
