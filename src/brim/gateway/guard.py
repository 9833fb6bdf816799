"""Which requests are admitted: by host, origin, path and key, before anything else is done with a request."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from secrets import token_hex
from time import perf_counter
from unicodedata import normalize
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

from brim.gateway.connection import Scope
from brim.gateway.problem import HttpProblem
from brim.gateway.settings import GatewaySettings
from brim.hosts import LOOPBACK, allowed_hosts, host_name, is_ip, is_loopback

OPEN = ("/healthz", "/readyz")
"""Paths that need no key: they only show whether the process is well."""
_PATH = re.compile(rb"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*+")
_AMBIGUOUS = re.compile(r"//|\\|[\x00-\x20\x7f]|(?:^|/)\.{1,2}(?:;[^/]*)?(?:/|$)")
"""What servers read in different ways; some drop what follows a semicolon before they look for dot segments."""
_MOST_PATH = 4_096
_DECODINGS = 3
"""How often a path may be encoded."""
_ONCE = ("host", "authorization", "x-api-key", "x-goog-api-key", "content-length", "content-encoding")
"""Headers that are ambiguous if repeated."""
KEY_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
"""Headers that hold keys. All but `api-key` may hold one of the gateway."""
KEY_FIELDS = ("key", "api_key", "api-key", "apikey", "access_token", "token", "subscription-key")
"""Fields of a query that hold keys for some servers."""


@dataclass(kw_only=True, slots=True)
class IncomingRequest:
    """An admitted request."""

    id: str
    method: str
    path: str
    """The path that chooses the route: without a slash at its end."""
    target: str
    """The path as it came, for what is passed on."""
    query: str
    headers: list[tuple[str, str]] = field(repr=False)
    """All headers, with names in lower case."""
    _first: dict[str, str] = field(init=False, repr=False)
    """The first header of each name."""
    key: str = ""
    """The name of the client's key; empty if no key is required."""
    model: str = ""
    """The name of the model as it may be shown; empty until the body was read, or if it names none."""
    foreign: list[str] = field(default_factory=list, repr=False)
    """Keys of other clients and of the gateway that stand in the names that it sends."""
    key_headers: frozenset[str] = frozenset()
    """The names of the headers that hold a key of the gateway."""
    started: float = field(default_factory=perf_counter)
    raw: bytes = field(default=b"", repr=False)
    """The body as it came."""
    body: bytes = field(default=b"", repr=False)
    """The body, decompressed."""

    def __post_init__(self) -> None:
        self._first = dict(reversed(self.headers))

    @property
    def shown(self) -> list[str]:
        """The keys that it sends, including those for the provider, and those in the names that it sends."""
        found = [value for name, value in self.headers if name in KEY_HEADERS]
        fields = parse_qsl(self.query) if self.query else ()
        told = [value for name, value in fields if name.lower() in KEY_FIELDS]
        return [*(value.partition(" ")[2] or value for value in found), *told, *self.foreign]

    @property
    def credentials(self) -> list[str]:
        """The keys that it sends beside those of the gateway, which tell its client from others."""
        headers = [value.partition(" ")[2] or value for name, value in self.forwarded if name in KEY_HEADERS]
        return headers + [value for name, value in parse_qsl(self.query) if name.lower() in KEY_FIELDS]

    @property
    def forwarded(self) -> list[tuple[str, str]]:
        """Its headers without keys of the gateway."""
        own = self.key_headers
        return [pair for pair in self.headers if pair[0] not in own] if own else self.headers

    @property
    def repeats(self) -> bool:
        """Whether any header is repeated."""
        return len(self._first) < len(self.headers)

    def header(self, name: str) -> str | None:
        """Return the first header of a name; `None` if there is none."""
        return self._first.get(name)


