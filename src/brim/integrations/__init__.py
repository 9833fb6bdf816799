"""Where people already are: one short file for each framework, on the extension point that it offers.

Each translates the framework's messages, asks `brim.sessions` for what fits, and translates back; it decides
nothing. Each needs the extra of its name, and nothing here is imported before it is asked for.
"""

from __future__ import annotations


def missing(extra: str) -> ImportError:
    """Return the error of a framework that is not installed.

    Args:
        extra: the extra of brim that brings it.
    """
    return ImportError(f"this needs more than brim itself: pip install 'brim[{extra}]'")
