"""`brim gateway`: between any client and any endpoint, so that every request fits."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brim.cli import options
from brim.cli.output import console, emit
from brim.errors import SourceError
from brim.settings import load_config

if TYPE_CHECKING:
    from brim.gateway.settings import GatewaySettings


def run(
    *,
    upstream: Annotated[
        str | None, typer.Option("--upstream", metavar="URL", help="Where requests go, such as http://host/v1.")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="The address to listen on; 127.0.0.1 if not set.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=0, max=65_535, help="The port to listen on; 8088 if not set.")
    ] = None,
    window: Annotated[
        int | None, typer.Option("--window", "-w", min=1, help="Tokens that the model holds, where nobody knows.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", help="What is done with a long request: fit, warn, refuse or pass.")
    ] = None,
    meter: options.Meter = None,
    store: Annotated[
        str | None, typer.Option("--store", metavar="URL", help="Where sessions are kept, such as sqlite:///brim.db.")
    ] = None,
    config: Annotated[
        str | None, typer.Option("--config", "-c", metavar="BRIM.yaml", help="The settings of the project.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Look at the settings and at upstream, and stop.")] = False,
    json: options.Json = False,
) -> None:
    """Make every request to a model fit, for clients in any language.

    Point OPENAI_BASE_URL or ANTHROPIC_BASE_URL at it and change nothing else.

    Example: brim gateway --upstream http://127.0.0.1:8101/v1 --port 8088 --window 4096
    """
    given = {
        "upstream": upstream,
        "host": host,
        "port": port,
        "window": window,
        "policy": policy,
        "meter": meter,
        "store": store,
    }
    try:
        from brim.gateway import serve
    except ImportError as error:
        raise SourceError("brim gateway", "it needs more than brim itself: pip install 'brim[gateway]'") from error

    def read() -> GatewaySettings:
        return _settings(config, given)

    settings = read()
    if not check:
        serve.run(settings, read, lambda told: _tell(told, json=json))
        return
    _show(serve.checked(settings), json=json)


def _show(found: list[tuple[str, bool, str]], *, json: bool) -> None:
    """Print what was looked at; end with 1 where something is not well."""
    well = all(fine for _, fine, _ in found)
    if json:
        emit({"ok": well, "checks": [{"name": name, "ok": fine, "told": told} for name, fine, told in found]})
    else:
        out = console()
        for name, fine, told in found:
            out.print(f"{'ok' if fine else 'NO':<4}{name}: {told}", markup=False, highlight=False)
    if not well:
        raise typer.Exit(1)


def _settings(path: str | None, given: dict[str, Any]) -> GatewaySettings:
    """Return what holds: the command line above the environment and the files."""
    from brim.errors import InvalidValue
    from brim.gateway.settings import settings_of
    from brim.settings.keys import setting_of

    policy = setting_of("gateway.policy")
    if given["policy"] is not None and policy is not None and not policy.takes(given["policy"]):
        raise InvalidValue("--policy", given["policy"], policy.expected)
    return settings_of(load_config(path).resolve(), given)


def _tell(told: str, *, json: bool) -> None:
    if json:
        address, _, upstream = told.partition(" -> ")
        print(dumps({"address": address, "upstream": upstream}), flush=True)
    else:
        print(f"brim gateway: {told}", flush=True)
