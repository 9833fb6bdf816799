"""The mkdocs hook of the documentation site, and the rules that the tests check.

- A link that leaves `docs/`, to an example or a source file, or that leads to a record in `docs/runs/`, is for readers
  of the repository; the site shows its text.
- A page must load nothing from another host. The build fails if one does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]+)\]\((?P<target>[^)\s]+)\)")
"""A link in Markdown, no picture."""
FOREIGN = re.compile(
    r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^\"'\s>]+", re.IGNORECASE
)
"""Something that a browser would load from another host by itself."""


def pages(nav: list[Any]) -> Iterator[str]:
    """Yield the page of every entry of a nav."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for target in entry.values():
                yield from pages(target if isinstance(target, list) else [target])


def inside(page: str, target: str) -> str | None:
    """Return the file under `docs/` that a link of a page leads to, `None` if it leads out of `docs/`."""
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / target.partition("#")[0]).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def shown(markdown: str, page: str) -> str:
    """Return a page for the site: links that leave `docs/`, and folders without an index, are their text alone."""

    def put(match: re.Match[str]) -> str:
        target = match["target"]
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        found = inside(page, target)
        if found is not None and (DOCS / found).is_dir():
            index = f"{target.rstrip('/')}/index.md"
            return f"[{match['text']}]({index})" if (DOCS / found / "index.md").is_file() else match["text"]
        return match["text"] if found is None or found.startswith("runs/") or not found.endswith(".md") else match[0]

    return LINK.sub(put, markdown)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Take links away that lead nowhere on the site. Called by mkdocs."""
    return shown(markdown, page.file.src_uri)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that would load something from another host. Called by mkdocs.

    Raises:
        ValueError: it would.
    """
    loaded = FOREIGN.search(re.sub(r"<link\b[^>]*rel=[\"']?canonical[^>]*>", "", output))
    if loaded:
        raise ValueError(f"{page.file.src_uri} would load from another host: {loaded[0][:120]}")
    return output
