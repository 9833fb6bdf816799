"""`brim loop`: a loop with sub-ticks for programs in any language, by JSON lines."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer import Option

from brim.cli import options
from brim.cli.output import mute_settings
from brim.cli.stores import HERE, store_url


def run(
    *,
    id: Annotated[str, Option("--id", metavar="NAME", help="The name of the loop; a stored loop continues.")],
    goal: Annotated[str | None, Option("--goal", metavar="TEXT", help="The goal; required for a new loop.")] = None,
    model: options.Model = None,
    window: Annotated[int | None, Option("--window", metavar="N", min=1, help="The context window, in tokens.")] = None,
    system: Annotated[str | None, Option("--system", metavar="TEXT", help="The system prompt of every tick.")] = None,
    max_iterations: Annotated[
        int | None, Option("--max-iterations", metavar="N", min=1, help="The largest number of iterations.")
    ] = None,
    max_sub_ticks: Annotated[
        int | None,
        Option("--max-sub-ticks", metavar="N", min=0, help="The largest number of sub-ticks in an iteration."),
    ] = None,
    store: options.Store = None,
    config: options.Config = None,
    profile: options.Profile = None,
) -> None:
    """Run a loop whose steps come from another program, as JSON lines.

    Each line of output is an event: a tick (messages, iteration, sub_tick, state, results, used, budget,
    continuation), a notice, or the outcome at the end. After each tick, one line is read from standard input: a step
    (messages, end, result, state, usage, cost), or an error with the status and the message of the provider. After an
    overflow error, the tick is repeated with a shorter prompt. Every step is stored before the next tick, so the same
    command continues a loop that was killed. `brim status --json` reads the same store.

    Example: brim loop --id explore --goal "Find the bug." --model gpt-5 --store sqlite:///brim.db
    """
    from brim.errors import BrimError, UnknownName
    from brim.sessions.loop.loop import Loop
    from brim.sessions.loop.peer_steps import PeerGone, PeerSteps
    from brim.settings import load_config
    from brim.store import open_store

    mute_settings()
    peer = PeerSteps(sys.stdin, sys.stdout)
    flags = {name: value for name, value in (("model", model), ("window.size", window)) if value is not None}
    limits: dict[str, Any] = {"max_iterations": max_iterations, "max_sub_ticks": max_sub_ticks}
    limits = {name: value for name, value in limits.items() if value is not None}
    own: dict[str, Any] = {"system": system, "on_notice": peer.notice}
    with open_store(store_url(store, config) or HERE) as opened:
        try:
            loop = Loop.resume(id, act=peer, store=opened, **own, **limits)
        except UnknownName:
            if goal is None:
                raise BrimError(f"--goal is required: the store has no loop {id!r} to continue") from None
            settings = load_config(config, flags=flags).resolve(profile=profile)
            loop = settings.loop(goal, peer, store=opened, id=id, **own, **limits)
        try:
            peer.outcome(loop.run())
        except PeerGone as error:
            print(f"brim: {error}", file=sys.stderr)
            raise typer.Exit(1) from error
