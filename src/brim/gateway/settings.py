"""The settings of a gateway: from `brim.yaml`, the environment and the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from brim.errors import HIDDEN, InvalidValue
from brim.gateway.client.paths import EXPECTED, SAFE, is_pattern
from brim.hosts import is_loopback
from brim.settings.keys import SETTINGS

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

_SHARED = {
    "window": "window.size",
    "reserve": "window.reserve",
    "cap": "window.cap",
    "limit": "window.limit",
    "meter": "meter",
    "margin": "safety_margin",
    "pin": "history.pin",
    "stable": "session.stable",
    "capture": "session.capture",
    "store": "store.url",
}
"""Settings that other commands also use, by field."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_URL = "a URL such as https://api.openai.com/v1, without a user, a query or a fragment"


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestRule:
    """Settings for the requests that match; a condition of `None` matches every request."""

    model: str | None = None
    """A pattern such as `gpt-5*`; names are compared as in the catalogue, so `GPT-5` and `openai/gpt-5` match too."""
    key: str | None = None
    """The name of the environment variable with the client's key."""
    route: str | None = None
    policy: str | None = None
    window: int | None = None
    """The context window of the model, in tokens."""
    meter: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewaySettings:
    """The settings of one gateway; a reload creates a new object."""

    upstream: str
    """The base URL of the API, such as `http://127.0.0.1:8101/v1`."""
    upstream_messages: str | None = None
    """The base URL for Anthropic Messages, if it differs."""
    upstream_key: str | None = None
    """The name of the environment variable with the key for upstream. `None` passes on the client's key."""
    upstream_messages_key: str | None = None
    """The same for `upstream_messages`. Each key is only sent to its own upstream."""
    paths: tuple[str, ...] | None = None
    """Paths that are passed on, besides those that are fitted. `None` means all paths with the client's key, but only
    `paths.SAFE` with the gateway's own key.
    """
    keys: tuple[str, ...] = ()
    """Names of environment variables with the keys of clients; if empty, no key is required."""
    host: str = "127.0.0.1"
    port: int = 8088
    hosts: tuple[str, ...] = ()
    """Host names that clients may use, in addition to those of this machine."""
    default: RequestRule = field(default_factory=lambda: RequestRule(policy="fit"))
    """The settings for requests without a matching rule."""
    window_yields: bool = False
    """Whether the default window comes from a profile, so that the model's window takes precedence if it is smaller."""
    rules: tuple[RequestRule, ...] = ()
    reserve: int = 0
    cap: float | str | None = None
    limit: int | None = None
    margin: float | str = 0
    """The share of the budget that stays free if the count is an estimate."""
    pin: tuple[str, ...] = ()
    """Texts of messages that stay whole."""
    stable: bool = True
    capture: bool = False
    """Whether the store keeps the text of prompts that were cut, for replays."""
    most_bytes: int = 33_554_432
    most_connections: int = 1_000
    """The most open client connections of a process."""
    timeout: float = 600
    drain: float = 30
    memory: int = 67_108_864
    """Approximate limit in bytes on the memory for the conversations of a process."""
    store: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("upstream", "upstream_messages"):
            if (url := getattr(self, name)) is not None:
                _check_url(f"gateway.{name}", url)
        for variable in (*self.keys, self.upstream_key, self.upstream_messages_key):
            if variable is not None and not _VARIABLE.fullmatch(variable):
                # The value may be the key itself, set by mistake, so it is not repeated.
                raise InvalidValue("a key of the gateway", HIDDEN, "the NAME of an environment variable that holds it")
        if self.upstream_messages_key is not None and self.upstream_messages is None:
            raise InvalidValue("gateway.upstream_messages_key", HIDDEN, "null while gateway.upstream_messages is null")
        if self.upstream_key is not None and self.base("messages") != self.upstream and self.key("messages") is None:
            why = "upstream_key is only sent to gateway.upstream, and gateway.upstream_messages is another host"
            raise InvalidValue("gateway.upstream_messages_key", None, "the NAME of an environment variable", why)
        for path in self.paths or ():
            if not is_pattern(path):
                raise InvalidValue("gateway.paths", path, EXPECTED)
        if not self.keys and not is_loopback(self.host):
            expected = "a loopback address such as 127.0.0.1, unless gateway.keys names a key"
            raise InvalidValue("gateway.host", self.host, expected)

    def base(self, route: str) -> str:
        """Return the base URL for the requests of a route."""
        return self.upstream_messages if route == "messages" and self.upstream_messages else self.upstream

    def key(self, route: str) -> str | None:
        """Return the variable with the upstream key of a route; `None` if the client's key is passed on."""
        if self.base(route) == self.upstream:
            return self.upstream_key
        shared = self.upstream_key if root(self.base(route)) == root(self.upstream) else None
        return self.upstream_messages_key or shared

    def own_keys(self) -> dict[str, str]:
        """Return the upstream keys by the names of their variables.

        Raises:
            InvalidValue: a variable is not set.
        """
        names = (self.upstream_key, self.upstream_messages_key)
        return {name: secret(name) for name in names if name is not None}

    def reachable(self, route: str) -> tuple[str, ...]:
        """Return the paths that are passed on for a route, besides those that are fitted."""
        if self.paths is not None:
            return self.paths
        return ("*",) if self.key(route) is None else SAFE

    def secrets(self) -> dict[str, str]:
        """Return the keys of clients by the names of their variables.

        Raises:
            InvalidValue: a variable is not set.
        """
        return {name: secret(name) for name in self.keys}


