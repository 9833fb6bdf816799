"""One file for each framework, built on its extension point.

Each translates the framework's messages to a wire format and back; `brim.sessions` decides what fits. Each needs the
extra of the same name, and is imported only when it is used.
"""

from __future__ import annotations


def missing(extra: str, error: ImportError) -> ImportError:
    """Return the error for a package that cannot be imported, with the extra that installs it."""
    return ImportError(f"{error}; install it: pip install 'brim[{extra}]'", name=error.name)
