"""Builds the wheel twice, compares the bytes, and writes it to dist/; `make try` tries it in empty environments.

With `--page` the studio's page must be in the wheel: for a release, and for CI where Node is there to build it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_EPOCH = "1767225600"
"""A fixed date for the files in the wheel, so that the day of the build does not show."""


def build(folder: Path) -> Path:
    """Build a wheel into a folder and return its path."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": _EPOCH}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def main() -> int:
    """Build, compare, look inside, and write."""
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (build(Path(scratch) / name) for name in ("one", "two"))
        digests = {sha256(wheel.read_bytes()).hexdigest() for wheel in (first, second)}
        names = zipfile.ZipFile(first).namelist()
        page = "brim/studio/static/studio.js" in names
        wrong = {
            "the same sources gave two different wheels": len(digests) != 1,
            "the wheel holds a .pth file": any(name.endswith(".pth") for name in names),
            "the wheel has no page of the studio: make studio": "--page" in sys.argv[1:] and not page,
        }
        if found := [said for said, is_so in wrong.items() if is_so]:
            print("\n".join(found), file=sys.stderr)
            return 1
        (ROOT / "dist").mkdir(exist_ok=True)
        (ROOT / "dist" / first.name).write_bytes(first.read_bytes())
    told = "with" if page else "without"
    print(
        f"dist/{first.name}: {len(names)} files, sha256 {digests.pop()}, the same twice, {told} the page of the studio"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