def settings_of(settings: Resolved, options: Mapping[str, Any]) -> GatewaySettings:
    """Return the settings of a gateway; options of the command line override those of the project.

    Args:
        settings: the settings of the project.
        options: the options of the command line.

    Raises:
        InvalidValue: upstream is not set, or a value is invalid.
    """
    own = {key.removeprefix("gateway."): key for key in SETTINGS if key.startswith("gateway.")}
    chosen = {name: value for name, value in options.items() if value is not None}
    values = {name: chosen[name] if name in chosen else settings.value(key) for name, key in (own | _SHARED).items()}
    values |= chosen
    if values["upstream"] is None:
        expected = "the base URL of the API, such as http://host/v1"
        raise InvalidValue("gateway.upstream", None, expected, "set it in brim.yaml, or pass --upstream")
    values["window_yields"] = "window" not in chosen and settings["window.size"].origin == "profile"
    default = RequestRule(**{name: values.pop(name) for name in ("policy", "window", "meter")})
    rules = tuple(RequestRule(**rule) for rule in values.pop("rules"))
    lists = {name: None if values[name] is None else tuple(values[name]) for name in ("keys", "hosts", "paths", "pin")}
    return GatewaySettings(**{**values, **lists}, default=default, rules=rules)


def root(base: str) -> str:
    """Return the scheme and the host of a URL."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}"


def secret(name: str) -> str:
    """Return the key that an environment variable holds.

    Raises:
        InvalidValue: the variable is not set, or its value is not a valid key.
    """
    key = os.environ.get(name, "").strip()
    if not key:
        raise InvalidValue("a key of the gateway", name, "the name of an environment variable that is set")
    if not (key.isascii() and key.isprintable()):
        raise InvalidValue(f"the key in {name}", "its value", "printable ASCII characters on one line")
    return key


def _check_url(place: str, url: str) -> None:
    """Check the base URL of an upstream. Errors do not repeat it, since it may contain a password.

    Raises:
        InvalidValue: it is invalid.
    """
    if "://" not in url:
        raise InvalidValue(place, HIDDEN, _URL, "it must begin with http:// or https://")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or "@" in parts.netloc or parts.query or parts.fragment or not (url.isascii() and url.isprintable()):
        raise InvalidValue(place, HIDDEN, _URL)
