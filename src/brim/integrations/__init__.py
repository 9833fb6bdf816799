"""One file for each framework, on the extension point that it offers.

Each translates the framework's messages and back; `brim.sessions` decides what fits. Each needs the extra of its name,
and is imported only when it is used.
"""

from __future__ import annotations


def missing(extra: str) -> ImportError:
    """Return the error of a framework that is not installed, by the extra of brim that installs it."""
    return ImportError(f"this needs more than brim itself: pip install 'brim[{extra}]'")
