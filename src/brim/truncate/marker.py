"""The marker that stands where text was removed.

Markers come from users and may contain any braces, so the two fields are replaced as plain text and nothing else in
them is interpreted.
"""

from __future__ import annotations


def filled(marker: str, dropped: int) -> str:
    """Return `marker` with `{dropped}` and `{dropped:,}` replaced by the number."""
    return marker.replace("{dropped:,}", f"{dropped:,}").replace("{dropped}", str(dropped))


def one_line(marker: str) -> str:
    """Return `marker` without line breaks, for a line of its own."""
    return " ".join(marker.split())
