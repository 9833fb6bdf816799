"""What the gateway was told: by `brim.yaml`, the environment and the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from brim.errors import InvalidValue
from brim.gateway.policy import RequestRule, rules_of

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewaySettings:
    """Everything that the gateway goes by; a reload makes another one."""

    upstream: str
    """Where the API of the model begins, such as `http://127.0.0.1:8101/v1`."""
    upstream_messages: str | None = None
    """Where Anthropic's messages go, if not there."""
    upstream_key: str | None = None
    """The name of the environment variable with the key for upstream; without it, the client's own is passed on."""
    keys: tuple[str, ...] = ()
    """Names of environment variables with the keys of clients; without any, everybody may come in."""
    host: str = "127.0.0.1"
    port: int = 8088
    hosts: tuple[str, ...] = ()
    """Host names by which clients may call, beside those of this machine."""
    usual: RequestRule = field(default_factory=lambda: RequestRule(policy="fit"))
    """What holds where no rule does."""
    rules: tuple[RequestRule, ...] = ()
    on_fault: str = "pass"
    """What becomes of a request after a fault of brim's: `pass` on as it came, or `refuse` with 503."""
    client_policy: bool = False
    """Whether a client may choose its policy by the header `x-brim-policy`."""
    reserve: int = 0
    cap: float | str | None = None
    limit: int | None = None
    margin: float | str = 0
    """The share of the budget that is left free where counts are estimates."""
    stable: bool = True
    most_bytes: int = 33_554_432
    most_values: int = 250_000
    keepalive: float = 15
    timeout: float = 600
    drain: float = 30
    workers: int = 2
    sessions: int = 500
    store: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("upstream", "upstream_messages"):
            value = getattr(self, name)
            if value is not None:
                parted(f"gateway.{name}", value)
        for name in (*self.keys, *([self.upstream_key] if self.upstream_key else [])):
            if not _NAME.fullmatch(name):  # Whoever gave a key itself by mistake does not want to see it in a log.
                raise InvalidValue(
                    "a key of the gateway", "what was given", "the NAME of an environment variable that holds it"
                )
        if not self.keys and not self.is_loopback:
            raise InvalidValue(
                "gateway.host",
                self.host,
                "an address of this machine alone, such as 127.0.0.1, as long as gateway.keys names no key",
            )

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine can reach it."""
        return self.host == "localhost" or (_is_ip(self.host) and ip_address(self.host).is_loopback)

    def base(self, route: str) -> str:
        """Return where requests of a route go."""
        return self.upstream_messages if route == "messages" and self.upstream_messages else self.upstream

    def secrets(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the keys of clients by the names of their variables.

        Raises:
            InvalidValue: one is not set.
        """
        return {name: secret(name, environ) for name in self.keys}


def settings_of(settings: Resolved, given: Mapping[str, Any]) -> GatewaySettings:
    """Return what the settings of a project and the command line make; the command line counts more.

    Raises:
        InvalidValue: there is no upstream, or a value that cannot be.
    """
    told = {name: settings.value(f"gateway.{name}") for name in _GATEWAY}
    told |= {name: settings.value(key) for name, key in _OTHERS.items()}
    told |= {name: value for name, value in given.items() if value is not None}
    usual = RequestRule(
        policy=told.pop("policy"), window=told.pop("window"), meter=told.pop("meter"), recall=told.pop("recall")
    )
    if told["upstream"] is None:
        raise InvalidValue("gateway.upstream", None, "set, or --upstream: where requests go, such as http://host/v1")
    for name in ("keys", "hosts"):
        told[name] = tuple(told[name])
    return GatewaySettings(**{**told, "usual": usual, "rules": rules_of(told["rules"])})


_GATEWAY = (
    "upstream",
    "upstream_messages",
    "upstream_key",
    "keys",
    "host",
    "port",
    "hosts",
    "policy",
    "rules",
    "recall",
    "on_fault",
    "client_policy",
    "most_bytes",
    "most_values",
    "keepalive",
    "timeout",
    "drain",
    "workers",
    "sessions",
)
_OTHERS = {
    "window": "window.size",
    "reserve": "window.reserve",
    "cap": "window.cap",
    "limit": "window.limit",
    "meter": "meter",
    "margin": "safety_margin",
    "stable": "session.stable",
    "store": "store.url",
}
"""Settings that the gateway shares with all else."""


def secret(name: str, environ: Mapping[str, str] | None = None) -> str:
    """Return the key that an environment variable holds.

    Raises:
        InvalidValue: it is not set, or is no key.
    """
    found = (os.environ if environ is None else environ).get(name, "").strip()
    if not found:
        raise InvalidValue("a key of the gateway", name, "the name of an environment variable that is set")
    if not (found.isascii() and found.isprintable()):
        raise InvalidValue(f"the key in {name}", "what it holds", "plain characters on one line")
    return found


def parted(place: str, url: str) -> SplitResult:
    """Return the parts of an address that a request may go to.

    Raises:
        InvalidValue: it is none.
    """
    wanted = "an address such as https://api.openai.com/v1, without a user, a question mark or a number sign"
    try:
        parts = urlsplit(url)
        fine = parts.port is None or parts.port > 0
    except ValueError:
        raise InvalidValue(place, "what was given", wanted) from None
    if not fine or parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise InvalidValue(place, "what was given", wanted)  # A user in an address is a secret.
    if parts.query or parts.fragment or not url.isascii() or not url.isprintable():
        raise InvalidValue(place, "what was given", wanted)
    return parts


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
