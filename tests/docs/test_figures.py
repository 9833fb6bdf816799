"""What the pages say was measured is what the recorded runs say."""

import json
import re
import sys
from pathlib import Path

import pytest

from checkout import ROOT, script

sys.path.append(str(Path(__file__).parents[2]))

from bench.outcome import Gate, Outcome, Setting
from bench.replay import Fit

from bench import histories, history_growth, recall, record

comparison = script("comparison")
runs = comparison.runs


def test_every_page_of_figures_is_what_the_recorded_runs_say():
    pages = comparison.pages()
    assert [path.name for path in pages if path.read_text(encoding="utf-8") != pages[path]()] == [], "run make pages"


def test_the_page_of_verdicts_is_what_the_recorded_run_says():
    conformance = script("conformance")
    assert conformance.PAGE.read_text(encoding="utf-8") == conformance.written(), "make pages writes it"


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


def test_a_figure_that_was_changed_by_hand_is_seen(tmp_path, monkeypatch):
    text = comparison.README.read_text(encoding="utf-8")
    changed = re.sub(r"\| \*\*(\d+)\*\* \|", lambda found: f"| **{int(found[1]) + 1}** |", text, count=1)
    assert changed != text
    assert runs.between(changed, "figures", comparison.figures()) != changed


def test_what_was_not_recorded_is_not_printed(monkeypatch, tmp_path):
    (tmp_path / "fitting.json").write_text((runs.RUNS / "fitting.json").read_text())
    kept = runs.record
    monkeypatch.setattr(runs, "record", lambda name: kept(name, tmp_path))
    page = comparison.page()
    assert "## Putting a prompt together" in page
    assert "## Counting" not in page
    assert "right, of" not in page


def test_a_page_without_a_place_for_figures_is_told():
    with pytest.raises(LookupError, match="no place for figures"):
        runs.between("# A page\n", "figures", "a table")


def fit(**other):
    values = {
        "run": 0, "share": 0.5, "length": 9, "kind": "tight", "budget": 100, "whole": 200, "size": 90, "shared": 60,
        "seconds": 0.001, "once": 0.01, "illegal": None, "newest": "whole", "system": True, "task": "whole",
        "changed": True, "error": None,
    }  # fmt: skip
    return Fit(**values | other)


@pytest.fixture
def all_recorded(tmp_path, monkeypatch):
    """Records of the long benchmarks, made of their own tables with made-up figures, where the pages look for them."""
    names = ("no trimming", "brim History", "brim History stable", "another")
    replayed = [histories.Replayed(name=name, runs=1, done=1, fits=[fit(), fit()]) for name in names]
    seconds = {number: {"once": 0.01, "first": 0.001 * number, "next": 0.002} for number in history_growth.NUMBERS}
    monkeypatch.setattr(history_growth, "_grown", lambda *_: seconds)
    grown = history_growth.measured(Setting())
    tables = [histories._verdicts(replayed, replayed), histories._worth(replayed), *grown.tables]
    kept = recall.Kept(shares={budget: [("single-hop", 0.75)] for budget in recall.BUDGETS}, seconds=1, fits=3)
    ways = dict.fromkeys(("recency", "BM25, plain", "brim, relevance"), kept)
    gate = Gate(name="import brim", value=81.2, limit=100, unit="ms")
    for outcome in (
        Outcome(name="histories", tables=tables),
        Outcome(name="recall", tables=[recall._by_way(ways, [])]),
        Outcome(name="footprint", tables=[], gates=[gate]),
    ):
        record.write(outcome, Setting(), 1, tmp_path)
    found = runs.record
    monkeypatch.setattr(runs, "record", lambda name: found(name, tmp_path) or found(name))


@pytest.mark.usefixtures("all_recorded")
def test_the_pages_have_a_place_for_every_benchmark_that_may_be_recorded():
    page, table = comparison.page(), comparison.figures()
    for title in ("on agent runs", "As a history grows", "is the evidence still in the prompt?"):
        assert title in page
    assert "| another | 0 |" in page
    assert "| the next fit of a history of 10,000 messages, ms | **2.00** |" in table
    assert "in a prompt of 2,000 tokens chosen by relevance | **75%** |" in table
    assert "| import brim | **81.2 ms** |" in table
    assert "Not recorded yet" not in page or "`histories`" not in page.partition("Not recorded yet")[2]
    assert all(plot().startswith("<svg") for plot in comparison.plots().values())
