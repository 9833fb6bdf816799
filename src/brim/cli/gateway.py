"""`brim gateway`: a proxy in front of any endpoint that makes every request fit."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from brim.cli import options
from brim.cli.output import announce, masked
from brim.errors import InvalidValue, SourceError
from brim.settings import load_config

if TYPE_CHECKING:
    from brim.gateway.settings import GatewaySettings

_Upstream = Annotated[
    str | None, Option("--upstream", metavar="URL", help="The URL of the model server, such as http://host/v1.")
]
_Window = Annotated[
    int | None,
    Option("--window", "-w", metavar="N", min=1, help="The window of every model, in place of the catalogue's."),
]
_Policy = Annotated[
    str | None,
    Option("--policy", metavar="NAME", help="What happens to a long request: fit, warn, refuse or pass."),
]
_Store = Annotated[
    str | None, Option("--store", metavar="URL", help="The store for conversations, such as sqlite:///brim.db.")
]


def run(
    *,
    upstream: _Upstream = None,
    host: Annotated[
        str | None, Option("--host", metavar="ADDRESS", help="The address to listen on; default: 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None,
        Option("--port", "-p", metavar="PORT", min=0, max=65_535, help="The port to listen on; default: 8088."),
    ] = None,
    window: _Window = None,
    policy: _Policy = None,
    meter: options.Meter = None,
    store: _Store = None,
    config: options.Config = None,
    check: Annotated[bool, Option("--check", help="Check the settings and the model server, and exit.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print only the address and errors.")] = False,
    json: options.Json = False,
) -> None:
    """Make every request to a model fit, for clients in any language.

    Set OPENAI_BASE_URL or ANTHROPIC_BASE_URL of a client to the gateway's address; nothing else changes. The gateway
    prints a line for each cut, refused request, retry and learned window, and a summary at the end; with --json, each
    is an object.

    Example: brim gateway --upstream http://127.0.0.1:8101/v1 --port 8088 --window 4096
    """
    flags = {"upstream": upstream, "host": host, "port": port, "window": window}
    flags |= {"policy": policy, "meter": meter, "store": store}
    try:
        from brim.gateway.http import server
        from brim.gateway.report.lines import ActivityLines
    except ImportError as error:
        raise SourceError("brim gateway", f"{error}; install it: pip install 'brim[gateway]'") from error

    def read() -> GatewaySettings:
        return _settings(config, flags)

    def started(line: str) -> None:
        line = masked(line)
        address, _, endpoint = line.partition(" -> ")
        announce("gateway", line, {"address": address, "upstream": endpoint}, json=json)

    settings = read()
    if check:
        server.check(settings)
        announce("gateway", "the settings, the keys, the store and upstream can be used", {"ok": True}, json=json)
        return
    if quiet:
        logging.getLogger("brim").setLevel(logging.ERROR)
    server.run(settings, read, started, None if quiet else ActivityLines(sys.stdout, as_json=json))


def _settings(path: str | None, flags: dict[str, Any]) -> GatewaySettings:
    """Return the settings; options override the environment and the files."""
    from brim.gateway.settings import settings_of
    from brim.settings.keys import setting_of

    policy = setting_of("gateway.policy")
    if flags["policy"] is not None and policy is not None and not policy.takes(flags["policy"]):
        raise InvalidValue("--policy", flags["policy"], policy.expected)
    return settings_of(load_config(path).resolve(), flags)
