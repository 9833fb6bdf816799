"""What the pages say was measured is what the recorded runs say."""

import json
import re

import pytest

from checkout import ROOT, script

evidence = script("evidence")


def test_every_table_of_figures_is_what_the_recorded_runs_say():
    pages = evidence.pages()
    assert ROOT / "README.md" in pages
    stale = [path.name for path, text in pages.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run make pages"


def test_every_record_is_shown_on_a_page():
    pages = "".join(path.read_text(encoding="utf-8") for path in evidence.pages())
    recorded = {path.stem for path in (ROOT / "docs" / "runs").glob("*.json")}
    assert {name for name in recorded if f"<!-- {name}: written by make pages -->" not in pages} == set()


def test_the_picture_shows_the_demo_and_its_words_tell_the_same_figures():
    picture = script("picture")
    receipt = picture.fitted()
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.page(receipt), "make pages draws it"
    wanted = sum(part.size for part in receipt.parts)
    for page in ("README.md", "docs/index.md"):
        told = re.search(r"!\[([^\]]+)\]\((?:docs/)?pictures/brim.svg\)", (ROOT / page).read_text(encoding="utf-8"))
        assert f"{wanted:,}" in told[1]
        assert f"{receipt.budget:,}" in told[1]


def test_the_page_of_licences_has_every_package_that_is_installed_with_its_licence():
    licences = script("licences")
    page = licences.PAGE.read_text(encoding="utf-8")
    core = licences.packages(None)
    assert core
    for extra in (None, *licences.EXTRAS):
        section = page.partition("## The core" if extra is None else f"## `brim[{extra}]`")[2].partition("\n## ")[0]
        assert section
        found = {name: each for name, each in licences.packages(extra).items() if extra is None or name not in core}
        rows = [f"| {name} | {licences.safe(licences.licence(each))} |" for name, each in found.items()]
        assert [row for row in rows if row not in section] == [], "make pages writes it"


def test_the_page_of_ways_into_brim_has_a_row_for_each_with_its_lines():
    """The rest of a row takes seconds to measure: `make check-docs` compares it too."""
    doors = script("doors")
    part = doors.PAGE.read_text(encoding="utf-8").partition(doors.BEGIN)[2].partition(doors.END)[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if "|" in line]
    told = {row[0]: int(row[-1]) for row in cells if row[-1].isdigit()}
    assert told == {name: doors.lines_of(way) for name, way in doors.DOORS.items()}, "make pages writes it"


def test_every_record_has_its_date_machine_and_versions_and_is_a_full_run():
    records = sorted((ROOT / "docs" / "runs").glob("*.json"))
    assert records
    for path in records:
        found = json.loads(path.read_text(encoding="utf-8"))
        assert found["benchmark"] == path.stem
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
        assert found["quick"] is False
        assert found["machine"]["cpus"] >= 1
        assert found["packages"]["brim"]


def test_a_figure_that_was_changed_by_hand_is_seen():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    changed = re.sub(r"\| \*\*(\d+)\*\* \|", lambda found: f"| **{int(found[1]) + 1}** |", text, count=1)
    assert changed != text
    assert evidence.written(changed) == text


def test_a_place_for_a_record_that_is_not_there_is_an_error():
    with pytest.raises(FileNotFoundError):
        evidence.written("<!-- nothing: written by make pages -->\n<!-- end of nothing -->\n")
