"""Check the types of the Python code on all pages of the docs, as a user's strict type checker would.

    python scripts/doc_types.py                 with mypy
    python scripts/doc_types.py --pyright PATH  with pyright too, at this path

The blocks of a page are one module, as its reader types them. Frameworks that are not installed count as unknown.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_MYPY = ("--strict", "--ignore-missing-imports", "--no-error-summary", "--follow-imports=silent")
_OFF = ("--disable-error-code=untyped-decorator", "--disable-error-code=misc")
"""What depends on whether a framework is installed."""
_CACHE = ROOT / ".mypy_cache" / "docs"
"""What is known of the packages, so that only the first run is slow."""


def modules(folder: Path) -> dict[str, Path]:
    """Write the code of each page to a module of its own, and return the pages by the names of the modules."""
    pages: dict[str, Path] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        blocks = _BLOCK.findall(page.read_text("utf-8"))
        if blocks:
            name = re.sub(r"\W", "_", str(page.relative_to(ROOT))) + ".py"
            (folder / name).write_text("\n".join(blocks), "utf-8")
            pages[name] = page
    return pages


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the pages, print each error with its page, and return 1 if there is one."""
    parser = argparse.ArgumentParser(description="Check the types of the code in the docs.")
    parser.add_argument("--pyright", type=Path, help="the path of pyright")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        pages = modules(folder)
        command = [sys.executable, "-m", "mypy", *_MYPY, *_OFF, "--cache-dir", str(_CACHE), *sorted(pages)]
        told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        lines = [line for line in told.stdout.splitlines() if ": error:" in line]
        print(f"mypy: {len(pages)} pages, {len(lines)} errors")
        print("\n".join(lines))
        failed = bool(lines) or bool(told.returncode)
        if failed and not lines:
            print(told.stdout, told.stderr)
        if options.pyright:
            failed |= _pyright(str(options.pyright.resolve()), folder, pages)
    return int(bool(failed))


def _pyright(program: str, folder: Path, pages: dict[str, Path]) -> bool:
    settings = {"typeCheckingMode": "strict", "reportMissingImports": False, "reportMissingModuleSource": False}
    unknown = ("MemberType", "VariableType", "ArgumentType", "ParameterType", "LambdaType")
    settings |= {f"reportUnknown{each}": False for each in unknown} | {"reportMissingTypeStubs": False}
    # A loop of an example runs at least once; decorators and bases of a framework are unknown where it is missing.
    settings |= {f"report{each}": False for each in ("PossiblyUnbound", "UntypedFunctionDecorator", "UntypedBaseClass")}
    (folder / "pyrightconfig.json").write_text(json.dumps({**settings, "pythonPlatform": "Linux"}))
    command = [program, "--outputjson", "--pythonpath", sys.executable, str(folder)]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = [each for each in json.loads(told.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    print(f"pyright: {len(pages)} pages, {len(found)} errors")
    for each in found:
        place = f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}"
        print(f"{place}: {each['message'].splitlines()[0]} ({each.get('rule')})")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
