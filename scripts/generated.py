"""Pages of the docs that a script generates: written, or checked to be up to date."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path


def run(path: Path, page: Callable[[], str]) -> int:
    """Write a page; with `--check`, return whether it is up to date as an exit code."""
    wanted = page()
    if "--check" in sys.argv[1:]:
        if path.is_file() and path.read_text("utf-8") == wanted:
            return 0
        print(f"{path} is out of date: run python scripts/{Path(sys.argv[0]).name}", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(wanted, "utf-8")
    return 0


def safe(text: str) -> str:
    """Return a text with the special characters of Markdown tables escaped."""
    return text.replace("|", "\\|").replace("*", "\\*")
