"""The three budgets of a history, each by a function of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brim.settings import load_config

if TYPE_CHECKING:
    from brim.settings.config import Config


def get_context_budget_chars(
    config: Config | None = None,
    *,
    profile: str | None = None,
    flow: str | None = None,
    step: str | int | None = None,
) -> int:
    """Return the characters of a step's whole history; without a config, that of the project here."""
    return _budget("context_budget_chars", config, profile, flow, step)


def get_history_max_recent_chars(
    config: Config | None = None,
    *,
    profile: str | None = None,
    flow: str | None = None,
    step: str | int | None = None,
) -> int:
    """Return the characters of the newest step; without a config, that of the project here."""
    return _budget("history_max_recent_chars", config, profile, flow, step)


def get_history_max_older_chars(
    config: Config | None = None,
    *,
    profile: str | None = None,
    flow: str | None = None,
    step: str | int | None = None,
) -> int:
    """Return the characters of each older step; without a config, that of the project here."""
    return _budget("history_max_older_chars", config, profile, flow, step)


def _budget(name: str, config: Config | None, profile: str | None, flow: str | None, step: str | int | None) -> int:
    settings = (load_config() if config is None else config).resolve(profile, flow, step)
    return int(settings.value(name))
