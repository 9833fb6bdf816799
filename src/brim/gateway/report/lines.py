"""The events of a gateway as lines for a terminal or a log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from brim.amounts import counted
from brim.gateway.report.activity import SOURCES
from brim.observe import Event

_LONGEST, _END = 24, 12
"""Characters of the longest name of a conversation that is printed whole, and of the end of a longer one."""
_REFUSALS = {
    "key": "its key is missing or invalid",
    "origin": "it came from a page of another site",
    "path": "gateway.paths does not allow its path",
    "method": "its path only accepts POST",
    "encoding": "its content encoding is not supported",
    "upgrade": "it is a WebSocket request",
    "invalid": "it is invalid; the error that the client got says why",
    "host": "its Host header does not name this gateway",
    "size": "its body is too large",
    "slow": "its body did not arrive in time",
    "upstream": "upstream cannot be reached, or closed the connection",
    "timeout": "upstream did not answer in time",
    "broken": "upstream broke off its answer",
    "fault": "the gateway had an internal error",
}
"""Explanations of the reasons for refusals and errors; other reasons are printed unchanged."""


class ActivityLines:
    """Writes the events of a gateway as lines, for people or as JSON."""

    def __init__(self, stream: IO[str], *, as_json: bool = False) -> None:
        self._stream = stream
        self._as_json = as_json

    def observe(self, event: Event) -> None:
        """Write an event, if it has a line."""
        if event.name in _TEXTS:
            self._write(json.dumps(event.to_dict()) if self._as_json else line_of(event))

    def end(self, sums: Mapping[str, Any]) -> None:
        """Write the summary of the gateway."""
        last = {"event": "summary", **sums}
        self._write(json.dumps(last) if self._as_json else f"brim gateway: {summary_of(sums)}")

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # If the reader is gone, the gateway continues without lines.
            self._stream.write(line + "\n")
            self._stream.flush()


def line_of(event: Event) -> str:
    """Return an event as a line: time, kind, client, model and details."""
    word, text = _TEXTS[event.name](event.fields)
    key, model = event.fields.get("key"), event.model
    who = " ".join(each for each in (key, _short(event.session), model) if each)
    clock = time.strftime("%H:%M:%S", time.localtime(event.at))
    return f"{clock} {word:<8} {who or event.fields.get('route', '')}: {text}"


def summary_of(sums: Mapping[str, Any]) -> str:
    """Return the totals of a gateway as a sentence."""
    cut = f"{counted(sums['cuts'], 'cut')}, {counted(sums['tokens_saved'], 'token')} saved"
    parts = [
        f"{counted(sums['requests'], 'request')} of {counted(sums['conversations'], 'conversation')}",
        f"{sums['cut']:,} shortened ({cut})",
        f"{sums['refused']:,} refused",
        f"{sums['overflows']:,} rejected by upstream as too long ({sums['retried']:,} sent again)",
        f"{counted(sums['windows_learned'], 'window')} learned",
    ]
    if sums["upstream_errors"]:
        parts.append(f"{counted(sums['upstream_errors'], 'error')} from upstream")
    if sums["faults"]:
        parts.append(f"{counted(sums['faults'], 'internal error')}")
    return ", ".join(parts)


def _cut(fields: Mapping[str, Any]) -> tuple[str, str]:
    number = f", cut {fields['cut']:,} of this conversation" if fields["cut"] else ""
    if agent := fields.get("summary_of"):
        number = f", for a summary that {agent} requested"
    return (
        "cut",
        f"{_sizes(fields)}, {counted(fields['dropped'], 'message')} dropped or shortened{number}{_why(fields)}",
    )


def _over(fields: Mapping[str, Any]) -> tuple[str, str]:
    return "over", f"{_sizes(fields)}, passed on unchanged{_why(fields)}"


def _overflow(fields: Mapping[str, Any]) -> tuple[str, str]:
    stated = f", which it counts as {fields['stated_tokens']:,}" if fields["stated_tokens"] else ""
    limit = f"; its limit is {fields['limit_tokens']:,}" if fields["limit_tokens"] else ""
    size = "a request" if fields["refused_tokens"] is None else counted(fields["refused_tokens"], "token")
    answer = f", plus {fields['answer_tokens']:,} for the answer" if fields["answer_tokens"] else ""
    refused = f"upstream rejected {size}{stated}{answer}{limit}"
    if not fields["retried"]:
        return "overflow", f"{refused}; the error was passed to the client"
    lowered = f", and the answer limited to {fields['new_answer_tokens']:,}" if fields["new_answer_tokens"] else ""
    return "retried", f"{refused}; sent again with {fields['used_tokens']:,}{lowered}"


def _refused(fields: Mapping[str, Any]) -> tuple[str, str]:
    reason = fields["reason"]
    if reason == "too_long":
        answer = f" plus {fields['answer_tokens']:,} for the answer" if "answer_tokens" in fields else ""
        text = f"{fields['needed_tokens']:,} tokens{answer} do not fit into {fields['budget_tokens']:,}"
    else:
        text = _REFUSALS.get(reason, f"{reason} request")
    return "refused", f"{text} (status {fields['status']})"


def _upstream_error(fields: Mapping[str, Any]) -> tuple[str, str]:
    said = f"upstream ended its stream with {fields['error']}" if fields["error"] else _REFUSALS.get(fields["reason"])
    return "upstream", said or f"upstream answered {fields['reason']}"


def _learned(fields: Mapping[str, Any]) -> tuple[str, str]:
    before = "unknown before" if fields["before_tokens"] is None else f"{fields['before_tokens']:,} before"
    return "learned", f"window {fields['window_tokens']:,} from an overflow error ({before})"


def _fault(fields: Mapping[str, Any]) -> tuple[str, str]:
    became = "passed on unchanged" if fields["became"] == "pass" else "refused"
    what = "brim cannot read it" if fields["reason"] == "unreadable" else "internal error"
    return "fault", f"{what} ({fields['error']}); the request was {became}"


_TEXTS: dict[str, Callable[[Mapping[str, Any]], tuple[str, str]]] = {
    "cut": _cut,
    "over": _over,
    "overflow": _overflow,
    "refused": _refused,
    "window_learned": _learned,
    "fault": _fault,
    "upstream_error": _upstream_error,
}
"""The events that have a line."""


def _sizes(fields: Mapping[str, Any]) -> str:
    budget = f" of {fields['budget_tokens']:,}" if fields["budget_tokens"] else ""
    return f"{fields['before_tokens']:,} -> {fields['used_tokens']:,}{budget} tokens"


def _why(fields: Mapping[str, Any]) -> str:
    if not fields["reason"]:
        return ""
    if fields["reason"] == "ceiling":
        return " (kept below the size of a rejected prompt)"
    return f" (window {fields['window_tokens']:,} from {SOURCES[fields['reason']]})"


def _short(name: str | None) -> str:
    """Return a name for a line: a long one is shortened to the agent and the end of the session id."""
    if not name or len(name) <= _LONGEST:
        return name or ""
    agent, _, session = name.partition(".")[2].partition(".")
    return f"{agent if session and len(agent) <= _LONGEST else ''}...{name[-_END:]}"
