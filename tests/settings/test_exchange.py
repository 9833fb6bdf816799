"""One call, or two where a history is summarised first."""

import pytest

import brim
from brim.errors import ModelError
from brim.testing import Scripted

ATTEMPTS = [f"Attempt {i}: edited the file and it failed again for reason {i}." for i in range(200)]


def settings(strategy, **flags):
    given = {"history.strategy": strategy, "prompt.total": 300, "window.size": 16_384, **flags}
    return brim.load_config(environ={}, flags=given).resolve()


@pytest.mark.requirement("S0.19")
def test_strategy_a_cuts_and_makes_no_extra_call():
    model = Scripted(["done"])
    made = settings("A").exchange({"task": "Fix it.", "history": ATTEMPTS}, model)
    assert (made.calls, len(model.asked), made.reply.text, made.summary) == (1, 1, "done", None)
    assert made.prompt.receipt.part("history").state == "cut"


@pytest.mark.requirement("S0.19")
def test_strategy_b_has_the_history_summarised_and_then_asks_with_the_summary():
    model = Scripted(["All edits of the file failed.", "done"])
    events = []
    made = settings("B").exchange(
        {"task": "Fix it.", "history": ATTEMPTS}, model, emit=events.append, system="You act."
    )
    first, second = model.asked
    assert ATTEMPTS[0] in first
    assert ATTEMPTS[-1] in first
    granted = (
        settings("A").fit({"task": "Fix it.", "history": ATTEMPTS}, system="You act.").receipt.part("history").granted
    )
    assert first.startswith("Summarise this history")
    assert f"At most {granted} tokens." in first
    assert granted > 200
    assert second == "You act.\n\nFix it.\n\nAll edits of the file failed."
    assert (made.calls, made.summary) == (2, "All edits of the file failed.")
    assert [event["sections_truncated"] for event in events] == [[]]


@pytest.mark.requirement("S0.19")
def test_strategy_b_calls_once_where_the_history_fits():
    model = Scripted(["done"])
    assert settings("B").exchange({"task": "Fix it.", "history": ATTEMPTS[:2]}, model).calls == 1


def test_what_is_to_be_summarised_is_itself_kept_to_the_window():
    model = Scripted(["short", "done"])
    settings("B", **{"window.size": 2_000}).exchange({"history": ATTEMPTS}, model)
    first = model.asked[0]
    assert brim.meter("o200k_base").count(first) <= 1_800
    assert ATTEMPTS[-1] in first
    assert ATTEMPTS[0] not in first


def test_a_summary_that_fails_is_done_without_and_the_reason_told():
    model = Scripted([ModelError("no answer", status=503), "done"])
    made = settings("B").exchange({"history": ATTEMPTS}, model)
    assert (made.reply.text, made.calls, made.summary) == ("done", 2, None)
    assert made.reason == "the history was truncated, since its summary failed: no answer"
    assert made.prompt.receipt.truncated


def test_a_history_that_is_not_there_is_refused():
    with pytest.raises(brim.UnknownName, match="no section is called 'past'"):
        settings("B").exchange({"history": ATTEMPTS}, Scripted([]), history="past")


def test_strategy_b_summarises_the_lessons_where_there_is_no_history():
    """Strategy B raised on the worker's table, which has lessons and no history."""
    lessons = [f"Attempt {i}: tried way {i}, and it failed." for i in range(1, 31)]
    model = Scripted(["Ways 1 to 27 all failed.", "done"])
    worker = brim.load_config(environ={}, flags={"model": "gpt-5", "history.strategy": "B"}).resolve(profile="forge")
    made = worker.exchange({"rule": "V-2301", "lessons": lessons}, model)
    assert [each in model.asked[0] for each in (lessons[0], lessons[26], lessons[27])] == [True, True, False]
    shown = "\n".join(lessons[-3:])
    assert made.prompt.text == f"V-2301\n\nWays 1 to 27 all failed.\n{shown}"
