import json
import os
from pathlib import Path

import pytest

import brim as library
from brim import Section, replay

SECTIONS = [
    Section("rules", "be brief", priority="required"),
    Section("log", "a log that is rather long, so that not all of it can stay", priority="low"),
]


@pytest.mark.usefixtures("spec")
def test_the_prompt_is_on_standard_output_byte_for_byte(brim):
    told = brim("fit", "spec.yaml")
    assert told.code == 0
    assert told.out == library.fit(SECTIONS, 60, meter="chars").text
    assert told.err.splitlines()[0] == "60 of 60 chars (chars, exact), 2 of 2 sections, 1 shortened or dropped"
    assert told.err.splitlines()[1].split()[:2] == ["log", "cut"]


@pytest.mark.usefixtures("spec")
def test_in_a_terminal_the_summary_has_a_line_of_its_own(brim, monkeypatch):
    """It was "The second document.14 of 4,000 tokens"."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert brim("fit", "spec.yaml").out == library.fit(SECTIONS, 60, meter="chars").text + "\n"


@pytest.mark.usefixtures("here")
def test_bytes_are_kept_whatever_they_are(brim, capfdbinary, monkeypatch):
    Path("spec.yaml").write_text(
        'meter: chars\nbudget: 99\nsections: [{name: a, content: "\\r\\n\\ud800é\\u2028\\n"}]\n'
    )
    from brim.cli import main

    assert main(["fit", "spec.yaml"]) == 0
    assert capfdbinary.readouterr().out == "\r\n\ud800é\u2028\n".encode("utf-8", "surrogatepass")


@pytest.mark.usefixtures("spec")
def test_the_receipt_is_written_and_can_be_replayed(brim):
    told = brim("fit", "spec.yaml", "--out", "prompt.txt", "--receipt", "receipt.json", "--capture")
    assert (told.code, told.out) == (0, "")
    written = Path("receipt.json").read_text()
    assert json.loads(written)["version"] == 1
    assert replay(written).text == Path("prompt.txt").read_text()
    assert sorted(os.listdir()) == ["prompt.txt", "receipt.json", "spec.yaml"]


@pytest.mark.usefixtures("spec")
def test_options_stand_in_for_the_file(brim):
    assert brim("fit", "spec.yaml", "--budget", "8").out == "be brief"
    assert "(o200k_base, exact)" in brim("fit", "spec.yaml", "--model", "gpt-5").err


@pytest.mark.usefixtures("spec")
def test_nothing_is_written_where_nothing_fits(brim):
    Path("prompt.txt").write_text("the old one")
    told = brim("fit", "spec.yaml", "--budget", "3", "--out", "prompt.txt", "--receipt", "receipt.json")
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("brim: the prompt does not fit: its required parts need 8 chars and the budget is 3")
    assert told.err.count("\n") == 1
    assert Path("prompt.txt").read_text() == "the old one"
    assert not Path("receipt.json").exists()


def test_a_receipt_with_texts_is_for_its_owner_alone(brim, here):
    (here / "a.yaml").write_text("sections:\n- name: a\n  content: some text that is not for everybody\n")
    assert brim("fit", "a.yaml", "--budget", "40", "--receipt", "r.json", "--capture").code == 0
    assert brim("fit", "a.yaml", "--budget", "40", "--receipt", "plain.json").code == 0
    assert (here / "r.json").stat().st_mode & 0o077 == 0
    assert (here / "plain.json").stat().st_mode == (here / "a.yaml").stat().st_mode
