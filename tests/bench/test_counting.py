import json

import pytest
from bench.outcome import Gate, Outcome, Setting, Table

from bench import counting, record


@pytest.mark.parametrize("library", ["brim", "tiktoken"])
def test_a_library_counts_a_long_text_short_ones_and_hard_ones_as_the_reference_does(library):
    equal, *speeds, wrong, _ = counting.measured(counting.LIBRARIES[library](), size=20_000, hard=60)
    assert (equal, wrong) == ("yes", 0)
    assert all(speed > 0 for speed in speeds)


def test_a_record_holds_the_figures_and_where_they_come_from(tmp_path):
    table = Table(title="T", columns=["what", "ms"], rows=[["brim", 1.23456], ["other", float("nan")]])
    gate = Gate(name="fast", value=0.000123456, limit=1, unit="ms")
    path = record.write(
        record.recorded(Outcome(name="some", tables=[table], gates=[gate]), Setting(), 1.6), tmp_path / "runs"
    )
    told = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "some.json"
    assert told["tables"][0]["rows"] == [["brim", 1.235], ["other", None]]
    assert told["gates"][0] == {
        "name": "fast", "value": 0.0001235, "limit": 1, "unit": "ms", "at_least": False, "passed": True,
    }  # fmt: skip
    assert (told["benchmark"], told["command"], told["seconds"]) == ("some", "python -m bench some", 2)
    assert told["packages"]["brim"]
    assert told["quick"] is False
