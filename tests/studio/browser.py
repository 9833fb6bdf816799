"""A tab of a real Chromium that lets nothing wrong pass."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import brim

STUDIO = Path(brim.__file__).parent / "studio"


def found_chromium():
    """Return where Chromium is; nothing where it is not."""
    return os.environ.get("BRIM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def crowd():
    """Return by how much longer things take than on a quiet machine, at least: others may be at work here."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


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
        self.page.wait_for_selector(f".rail a[aria-current][href^='#/{screen}']")
        self.page.wait_for_selector("main h1, main .problem")
        self.page.wait_for_function("() => !document.querySelector('.waiting')")


@contextmanager
def tab(*given, **more):
    """Return a tab, and fail where anything went wrong in it."""
    made = Tab(*given, **more)
    yield made
    made.context.close()
    assert made.wrong == [], made.wrong
