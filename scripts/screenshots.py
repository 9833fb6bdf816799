"""Takes the pictures of the studio that the docs and the README show: `make screenshots`.

The studio runs on its demo, in a real Chromium; the pictures are WebP, below 120 kB each. With `--all DIR` every screen
is taken at 1280 and 390 pixels, light and dark, to be looked at.
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
from brim.studio import serve
from brim.studio.app import Studio
from brim.studio.desk import Desk
from brim.studio.guard import Door

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
MOST_BYTES = 120_000
SESSION = "orders-incident"
WIDE, NARROW = 1_280, 390


@dataclass(frozen=True, kw_only=True)
class Shot:
    """One picture: a place of the studio, and what has to be there first."""

    name: str
    screen: str
    asked: dict[str, str] = field(default_factory=dict)
    height: int = 860
    scheme: str = "light"
    click: tuple[str, ...] = ()
    waits: str = ".card"


SHOTS = (
    Shot(name="studio-context", screen="context", asked={"session": SESSION}),
    Shot(name="studio-lab", screen="lab", asked={"budget": "2600"}, waits="[data-used]"),
    Shot(name="studio-timeline", screen="timeline", asked={"session": SESSION}, waits=".plot canvas"),
    Shot(name="studio-ledger", screen="ledger", asked={"session": SESSION}),
    Shot(
        name="studio-flows",
        screen="flows",
        asked={"flow": "build", "step": "code"},
        click=("lean", "Try it on what was recorded"),
        waits=".budget",
        height=1_120,
    ),
    Shot(name="studio-cache", screen="cache", asked={"session": SESSION}, scheme="dark"),
    Shot(name="studio-gateway", screen="gateway", asked={"only": "cut"}, scheme="dark"),
)
SCREENS: tuple[tuple[str, dict[str, str]], ...] = (
    ("context", {"session": SESSION}),
    ("wire", {"session": SESSION}),
    ("lab", {"budget": "2600"}),
    ("timeline", {"session": SESSION}),
    ("timeline", {"session": SESSION, "view": "call"}),
    ("timeline", {"session": SESSION, "view": "sum"}),
    ("timeline", {"session": "orders-recount"}),
    ("ledger", {"session": SESSION}),
    ("cache", {"session": SESSION, "why": "minimum"}),
    ("receipts", {}),
    ("flows", {"flow": "build", "step": "code"}),
    ("models", {"model": "gpt-5", "text": "gpt-5"}),
    ("gateway", {}),
    ("doctor", {}),
)


@contextmanager
def studio() -> Iterator[tuple[str, str]]:
    """Run a studio on its demo, and yield its address and its token."""
    with tempfile.TemporaryDirectory() as folder, listener("127.0.0.1", 0) as taken:
        door = replace(Door(port=0), port=taken.getsockname()[1])
        mine = Desk(name="mine", url=f"sqlite:///{folder}/brim.db", config=folder, runs=f"{folder}/runs")
        made = Studio(mine, door, demo=True)
        made.desk("demo")
        server = uvicorn.Server(serve.config(made))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield door.address, door.token
        finally:
            server.should_exit = True
            thread.join(10)
            made.close()


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser without a window."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("BRIM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        sys.exit("needs Chromium: apt-get install chromium, or BRIM_CHROMIUM names it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, place: tuple[str, str], width: int, height: int, scheme: str) -> Iterator[Any]:
    """Open the studio in a tab of its own."""
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


def go(page: Any, base: str, screen: str, asked: dict[str, str]) -> None:
    """Go to a screen, and wait until it shows what it has read."""
    page.goto(f"{base}#/{screen}?{urlencode({'desk': 'demo', **asked})}")
    page.wait_for_selector(f".rail a[aria-current][href^='#/{screen}']")
    page.wait_for_selector("main h1")
    page.wait_for_function("() => !document.querySelector('.waiting')")
    page.wait_for_timeout(350)


def webp(page: Any, quality: int) -> bytes:
    """Return what the page looks like."""
    session = page.context.new_cdp_session(page)
    told = session.send("Page.captureScreenshot", {"format": "webp", "quality": quality})
    return base64.b64decode(told["data"])


def shoot(browser: Any, place: tuple[str, str], shot: Shot, folder: Path) -> None:
    """Take one picture, as good as its size allows."""
    with opened(browser, place, WIDE, shot.height, shot.scheme) as page:
        go(page, place[0], shot.screen, shot.asked)
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
    """Take every screen at both widths, light and dark, whole."""
    for width in (WIDE, NARROW):
        for scheme in ("light", "dark"):
            with opened(browser, place, width, 900, scheme) as page:
                for i, (screen, asked) in enumerate(SCREENS):
                    go(page, place[0], screen, asked)
                    page.screenshot(path=folder / f"{i:02d}-{screen}-{width}-{scheme}.png", full_page=True)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", metavar="DIR", help="every screen, to be looked at, into this directory")
    parser.add_argument("--into", metavar="DIR", default=str(PICTURES), help="where the pictures of the docs go")
    told = parser.parse_args()
    folder = Path(told.all or told.into)
    folder.mkdir(parents=True, exist_ok=True)
    with studio() as place, chromium() as browser:
        if told.all:
            survey(browser, place, folder)
            return
        for shot in SHOTS:
            shoot(browser, place, shot, folder)


if __name__ == "__main__":
    main()
