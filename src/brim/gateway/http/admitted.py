"""Which requests are admitted, by host, origin, path and key, before anything else is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from secrets import token_hex
from time import perf_counter
from unicodedata import normalize
from urllib.parse import parse_qsl, unquote_to_bytes

from brim.gateway.http.connection import Scope
from brim.gateway.http.problem import HttpProblem
from brim.gateway.http.protocol import MOST_HEAD
from brim.hosts import Access, Secrets, bearer

OPEN = ("/healthz", "/readyz")
"""Paths that need no key: they only report whether the process is healthy."""
_PATH = re.compile(rb"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*+")
_AMBIGUOUS = re.compile(r"//|[;\\\x00-\x20\x7f]|(?:^|/)\.{1,2}(?:/|$)")
"""Paths that servers interpret differently; some drop everything after a semicolon."""
_MOST_PATH = 4_096
_DECODINGS = 3
"""How often a path is decoded; the last time must not change it."""
ONCE = ("x-api-key", "x-goog-api-key", "content-encoding")
"""Further headers that are ambiguous if repeated."""
KEY_HEADERS = (
    *("authorization", "x-api-key", "x-goog-api-key"),
    *("api-key", "ocp-apim-subscription-key", "x-auth-token", "x-access-token", "x-api-token"),
)
"""Headers that contain keys. The first three may contain one of the gateway's."""
KEY_FIELDS = ("key", "api_key", "api-key", "apikey", "access_token", "token", "subscription-key")
"""Query fields that contain keys for some servers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admitted:
    """An admitted request, of which only the head was read."""

    id: str
    method: str
    path: str
    """The path that chooses the route, without a slash at its end."""
    target: str
    """The path as it was received, to be passed on."""
    query: str
    headers: list[tuple[str, str]] = field(repr=False)
    """All headers, with names in lower case."""
    first: dict[str, str] = field(repr=False)
    """The first header of each name."""
    key: str = ""
    """The name of the client's key; empty if no key is required."""
    key_headers: frozenset[str] = frozenset()
    """The names of the headers that contain a key of the gateway."""
    started: float = field(default_factory=perf_counter)

    def header(self, name: str) -> str | None:
        """Return the first header of a name; `None` if there is none."""
        return self.first.get(name)

    @property
    def shown(self) -> list[str]:
        """All keys that the client sends."""
        return self._keys(self.headers)

    @property
    def credentials(self) -> list[str]:
        """The keys that the client sends, without those of the gateway; they identify it."""
        return self._keys(self.forwarded)

    @property
    def forwarded(self) -> list[tuple[str, str]]:
        """The headers without keys of the gateway."""
        own = self.key_headers
        return [pair for pair in self.headers if pair[0] not in own] if own else self.headers

    def _keys(self, headers: list[tuple[str, str]]) -> list[str]:
        found = [value.partition(" ")[2] or value for name, value in headers if name in KEY_HEADERS]
        fields = parse_qsl(self.query) if self.query else ()
        return found + [value for name, value in fields if name.lower() in KEY_FIELDS]


def admit(scope: Scope, access: Access, keys: Secrets) -> Admitted:
    """Return the request of an ASGI scope.

    Raises:
        HttpProblem: the request is not admitted.
    """
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    if (refusal := access.refusal(headers)) is not None:
        raise HttpProblem(refusal.status, refusal.problem + _ADVICE.get(refusal.status, ""))
    raw = scope.get("raw_path") or scope["path"].encode()
    first = dict(reversed(headers))
    if len(raw) + sum(len(name) + len(value) + 4 for name, value in headers) > MOST_HEAD:
        raise HttpProblem(431, f"the headers are longer than {MOST_HEAD:,} bytes", headers={"connection": "close"})
    if {"content-length", "transfer-encoding"} <= first.keys():
        raise HttpProblem(400, "the length of the body is stated in two ways", headers={"connection": "close"})
    if len(raw) > _MOST_PATH or not _is_plain(raw):
        raise HttpProblem(
            400,
            f"the path must be UTF-8 of at most {_MOST_PATH:,} bytes, encoded at most {_DECODINGS - 1} times, "
            "without dot segments, empty segments, semicolons, backslashes, control characters and full-width letters",
        )
    path = "/" + scope["path"].strip("/")
    key, key_headers = _key_of(headers, keys) if keys and path not in OPEN else ("", frozenset[str]())
    return Admitted(
        id=f"brim-{token_hex(16)}",
        method=scope["method"],
        path=path,
        target=raw.decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        first=first,
        key=key,
        key_headers=key_headers,
    )


_ADVICE = {421: "; gateway.hosts lists further names"}


@lru_cache(maxsize=256)
def _is_plain(path: bytes) -> bool:
    """Return whether all servers interpret a path alike, however they decode and normalize it."""
    if not _PATH.fullmatch(path):
        return False
    for _ in range(_DECODINGS):
        try:
            text = path.decode()
        except UnicodeDecodeError:  # Such as the overlong %c0%ae, which some servers read as a dot.
            return False
        if _AMBIGUOUS.search(text) or any(map(_is_like_ascii, text)):
            return False
        decoded = unquote_to_bytes(path)
        if decoded == path:
            return True
        path = decoded
    return False


def _is_like_ascii(letter: str) -> bool:
    """Return whether normalization turns a character into ASCII, like a full-width letter or dot."""
    return not letter.isascii() and any(map(str.isascii, normalize("NFKC", letter)))


def _key_of(headers: list[tuple[str, str]], keys: Secrets) -> tuple[str, frozenset[str]]:
    """Return the name of the gateway key that a client sends, and all headers that contain one.

    Raises:
        HttpProblem: it sends none.
    """
    found: dict[str, str] = {}
    for name, value in headers:
        token = bearer(value)
        if (key := keys.name_of(value if token is None else token)) is not None:
            found[name] = key
    if bearer(dict(headers).get("authorization")) is None:
        found.pop("authorization", None)
    accepted = found.get("x-api-key") or found.get("authorization") or found.get("x-goog-api-key")
    if accepted is None:
        message = "a key of this gateway is required, as a Bearer token, as x-api-key or as x-goog-api-key"
        raise HttpProblem(401, message, "invalid_api_key")
    return accepted, frozenset(found)
