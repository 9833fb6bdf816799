"""A tab of a real Chromium that lets nothing wrong pass."""

import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import brim

STUDIO = Path(brim.__file__).parent / "studio"


def found_chromium():
    """Return where Chromium is; nothing where it is not."""
    return os.environ.get("BRIM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def crowd():
    """Return by how much longer things take here than on a quiet machine, at least: others may be at work."""
    began, spent = time.perf_counter(), time.thread_time()
    while time.thread_time() - spent < 0.2:
        pass
    return max(1.0, (time.perf_counter() - began) / 0.2, os.getloadavg()[0] / (os.cpu_count() or 1))


def timed(page, act, seen):
    """Return the milliseconds from something done in the page until what it leads to is painted."""
    return page.evaluate(
        f"""async () => {{
            const began = performance.now();
            {act};
            while (!({seen})) await new Promise(done => setTimeout(done, 1));
            await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
            return performance.now() - began;
        }}"""
    )


class Tab:
    """A page of the studio: an error on its console, or in the page, fails the test."""

    def __init__(self, browser, served, *, width=1280, height=900, scheme="light", motion="no-preference"):
        viewport = {"width": width, "height": height}
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme, reduced_motion=motion)
        self.page = self.context.new_page()
        self.base = f"http://127.0.0.1:{served.access.port}/"
        self.wrong = []
        self.page.on("console", lambda told: told.type == "error" and self.wrong.append(told.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.wrong.append(dialog.message), dialog.dismiss()))
        self.page.goto(f"{self.base}?token={served.access.token}")
        self.page.wait_for_selector(".rail")

    def go(self, screen, **asked):
        """Go to a screen, and wait until it has read what it shows."""
        self.page.goto(f"{self.base}#/{screen}?{urlencode(asked)}")
        self.page.wait_for_selector(f"main[data-screen='{screen}']")
        self.page.wait_for_selector("main h1, main .problem")
        self.page.wait_for_function("() => !document.querySelector('.waiting')")


@contextmanager
def tab(*given, **more):
    """Return a tab, and fail where anything went wrong in it."""
    made = Tab(*given, **more)
    yield made
    made.context.close()
    assert made.wrong == [], made.wrong
