"""Pins every package that npm installs, also those that packages depend on, in a form that names no host.

A lock file names its registry. So the exact versions are written to `overrides` in `package.json`:

    python scripts/npm_pins.py DIRECTORY             resolve anew, and write the versions
    python scripts/npm_pins.py --installed DIRECTORY  fail if another version is installed than the one that is pinned
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_RESOLVE = ("npm", "install", "--package-lock-only", "--no-audit", "--no-fund", "--silent")
_INSIDE = "node_modules/"

Versions = dict[str, set[str]]
"""The versions of each package by its name: npm may install several."""


def versions(lock: Mapping[str, Any]) -> Versions:
    """Return every package of a lock file, without aliases: whoever depends on one names its exact version."""
    found: Versions = {}
    for place, package in lock["packages"].items():
        if _INSIDE in place and "name" not in package:
            found.setdefault(place.rpartition(_INSIDE)[2], set()).add(package["version"])
    return found


def pins(found: Versions, direct: Mapping[str, str]) -> dict[str, str]:
    """Return the overrides that fix packages which are not direct dependencies; of several versions, each by itself."""
    made = {}
    for name in sorted(found):
        several = len(found[name]) > 1
        for version in sorted(found[name]):
            if several or name not in direct:
                made[f"{name}@{version}" if several else name] = version
    return made


def direct_of(package: Mapping[str, Any]) -> dict[str, str]:
    """Return the direct dependencies of a package and their versions."""
    return {**package.get("dependencies", {}), **package.get("devDependencies", {})}


def resolved(package: Mapping[str, Any]) -> Versions:
    """Return every package that npm would install."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "package.json").write_text(json.dumps(package))
        subprocess.run(_RESOLVE, cwd=folder, check=True)
        return versions(json.loads(Path(folder, "package-lock.json").read_text()))


def pin(folder: Path) -> int:
    """Write the overrides of a package, and check that npm installs the same with them."""
    path = folder / "package.json"
    package = {name: value for name, value in json.loads(path.read_text()).items() if name != "overrides"}
    found = resolved(package)
    pinned = {**package, "overrides": pins(found, direct_of(package))}
    if resolved(pinned) != found:
        sys.exit(f"{path}: with its overrides npm installs other versions; nothing was written")
    path.write_text(json.dumps(pinned, indent=2) + "\n")
    return len(pinned["overrides"])


def wrong(package: Mapping[str, Any], found: Versions) -> list[str]:
    """Return the installed packages whose version is not pinned."""
    known = {**package.get("overrides", {}), **direct_of(package)}
    return sorted(
        f"{name} {version}"
        for name, installed in found.items()
        for version in installed
        if version not in (known.get(name), known.get(f"{name}@{version}"))
    )


def main(words: list[str]) -> None:
    """Run the command."""
    if words[:1] != ["--installed"]:
        if shutil.which("npm") is None:
            sys.exit("npm is needed to resolve the versions")
        for word in words:
            print(f"{word}: {pin(Path(word)):,} packages pinned")
        return
    for word in words[1:]:
        package = json.loads(Path(word, "package.json").read_text())
        lock = json.loads(Path(word, "node_modules", ".package-lock.json").read_text())
        others = wrong(package, versions(lock))
        if others:
            sys.exit(f"{word}: not pinned: {', '.join(others)}; run scripts/npm_pins.py {word}")


if __name__ == "__main__":
    main(sys.argv[1:])
