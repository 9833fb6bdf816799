"""Builds the page of the studio into the wheel; without Node the wheel is built without it, and says so.

An editable install builds nothing: `make studio` does.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NPM = ("install", "--silent", "--no-package-lock", "--no-audit", "--no-fund")
_HOW = "Install Node 20 or newer and build again, or run `make studio` first."


class PageHook(BuildHookInterface):  # type: ignore[type-arg,misc]
    """Runs the page's own build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the hook's own shape
        """Build the page, unless this is an editable install or the built page is newer than its sources."""
        studio = Path(self.root) / "src" / "brim" / "studio"
        page, made = studio / "page", studio / "static" / "studio.js"
        if version == "editable" or not page.is_dir() or _is_new(made, page):
            return
        npm = shutil.which("npm")
        if npm is None:
            told = "there is no npm here" + ("; the page is older than its sources" if made.exists() else "")
            self.app.display_warning(f"brim studio has no fresh page in this wheel: {told}. {_HOW}")
            return
        try:
            for arguments in (_NPM, ("run", "build")):
                subprocess.run([npm, *arguments], cwd=page, check=True, stdout=subprocess.DEVNULL)
        except subprocess.CalledProcessError as error:
            told = f"npm ended with {error.returncode}, and said why above"
            self.app.display_warning(f"brim studio has no fresh page in this wheel: {told}. {_HOW}")


def _is_new(made: Path, page: Path) -> bool:
    sources = [*page.glob("*.*"), *(page / "src").glob("*")]
    return made.exists() and all(each.stat().st_mtime <= made.stat().st_mtime for each in sources)
