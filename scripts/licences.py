"""Write docs/reference/licences.md: the packages that brim brings, and their licences.

    python scripts/licences.py               write the page
    python scripts/licences.py --sbom FILE   write a bill of materials (CycloneDX, JSON) of what is installed here

The page is made of the metadata of installed packages, so it covers the extras of the test environment; an extra for a
framework brings the framework, under its own terms. It has no versions, so it is the same on any day.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from generated import run, safe

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "licences.md"
EXTRAS = ("tiktoken", "open", "otel", "postgres", "gateway", "studio", "openai", "anthropic", "mcp")
"""The extras on the page."""

_HEAD = """\
# Licences

<!-- Written by scripts/licences.py from the metadata of the packages; do not edit. -->

brim is under the MIT licence. The core brings these packages; an extra brings those in its table, and what they need.
An extra for a framework brings that framework under its own licence. `make sbom` writes a software bill of materials,
with versions, to `dist/brim.cdx.json`.
"""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_KNOWN = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


def page() -> str:
    """Return the whole page."""
    core = packages(None)
    parts = [_HEAD, "## The core\n", _table(core)]
    for extra in EXTRAS:
        more = {name: found for name, found in packages(extra).items() if name not in core}
        parts += [f"\n## `brim[{extra}]`\n", _table(more)]
    return "\n".join(parts).rstrip() + "\n"


def packages(extra: str | None) -> dict[str, Distribution]:
    """Return the packages that the core or an extra needs, direct or not, as far as they are installed."""
    found: dict[str, Distribution] = {}
    waiting = list(_required(distribution("brim"), extra))
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # for another system or another Python
            continue
        waiting += _required(found[name], None)
    return dict(sorted(found.items()))


def _required(package: Distribution, extra: str | None) -> list[str]:
    """Return the names that a package requires: always, or for one extra."""
    names = []
    for line in package.requires or ():
        wanted = _EXTRA.search(line)
        if (wanted[1] if wanted else None) == extra and (match := _NAME.match(line)):
            names.append(match[0].lower().replace("_", "-"))
    return names


def licence(package: Distribution) -> str:
    """Return the licence of a package as its metadata states it."""
    values = package.metadata
    if "License-Expression" in values:
        return values["License-Expression"]
    classifiers = [each.rpartition(" :: ")[2] for each in values.get_all("Classifier") or () if "License ::" in each]
    if named := [_KNOWN.get(each, each) for each in classifiers if each != "OSI Approved"]:
        return ", ".join(named)
    stated = values.get_all("License") or ["not stated"]
    return str(stated[0]).splitlines()[0][:60]


def _table(found: dict[str, Distribution]) -> str:
    rows = [f"| {name} | {safe(licence(package))} |" for name, package in found.items()]
    return "\n".join(["| package | licence |", "|---|---|", *rows]) if rows else "Nothing beside the core."


def bill() -> str:
    """Return the bill of materials of the core and of the extras that are installed."""
    found = packages(None)
    for extra in EXTRAS:
        found |= packages(extra)
    own = distribution("brim")
    components = [
        {
            "type": "library",
            "name": name,
            "version": package.version,
            "purl": f"pkg:pypi/{name}@{package.version}",
            "licenses": [{"license": {"name": licence(package)}}],
        }
        for name, package in sorted(found.items())
    ]
    about = {"component": {"type": "library", "name": "brim", "version": own.version}}
    values = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": about, "components": components}
    return json.dumps(values, indent=2) + "\n"


if __name__ == "__main__":
    if "--sbom" in sys.argv[1:]:
        Path(sys.argv[sys.argv.index("--sbom") + 1]).write_text(bill(), "utf-8")
        raise SystemExit(0)
    raise SystemExit(run(PAGE, page))
