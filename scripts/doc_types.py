"""Check the types of the Python code on all pages of the docs, as a user's strict type checker would.

    python scripts/doc_types.py                 with strict pyright
    python scripts/doc_types.py --python PATH   with the packages of another environment, such as .venv-integrations

The blocks of a page are one module, as its reader types them. Frameworks that are not installed count as unknown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FRAMEWORKS = ROOT / "docs" / "integrations"
_UNKNOWN = (
    *(f"reportUnknown{each}Type" for each in ("Member", "Variable", "Argument", "Parameter", "Lambda")),
    *(
        f"report{each}"
        for each in ("MissingImports", "MissingTypeStubs", "UntypedFunctionDecorator", "UntypedBaseClass")
    ),
    "reportFunctionMemberAccess",
    "reportDeprecated",  # LlamaIndex marks the call that it recommends.
)
"""What is reported of a framework that is missing, or whose types are incomplete: off on the pages of frameworks."""
Problem = tuple[str, int, str]
"""The module, its line, and what is wrong there."""


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
    parser.add_argument("--python", default=sys.executable, help="the Python whose packages are used")
    python = os.path.abspath(parser.parse_args(arguments).python)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        pages = modules(folder)
        errors = _pyright(python, folder, pages)
    print(f"{len(pages)} pages, {len(errors)} errors")
    for name, line, problem in errors:
        print(f"{pages[name].relative_to(ROOT)}, line {line} of its code: {problem}")
    return int(bool(errors))


def _pyright(python: str, folder: Path, pages: Mapping[str, Path]) -> list[Problem]:
    settings = {"typeCheckingMode": "strict", "reportMissingModuleSource": False, "pythonPlatform": "Linux"}
    (folder / "pyrightconfig.json").write_text(json.dumps({**settings, "extraPaths": [str(ROOT / "src")]}))
    for name, page in pages.items():
        if page.is_relative_to(_FRAMEWORKS):
            with (folder / name).open("a") as module:  # At the end, so that the numbers of the lines stay.
                module.write("".join(f"\n# pyright: {rule}=false" for rule in _UNKNOWN) + "\n")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", python]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    try:
        found = [each for each in json.loads(done.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    except ValueError:
        raise SystemExit(f"pyright failed:\n{done.stdout}{done.stderr}") from None
    return [
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, f"{each['message']} ({each.get('rule')})")
        for each in found
    ]


if __name__ == "__main__":
    raise SystemExit(main())
