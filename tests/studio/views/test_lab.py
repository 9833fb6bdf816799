"""The budget lab agrees with the library to the unit, and what it says comes back does come back."""

import json
import time
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import DoesNotFit
from brim.studio import lab_source
from brim.studio.views import lab
from brim.studio.workspace import Workspace
from properties import examples

LAST = "prompt:orders-incident@69"
"""The last step of the demo's session."""


@pytest.fixture(scope="module")
def workspace(served):
    """The demo."""
    return served.workspace


def rows(told):
    """Return the name, the state, the use and the reason of each piece."""
    return [(piece["name"], piece["state"], piece["used"], piece["reason"]) for piece in told["pieces"]]


@contextmanager
def opened_receipt(folder, receipt):
    """Yield a workspace that opened the file of a receipt, and its source in the lab."""
    path = folder / "receipt.json"
    path.write_text(receipt.to_json())
    workspace = Workspace(url=f"sqlite:///{folder}/none.db")
    yield workspace, f"prompt:{workspace.files.open(str(path), wait=60).sessions[0]}@1"
    workspace.close()


def fresh(source, budget, workspace):
    """Fit the same input with the library itself."""
    if source == lab_source.SAMPLE:
        given = lab_source.sample_receipt().capture
        options = {key: value for key, value in given.options.items() if value is not None}
        return brim.fit(list(given.sections), budget, model=given.model, meter=given.meter, **options).receipt
    last = workspace.store().entries("orders-incident", kinds=["prompt"])[-1]
    given = last.body["receipt"]["capture"]
    told = {"model": given["model"], "meter": given["meter"], "tools": given["tools"], "system": given["system"]}
    summary = [i for i, each in enumerate(given["messages"]) if "CONTEXT_SUMMARY" in str(each["content"])]
    assert len(summary) == 1
    try:
        return brim.fit_messages(given["messages"], budget, pin=summary, **told).receipt
    except DoesNotFit:
        return brim.fit_messages(given["messages"], budget, **told).receipt


@examples(25)
@given(budget=st.integers(0, 9_000), opened=st.sampled_from([lab_source.SAMPLE, LAST]))
def test_every_budget_gives_what_the_library_gives(workspace, budget, opened):
    told = lab.fit(workspace, opened, str(budget))
    if not told["fits"]:
        with pytest.raises(DoesNotFit) as caught:
            fresh(opened, budget, workspace)
        assert told["needed"] == caught.value.needed
        return
    receipt = fresh(opened, budget, workspace)
    assert told["used"] == receipt.used <= budget
    assert rows(told) == [(part.name, part.state, part.used, part.reason) for part in receipt.parts]
    assert told["dropped"] == sum(part.state == "dropped" for part in receipt.parts)
    assert told["exact"] == receipt.exact


@pytest.mark.slow
@pytest.mark.parametrize(("opened", "budget"), [(lab_source.SAMPLE, 1_700), (LAST, 2_400)])
def test_a_dropped_piece_returns_at_the_reported_budget_and_not_one_below(workspace, monkeypatch, opened, budget):
    monkeypatch.setattr(lab, "_SECONDS", 60)
    dropped = {name for name, state, *_ in rows(lab.fit(workspace, opened, str(budget))) if state == "dropped"}
    back = lab.returns(workspace, opened, str(budget))["returns"]
    assert dropped == set(back)
    for name, (units, exact) in back.items():
        assert exact
        there = {part.name: part.state for part in fresh(opened, units, workspace).parts}
        before = {part.name: part.state for part in fresh(opened, units - 1, workspace).parts}
        assert there[name] != "dropped"
        assert before[name] == "dropped"


@pytest.mark.parametrize("budget", ["-1", "7.5", "x", str(10**12)])
def test_an_invalid_budget_is_refused(workspace, budget):
    with pytest.raises(brim.InvalidValue):
        lab.fit(workspace, lab_source.SAMPLE, budget)


def test_a_cost_is_the_catalogues_and_unknown_where_it_has_none(workspace, tmp_path):
    told = lab.fit(workspace, lab_source.SAMPLE, "2600")
    assert told["cost_usd"] == pytest.approx(told["used"] * 1.25 / 1e6)
    receipt = brim.fit([brim.Section("a", "some words")], 100, meter="chars", capture=True).receipt
    with opened_receipt(tmp_path, receipt) as (none, source):
        assert lab.fit(none, source, "100")["cost_usd"] is None


def test_the_pieces_of_a_history_have_the_categories_of_the_other_screens(workspace):
    told = lab.fit(workspace, LAST, "5000")
    groups = {piece["group"] for piece in told["pieces"]}
    assert groups == {"tools", "system", "summary", "user", "assistant", "tool results"}
    assert {piece["group"] for piece in lab.fit(workspace, lab_source.SAMPLE, "2600")["pieces"]} >= {"rules", "lessons"}


def test_the_prompt_of_a_fit_is_what_is_sent(workspace):
    made = lab.result(workspace, lab_source.SAMPLE, "2600")
    assert brim.meter("gpt-5").count(made["text"]) == made["used"] <= 2_600
    assert "lessons" in made["receipt"]
    messages = json.loads(lab.result(workspace, LAST, "2400")["text"])
    assert messages[-1]["content"].startswith("Write the summary for the morning")


def many(count):
    return [
        brim.Section(f"s{i}", f"piece {i} " + "some words " * (3 + i % 20), priority=("high", "medium", "low")[i % 3])
        for i in range(count)
    ]


@pytest.mark.slow
def test_two_thousand_pieces_are_fitted_anew_while_a_slider_moves(tmp_path):
    receipt = brim.fit(many(2_000), 20_000, model="gpt-5", capture=True).receipt
    took = []
    with opened_receipt(tmp_path, receipt) as (workspace, source):
        for budget in range(9_000, 20_000, 1_000):
            began = time.process_time()
            told = lab.fit(workspace, source, str(budget))
            took.append(time.process_time() - began)
            assert len(told["pieces"]) == 2_000
    assert len(json.dumps(told)) < 800_000
    assert sorted(took)[len(took) // 2] < 0.5  # A tenth on a quiet machine; counting anew would take seconds.
