"""What the pages say was measured is what the recorded runs say."""

import json
import re
import sys
import tomllib
from importlib.resources import as_file, files

import pytest

from brim.settings.spec import read_spec
from checkout import ROOT, script

sys.path.append(str(ROOT))

from bench import record

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_table_of_figures_is_what_the_recorded_runs_say():
    stale = [path.name for path, text in record.pages().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run make pages"


def strange(text):
    """Return the figures in the table of the README that are not in the record of the command beside them."""
    found = []
    for own, others, name in re.findall(r"\| \*\*(.+?)\*\* \| (.+?) \| `make bench BENCH=\"?(\w+)", text):
        tables = record.read(name)["tables"]
        values = [value for table in tables for row in table["rows"] for value in row]
        known = {record.cell(value) for value in values} | {
            f"{v:.0%}" for v in values if isinstance(v, float) and v < 1
        }
        known.add(str(sum(not str(row[0]).startswith("brim") for row in tables[0]["rows"])))
        told = re.findall(r"(?<![\w.])\d[\d,.]*\b%?", f"{own} {others}".replace(" %", "%"))
        found += [figure for figure in told if figure not in known]
    return found


def test_every_figure_of_the_readme_is_in_the_record_that_its_command_writes():
    assert README.count("| `make bench BENCH=") == 4
    assert strange(README) == []


def test_every_record_is_shown_on_a_page():
    pages = "".join(path.read_text(encoding="utf-8") for path in record.pages())
    recorded = {path.stem for path in (ROOT / "docs" / "runs").glob("*.json")}
    assert {name for name in recorded if f"<!-- {name}: written by make pages -->" not in pages} == set()


def test_the_picture_shows_the_demo_and_its_words_tell_the_same_figures():
    """The picture is drawn by hand: its texts are the figures of the receipt of `brim demo`."""
    with as_file(files("brim.cli").joinpath("demo_prompt")) as folder:
        receipt = read_spec(str(folder / "spec.yaml")).fit().receipt
    picture = (ROOT / "docs" / "pictures" / "brim.svg").read_text(encoding="utf-8")
    shown = re.findall(r"<text[^>]*>([^<]+)</text>", picture)
    wanted = sum(part.size for part in receipt.parts)
    assert f"before: {wanted:,}" in shown
    assert f"after: {receipt.used:,}" in shown
    assert f"the brim: {receipt.budget:,} {receipt.unit}" in shown
    assert f"{receipt.unused:,} free, {len(receipt.losses)} losses on the receipt" in shown
    for part in receipt.parts:
        got = f"{part.used:,}" if part.used else "dropped"
        told = f"{part.size:,}" if part.used == part.size else f"{part.size:,} → {got}"
        assert shown[shown.index(part.name) + 1] == told
    for page in ("README.md", "docs/index.md"):
        told = re.search(r"!\[([^\]]+)\]\((?:docs/)?pictures/brim.svg\)", (ROOT / page).read_text(encoding="utf-8"))
        assert f"{wanted:,}" in told[1]
        assert f"{receipt.budget:,}" in told[1]


def test_the_page_of_licences_names_every_package_that_the_core_and_the_extras_ask_for():
    page = (ROOT / "docs" / "reference" / "licences.md").read_text(encoding="utf-8")
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sections = dict(re.findall(r"^## (?:`brim\[)?(.+?)(?:\]`)?$(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE))
    assert {"open", "gateway", "studio"} < set(sections)
    for name, section in sections.items():
        listed = asked["dependencies"] if name == "The core" else asked["optional-dependencies"][name]
        for package in (re.match(r"[\w-]+", each)[0].lower().replace("_", "-") for each in listed):
            assert f"| {package} | " in section + sections["The core"], (name, package)


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
    assert strange(README.replace("**91 %**", "**91.4 %**")) == ["91.4%"]
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert record.written(page.replace("| **99** |", "| **98** |")) == page


def test_a_place_for_a_record_that_is_not_there_is_an_error():
    with pytest.raises(FileNotFoundError):
        record.written("<!-- nothing: written by make pages -->\n<!-- end of nothing -->\n")
