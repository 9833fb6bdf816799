"""The Python of each page of docs/integrations runs, one process a page, against a model on loopback.

The page finds the model where its clients look for it: in OPENAI_BASE_URL and ANTHROPIC_BASE_URL. Its window is small,
so that a page without brim would be refused.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted((ROOT / "docs" / "integrations").glob("*.md"))
LIGHT = ("index.md", "clients.md")
"""Pages that are tried by `make test` too."""
WINDOW = 4_000

_RUN = """
import sys
names = {"__name__": "__main__"}
for number, block in enumerate(sys.stdin.read().split("\\x00")):
    exec(compile(block, f"<block {number}>", "exec"), names)
"""


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def _pages():
    for page in PAGES:
        marks = [] if page.name in LIGHT else [pytest.mark.integrations]
        if page.name != "index.md" or blocks_of(page):
            yield pytest.param(page, id=page.stem, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("page", list(_pages()))
def test_a_page_runs(page, tmp_path, upstream):
    blocks = blocks_of(page)
    assert blocks, f"{page.name} shows no Python"
    server = upstream(window=WINDOW)
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BRIM_")},
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "none",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # it would be fetched
    }
    told = subprocess.run(
        [sys.executable, "-c", _RUN],
        input="\0".join(blocks),
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr[-4_000:]
    assert server.illegal == []
