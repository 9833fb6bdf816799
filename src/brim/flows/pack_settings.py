"""The settings that a pack is built by, taken from what the configuration resolves for its step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from brim.amounts import fraction
from brim.history.priority import DEFAULT, Classes
from brim.meter import meter_for

if TYPE_CHECKING:
    from brim.meter.base import BaseMeter
    from brim.settings.config import Config

_CLASSES = ("critical", "high", "medium", "low")


@dataclass(frozen=True, kw_only=True, slots=True)
class PackSettings:
    """What a pack is built by."""

    total: int = 200_000
    """Characters of the whole pack."""
    recent: int = 60_000
    """Characters of the newest step's output."""
    older: int = 10_000
    """Characters of each older step's output."""
    timeout: float = 30
    """Seconds that the curator's model may take."""
    selection: str = "recency"
    within: str = "newest_first"
    """Which steps of one class are served first."""
    pins_newest: bool = True
    """Whether the newest step stays whatever its class."""
    note: bool = True
    """Whether the pack says that steps were left out."""
    classes: Classes = DEFAULT
    curated: bool = True
    """Whether a model may be asked."""
    curator_model: str | None = None
    curator_url: str | None = None
    files: int = 20_000
    """Characters for files of the codebase."""
    artifacts: bool = True
    trail: int = 2_000
    """Characters of the scent trail."""
    model: str | None = None
    window: int | None = None
    """Tokens that the pack may have, where the model's window is known."""
    warnings: tuple[str, ...] = ()

    @property
    def tokens(self) -> BaseMeter:
        """What counts the tokens of the model."""
        return meter_for(None, self.model)


def settings_of(config: Config, profile: str | None, flow: str | None, step: str | None) -> PackSettings:
    """Return the settings that hold for a step; one that the configuration does not know has those of its flow.

    Raises:
        BrimError: no such profile, or settings that make no window.
    """
    known = flow is not None and flow in config.flows
    listed = known and any(each.id == step for each in config.flow(flow or "").steps)
    resolved = config.resolve(profile=profile, flow=flow if known else None, step=step if listed else None)
    window = resolved.window()
    margin = fraction("safety_margin", resolved.value("safety_margin") or "0%")
    model = resolved.value("model")
    return PackSettings(
        total=resolved.value("context_budget_chars"),
        recent=resolved.value("history_max_recent_chars"),
        older=resolved.value("history_max_older_chars"),
        timeout=resolved.value("timeout_seconds"),
        selection=resolved.value("history.selection"),
        within=resolved.value("history.within"),
        pins_newest=resolved.value("history.pin_most_recent"),
        note=resolved.value("history.note"),
        classes=_classes(resolved),
        curated=resolved.value("curator.enabled"),
        curator_model=resolved.value("curator.model"),
        curator_url=resolved.value("curator.url"),
        files=resolved.value("curator.files_budget_chars"),
        artifacts=resolved.value("curator.artifacts"),
        trail=resolved.value("curator.scent_trail_chars"),
        model=model,
        window=None if window is None else _within(window.budget, margin, model),
        warnings=tuple(resolved.warnings),
    )


def _within(budget: int, margin: Fraction, model: str | None) -> int:
    """Return the tokens to use of a window: a margin is left free where the count is an estimate."""
    return budget if not margin or meter_for(None, model).exact else int(budget * (1 - margin))


def _classes(resolved: Any) -> Classes:
    named = {name.upper(): tuple(resolved.value(f"history.classes.{name}") or ()) for name in _CLASSES}
    named = {name: agents for name, agents in named.items() if agents}
    return DEFAULT.amended(agents=named) if named else DEFAULT
