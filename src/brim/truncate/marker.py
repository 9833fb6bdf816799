"""The marker that stands where text was removed: its number, its place, and the default of each truncator.

Markers come from users and may contain any braces, so the two fields are replaced as plain text and nothing else in
them is interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def filled(marker: str, dropped: int) -> str:
    """Return `marker` with `{dropped}` and `{dropped:,}` replaced by the number."""
    return marker.replace("{dropped:,}", f"{dropped:,}").replace("{dropped}", str(dropped))


def one_line(marker: str) -> str:
    """Return `marker` without line breaks, for a line of its own."""
    return " ".join(marker.split())


def with_marker(kind: Callable[..., T], marker: str | None) -> T:
    """Return a truncator with that marker; `None` is its own."""
    return kind() if marker is None else kind(marker=marker)