class ClientKeys:
    """The keys of clients, compared in constant time."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._digests = {name: sha256(secret.encode()).digest() for name, secret in secrets.items()}

    def __bool__(self) -> bool:
        return bool(self._digests)

    def name_of(self, shown: str) -> str | None:
        """Return the name of a key; every known key is compared, so that the time tells nothing."""
        digest, found = sha256(shown.encode("utf-8", "surrogateescape")).digest(), None
        for name, known in self._digests.items():
            if hmac.compare_digest(digest, known):
                found = name
        return found


def admit(scope: Scope, settings: GatewaySettings, keys: ClientKeys) -> IncomingRequest:
    """Return the request of a scope.

    Raises:
        HttpProblem: it is not admitted.
    """
    headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    raw = scope.get("raw_path") or scope["path"].encode()
    incoming = IncomingRequest(
        id=f"brim-{token_hex(16)}",
        method=scope["method"],
        path="/" + scope["path"].strip("/"),
        target=raw.decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
    )
    if incoming.repeats:
        names = [name for name, _ in headers]
        for name in _ONCE:
            if names.count(name) > 1:
                raise HttpProblem(400, f"the header {name} must not be repeated")
    _check_host(incoming, settings)
    _check_origin(incoming, settings)
    if len(raw) > _MOST_PATH or not _is_plain(raw):
        raise HttpProblem(
            400,
            f"the path must be UTF-8 of at most {_MOST_PATH:,} bytes, encoded at most {_DECODINGS - 1} times, "
            "without dot segments, empty segments, backslashes and control characters",
        )
    if keys and incoming.path not in OPEN:
        incoming.key = _key_of(incoming, keys)
    return incoming


@lru_cache(maxsize=256)
def _is_plain(path: bytes) -> bool:
    """Return whether a path has only one meaning, however often it is decoded, and whatever is normalized."""
    if not _PATH.fullmatch(path):
        return False
    for _ in range(_DECODINGS):
        try:
            text = path.decode()
        except UnicodeDecodeError:  # An overlong form, for one: %c0%ae is a dot for some servers.
            return False
        if _AMBIGUOUS.search(text) or _AMBIGUOUS.search(normalize("NFKC", text)):
            return False
        decoded = unquote_to_bytes(path)
        if decoded == path:
            return True
        path = decoded
    return False


def _check_host(incoming: IncomingRequest, settings: GatewaySettings) -> None:
    """Check that the request names this gateway: a name of a foreign page may have been rebound to it."""
    name = host_name(incoming.header("host") or "")
    if name in allowed_hosts(settings.host, settings.hosts) or (is_ip(name) and not is_loopback(settings.host)):
        return
    raise HttpProblem(421, "the Host header does not name this gateway; gateway.hosts lists further names")


def _check_origin(incoming: IncomingRequest, settings: GatewaySettings) -> None:
    """Check that the request does not come from a page of another site."""
    origin = incoming.header("origin")
    if origin is None:
        allowed = incoming.header("sec-fetch-site") not in ("cross-site", "same-site")
    else:
        try:
            name = (urlsplit(origin).hostname or "").lower()
        except ValueError:
            name = ""
        allowed = name in {*LOOPBACK, *(each.lower() for each in settings.hosts)}
    if not allowed:
        raise HttpProblem(403, "pages of other sites may not call the gateway")


def _key_of(incoming: IncomingRequest, keys: ClientKeys) -> str:
    """Return the name of the gateway's key that a client shows, and note which headers hold one.

    Raises:
        HttpProblem: it shows none.
    """
    shown = ((name, keys.name_of(_token(name, value))) for name, value in incoming.headers if name in KEY_HEADERS)
    found = {name: key for name, key in shown if key is not None}
    incoming.key_headers = frozenset(found)
    accepted = found.get("x-api-key") or found.get("authorization") or found.get("x-goog-api-key")
    if accepted is None:
        message = "a key of this gateway is required, as a Bearer token, as x-api-key or as x-goog-api-key"
        raise HttpProblem(401, message, "invalid_api_key")
    return accepted


def _token(name: str, value: str) -> str:
    """Return the key in a header that holds keys; empty if there is none."""
    if name != "authorization":
        return value
    return value[7:].strip() if value[:7].lower() == "bearer " else ""
