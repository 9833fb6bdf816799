"""What a doctor finds: what was seen, why it matters, and the command that helps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from brim.settings.keys import BARE, SETTINGS, name_of
from brim.settings.project import SHIPPED

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

WRONG = "wrong"
"""Something is lost or has no effect."""
ADVICE = "advice"
"""It works, and could work better or cost less."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing to put right, or to know of."""

    check: str
    """Which of the checks found it."""
    level: str
    """`wrong` or `advice`."""
    seen: str
    """What was seen, with its numbers."""
    why: str
    do: str
    commands: tuple[str, ...] = ()
    """What to type; nothing where no setting helps."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "commands": list(self.commands)}


def command(settings: Resolved, key: str, value: object) -> str:
    """Return what gives a setting another value at the layer that decides it for these settings.

    Where that layer is a profile that comes with brim, nothing in the files can be changed, and nothing is returned.
    """
    full = BARE.get(key, key)
    known = settings[full]
    if known.origin in ("env", "flags"):
        return f"export {SETTINGS[full].variable}={value}"
    told = f"brim config set {name_of(full)} {value}"
    if settings.flow is not None:
        return f"{told} --flow {quote(settings.flow)}" + (
            f" --step {quote(str(settings.step))}" if known.origin == "step" else ""
        )
    if known.origin == "user":
        return f"{told} --file {quote(known.where.rpartition(':')[0])}"
    if known.origin != "profile":
        return told
    active = settings.profile or settings.value("profile")
    return "" if active in SHIPPED else f"{told} --profile {quote(active)}"


def rounded(number: int, unit: int) -> int:
    """Return the next multiple of a unit that is not less."""
    return -(-number // unit) * unit
