"""Takes the screenshots of the studio for the docs and the README: `make screenshots`.

The studio runs on its demo in a real Chromium; the pictures are WebP files below 120 kB. `--all DIR` takes every screen
at 1440, 1024 and 390 pixels, light and dark, for review.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn

from brim.hosts import listener
from brim.studio import server
from brim.studio.access import StudioAccess
from brim.studio.app import Studio
from brim.studio.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
MOST_BYTES = 120_000
SESSION = "orders-incident"
WIDTHS = (1_440, 1_024, 390)


@dataclass(frozen=True, kw_only=True)
class Shot:
    """One picture: a screen with its query, and the element to wait for."""

    name: str
    screen: str
    query: dict[str, str] = field(default_factory=dict)
    height: int = 860
    scheme: str = "light"
    click: tuple[str, ...] = ()
    waits: str = ".card"


STEP = {"session": SESSION, "step": "37"}
SHOTS = (
    Shot(name="studio-session", screen="session", query=STEP, waits=".part"),
    Shot(
        name="studio-left-out",
        screen="session",
        query={**STEP, "tab": "out", "find": "timed out"},
        waits=".part.open",
    ),
    Shot(name="studio-sessions", screen="sessions", waits=".spark svg", height=420),
    Shot(name="studio-lab", screen="lab", query={"budget": "2600"}, waits="[data-used]"),
    Shot(
        name="studio-settings",
        screen="settings",
        query={"flow": "build", "step": "code", "key": "context_budget_chars"},
        click=("lean", "Preview on this flow"),
        waits=".keys",
        height=1_120,
    ),
    Shot(name="studio-live", screen="live", query={"only": "cut"}, scheme="dark"),
)
SCREENS: tuple[tuple[str, dict[str, str]], ...] = (
    ("sessions", {}),
    ("session", STEP),
    ("session", {**STEP, "tab": "out"}),
    ("session", {**STEP, "tab": "cache"}),
    ("session", {**STEP, "tab": "fills"}),
    ("session", {**STEP, "diff": "26"}),
    ("session", {**STEP, "view": "share"}),
    ("session", {**STEP, "view": "lab"}),
    ("session", {"session": "orders-recount"}),
    ("lab", {"budget": "2600"}),
    ("settings", {"flow": "build", "step": "code", "key": "context_budget_chars"}),
    ("settings", {"tab": "models", "model": "gpt-5", "text": "gpt-5"}),
    ("settings", {"tab": "doctor"}),
    ("live", {}),
)


@contextmanager
def studio() -> Iterator[tuple[str, str]]:
    """Run a studio on its demo, and yield its address and token."""
    with tempfile.TemporaryDirectory() as folder, listener("127.0.0.1", 0) as bound:
        access = replace(StudioAccess(port=0), port=bound.getsockname()[1])
        mine = Workspace(name="mine", url=f"sqlite:///{folder}/brim.db", config=folder, runs=f"{folder}/runs")
        made = Studio(mine, access, demo=True)
        made.workspace("demo")
        served = uvicorn.Server(server.config(made))
        thread = threading.Thread(target=served.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not served.started:
            time.sleep(0.01)
        try:
            yield access.address, access.token
        finally:
            served.should_exit = True
            thread.join(10)
            made.close()


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a headless browser."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("BRIM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        sys.exit("needs Chromium: apt-get install chromium, or set BRIM_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, place: tuple[str, str], width: int, height: int, scheme: str) -> Iterator[Any]:
    """Open the studio in a new tab."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
        timezone_id="UTC",
    )
    page = context.new_page()
    page.goto(f"{place[0]}?token={place[1]}")
    page.wait_for_selector(".rail")
    yield page
    context.close()


def go(page: Any, base: str, screen: str, query: dict[str, str]) -> None:
    """Go to a screen, and wait until it is loaded."""
    page.goto(f"{base}#/{screen}?{urlencode({'workspace': 'demo', **query})}")
    page.wait_for_selector(f"main[data-screen='{screen}'] h1")
    page.wait_for_function("() => !document.querySelector('.waiting')")
    page.wait_for_timeout(350)


def webp(page: Any, quality: int) -> bytes:
    """Return a screenshot of the page."""
    session = page.context.new_cdp_session(page)
    taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": quality})
    return base64.b64decode(taken["data"])


def shoot(browser: Any, place: tuple[str, str], shot: Shot, folder: Path) -> None:
    """Take one picture in the best quality that its size allows."""
    with opened(browser, place, WIDTHS[0], shot.height, shot.scheme) as page:
        go(page, place[0], shot.screen, shot.query)
        page.wait_for_selector(shot.waits)
        for name in shot.click:
            page.get_by_role("button", name=name).first.click()
            page.wait_for_timeout(700)
        for quality in (92, 85, 75, 60):
            taken = webp(page, quality)
            if len(taken) <= MOST_BYTES:
                break
    path = folder / f"{shot.name}.webp"
    path.write_bytes(taken)
    print(f"{path.name}: {len(taken):,} bytes at quality {quality}")


def survey(browser: Any, place: tuple[str, str], folder: Path) -> None:
    """Take every screen at each width, light and dark, in full height."""
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            with opened(browser, place, width, 900, scheme) as page:
                for i, (screen, query) in enumerate(SCREENS):
                    go(page, place[0], screen, query)
                    page.screenshot(path=folder / f"{i:02d}-{screen}-{width}-{scheme}.png", full_page=True)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", metavar="DIR", help="write every screen to this directory, for review")
    parser.add_argument("--into", metavar="DIR", default=str(PICTURES), help="the directory of the pictures")
    options = parser.parse_args()
    folder = Path(options.all or options.into)
    folder.mkdir(parents=True, exist_ok=True)
    with studio() as place, chromium() as browser:
        if options.all:
            survey(browser, place, folder)
            return
        for shot in SHOTS:
            shoot(browser, place, shot, folder)


if __name__ == "__main__":
    main()
