"""Builds the wheel twice, compares the bytes, and runs brim from it in an empty environment.

With `--page` the studio's page must be in the wheel: for a release, and for CI where Node is there to build it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from hashlib import sha256
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parent.parent
_EPOCH = "1767225600"
"""A fixed date for the files in the wheel, so that the day of the build does not show."""

_PAGE = "its studio serves the page"
_SMOKE = """
import brim
sections = [brim.Section("a", "one two three " * 400, priority="low"), brim.Section("b", "keep me", required=True)]
p = brim.fit(sections, 100, model="gpt-5")
assert p.receipt.used <= 100 and "keep me" in p.text and p.receipt.exact, p.receipt
print("fits:", p.receipt.used, "of", p.receipt.budget, p.receipt.unit, "by", p.receipt.meter)
"""


def build(folder: Path) -> Path:
    """Build a wheel into a folder and return its path."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": _EPOCH}
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def served(environment: Path, wheel: Path, scratch: str) -> str:
    """Install the studio from the wheel, start it on its demo, and return what its first page is.

    Raises:
        RuntimeError: it serves no page of its own, though the wheel has one.
    """
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([environment / "bin" / "python", "-m", "pip", "install", *quiet, f"{wheel}[studio]"], check=True)
    command = [str(environment / "bin" / "brim"), "studio", "--demo", "--no-open", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=scratch, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            bare, _, token = json.loads(process.stdout.readline())["address"].partition("?token=")
            key = {"Authorization": f"Bearer {token}"}
            found = {}
            for name in ("", "studio.js", "api/sessions"):
                try:
                    with urlopen(Request(bare + name, headers=key), timeout=30) as answer:
                        found[name] = answer.read().decode()
                except HTTPError as error:
                    found[name] = ""
                    error.close()
        finally:
            process.terminate()
            process.wait(20)
    if {each["kind"] for each in json.loads(found["api/sessions"])["sessions"]} != {"session", "loop", "gateway"}:
        raise RuntimeError("the studio of the wheel does not serve its demo")
    if "make studio" in found[""]:
        return "its studio has no page, and says how to build it"
    if "/studio.js" not in found[""] or len(found["studio.js"]) < 50_000:
        raise RuntimeError("the studio of the wheel does not serve its page")
    return _PAGE


def main() -> int:
    """Build, compare, install, run."""
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (build(Path(scratch) / name) for name in ("one", "two"))
        digests = {sha256(wheel.read_bytes()).hexdigest() for wheel in (first, second)}
        if len(digests) != 1:
            print("the same sources gave two different wheels", file=sys.stderr)
            return 1
        names = zipfile.ZipFile(first).namelist()
        if any(name.endswith(".pth") for name in names):
            print("the wheel holds a .pth file", file=sys.stderr)
            return 1
        environment = Path(scratch) / "empty"
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(first)], check=True
        )
        subprocess.run([python, "-c", _SMOKE], check=True, cwd=scratch)
        subprocess.run(
            [environment / "bin" / "brim", "demo", "--json"], check=True, cwd=scratch, stdout=subprocess.DEVNULL
        )
        page = served(environment, first, scratch)
        if "--page" in sys.argv[1:] and page != _PAGE:
            print(f"the wheel is not complete: {page}", file=sys.stderr)
            return 1
        target = ROOT / "dist"
        target.mkdir(exist_ok=True)
        (target / first.name).write_bytes(first.read_bytes())
        print(f"dist/{first.name}: {len(names)} files, sha256 {digests.pop()}, the same twice, runs; {page}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
