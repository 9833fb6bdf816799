"""The findings of the doctor: the list of checks, what was seen, why it matters, and the change that helps."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import Any, Literal

from brim.settings.keys import BARE, SETTINGS, name_of
from brim.settings.project import SHIPPED
from brim.settings.resolved import Resolved

CHECKS = {
    "setting out of bounds": "The run uses the bound, which is not the value in the file.",
    "history without priority": "A decision of an early step is left out, while the newest reports stay.",
    "key without meaning": "Whoever wrote it may expect that it does something.",
    "budget about the window": "Instructions take a fifth of a window, notes a twentieth, and the answer half of it.",
    "small model": "A small window is full before the budget is, and quality falls before that.",
    "same budgets for all flows": "A flow that builds needs more history than one that deploys.",
    "agent without a class": "Their steps count as MEDIUM unless a word of their output says otherwise.",
    "total budget is hit early": "So early in a flow every step still matters, and those left out are not seen at all.",
    "window is full": "The model's window is full before the budget is, so a bigger budget changes nothing.",
    "one large step": "A step with so much output takes the room of the others, or is truncated itself.",
    "truncation notes to review": "The steps left out may have mattered, and nobody notices without looking.",
    "the newest step cut": "The end of a truncated output is lost for all later steps.",
    "older steps cut": "The end of a truncated output is lost for all later steps.",
    "context loader misses files": "Files that were gathered and left out are searched again, by a dearer model.",
    "files left out": "A step that gets only a path has to open the file itself.",
    "prompts are tiny": "With a budget far above the need, one long output costs much more than it should.",
    "answer cut off": "A truncated answer is a failure: whatever builds on it fails later.",
    "prompt refused": "HTTP 400 is how a server refuses a prompt that is longer than its window: the call is wasted.",
}
"""Every check by its name, and why its finding matters; some need receipts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedChange:
    """The change of a setting that helps."""

    key: str
    value: str
    place: tuple[tuple[str, str], ...] = ()
    """Where it is written: the `flow`, the `step`, the `profile` or the `file`; empty for the project."""
    variable: str = ""
    """The environment variable that decides the setting; then no file is changed."""

    @property
    def command(self) -> str:
        """The command that makes it."""
        if self.variable:
            return f"export {self.variable}={quote(self.value)}"
        place = "".join(f" --{name} {quote(text)}" for name, text in self.place)
        return f"brim config set {name_of(self.key)} {quote(self.value)}{place}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One problem, or one piece of advice."""

    check: str
    """The name of the check."""
    level: Literal["wrong", "advice"] = "wrong"
    """`wrong` if something is lost or has no effect, `advice` if it could work better or cost less."""
    seen: str
    """The observation, with its numbers."""
    do: str
    """What to do."""
    changes: tuple[ProposedChange, ...] = ()
    """The changes of settings that do it; empty if no setting helps."""

    @property
    def why(self) -> str:
        """Why it matters."""
        return CHECKS[self.check]

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that make the changes."""
        return tuple(change.command for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        texts = {name: getattr(self, name) for name in ("check", "level", "seen", "do", "why")}
        return {**texts, "commands": list(self.commands)}


def changes(settings: Resolved, key: str, value: object, *, narrow: bool = False) -> tuple[ProposedChange, ...]:
    """Return the change of a setting in the layer that decides it, if there is one.

    The result is empty if that layer is a profile that comes with brim, which cannot be changed. With `narrow` it is
    set for the step of the settings alone, whichever layer decides it now.
    """
    key = BARE.get(key, key)
    known, text = settings[key], str(value)
    if known.origin in ("env", "flags"):
        return (ProposedChange(key=key, value=text, variable=SETTINGS[key].variable),)
    place: dict[str, str] = {}
    active = settings.profile or settings.value("profile")
    if settings.flow is not None:
        place["flow"] = settings.flow
        if settings.step is not None and (narrow or known.origin == "step"):
            place["step"] = str(settings.step)
    elif known.origin == "user":
        place["file"] = known.where.rpartition(":")[0]
    elif known.origin == "profile":
        if active in SHIPPED:
            return ()
        place["profile"] = active
    return (ProposedChange(key=key, value=text, place=tuple(place.items())),)


def rounded(number: int, unit: int) -> int:
    """Return the next multiple of a unit that is not less."""
    return -(-number // unit) * unit
