"""What is installed beside brim: bounded above where the next major version may break it, and npm's packages to the dot."""

import json
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import Requirement

from checkout import ROOT, script

npm_pins = script("npm_pins")
PAGE = ROOT / "src/brim/studio/page/package.json"
BY_DATE = ("regex",)
"""Packages whose version is a date, and says nothing of what breaks."""
TOOLS = ("test", "check", "types", "dist", "docs")
"""Extras for work on brim, which no user installs."""


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [
        Requirement(text)
        for texts in (project["dependencies"], *(extras[name] for name in extras if name not in TOOLS))
        for text in texts
    ]


def test_every_requirement_of_a_user_has_an_upper_bound_and_what_is_installed_is_within():
    found = requirements()
    assert len(found) > 25
    unbounded = [each.name for each in found if not re.search(r"<\d", str(each.specifier))]
    assert unbounded == list(BY_DATE)
    outside = []
    for each in found:
        try:
            installed = version(each.name)
        except PackageNotFoundError:
            continue
        if not each.specifier.contains(installed, prereleases=True):
            outside.append(f"{each} but {installed}")
    assert outside == []


def test_every_package_of_npm_has_an_exact_version_and_no_host_is_named():
    package = json.loads(PAGE.read_text())
    exact = {**npm_pins.direct_of(package), **package["overrides"]}
    assert len(package["overrides"]) > 40
    assert not [name for name, each in exact.items() if not re.fullmatch(r"\d+\.\d+\.\d+(?:-[\w.]+)?", each)]
    assert "://" not in PAGE.read_text()
    assert list(PAGE.parent.glob("*lock*")) == []


def test_packages_that_are_not_pinned_are_named_and_several_versions_are_pinned_each():
    lock = {
        "packages": {
            "": {"version": "0.0.0"},
            "node_modules/a": {"version": "1.0.0"},
            "node_modules/b": {"version": "2.0.0"},
            "node_modules/a/node_modules/b": {"version": "1.5.0"},
            "node_modules/@x/c": {"version": "3.1.0"},
            "node_modules/alias": {"version": "9.9.9", "name": "a"},
        }
    }
    found = npm_pins.versions(lock)
    assert found == {"a": {"1.0.0"}, "b": {"1.5.0", "2.0.0"}, "@x/c": {"3.1.0"}}
    made = npm_pins.pins(found, {"a": "1.0.0"})
    assert made == {"@x/c": "3.1.0", "b@1.5.0": "1.5.0", "b@2.0.0": "2.0.0"}
    package = {"dependencies": {"a": "1.0.0"}, "overrides": made}
    assert npm_pins.wrong(package, found) == []
    assert npm_pins.wrong(package, {**found, "b": {"2.0.1"}, "d": {"1.0.0"}}) == ["b 2.0.1", "d 1.0.0"]
