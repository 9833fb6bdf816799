"""The checks of a store: estimates that waste room, sessions that compact too often, gateways that cut too often."""

from __future__ import annotations

from collections.abc import Iterator

from brim.doctor.finding import Finding, changes
from brim.sessions.overview import Overview, SessionUse
from brim.settings.resolved import Resolved

_WASTE = 1.25
"""How many times the provider's count an estimate may be before it is a finding."""
_ENOUGH = 5
"""Prompts of a session that show what is usual."""
_OFTEN = 3
"""Prompts for one compaction, at the least."""
_CUTS = 10
"""Cuts of one conversation from which on its window is too small for its work."""


def store_findings(settings: Resolved, found: Overview) -> Iterator[Finding]:
    """Yield the findings about the sessions of a store and the conversations of its gateway."""
    for row in found.recent:
        if row.status["prompts"] >= _ENOUGH:
            yield from _session(settings, row)
    for use in found.gateway:
        if use.cuts >= _CUTS:
            window = f", in a window of {use.window:,}" if use.window else ""
            yield Finding(
                check="gateway cuts often",
                level="advice",
                seen=f"conversation {use.id} with {use.model or 'an unnamed model'} was cut {use.cuts:,} times{window}",
                do="Use a model with a larger window, offer fewer tools, or let the client compact (gateway.policy:"
                " refuse).",
            )


def _session(settings: Resolved, row: SessionUse) -> Iterator[Finding]:
    status, cap = row.status, settings.value("window.cap")
    reported, used = status.get("reported"), status["used"]
    if not status["exact"] and reported and used >= _WASTE * reported:
        yield Finding(
            check="estimate wastes room",
            level="advice",
            seen=f"session {row.id} counts {used:,} tokens for {status['model'] or 'its model'}, and the provider"
            f" reported {reported:,}",
            do="Pass the reported usage to record_usage after each call, or count exactly: name the vocabulary of the"
            " model in brim.models.yaml, or install an extra with it (open, claude).",
        )
    if status["compactions"] > 1 and status["compactions"] * _OFTEN > status["prompts"]:
        yield Finding(
            check="compacts often",
            level="advice",
            seen=f"session {row.id} was compacted {status['compactions']:,} times in {status['prompts']:,} prompts, at"
            f" a budget of {status['budget']:,} of a window of {status['window']:,} tokens",
            do="Let prompts use more of the window, or pass shorter tool results."
            if cap is not None
            else "Use a model with a larger window, or pass shorter tool results and fewer tools.",
            changes=changes(settings, "window.cap", "null") if cap is not None else (),
        )
