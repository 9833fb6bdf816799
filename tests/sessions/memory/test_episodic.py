import json

import pytest

import brim
from brim.errors import InvalidValue
from brim.sessions.memory.episodic import NONE, Attempt, Episodic
from brim.sessions.memory.lesson import Lesson


def attempts(count, lesson="The db needs --init after each change of the config, so run aide --init --verbose first."):
    memory, events = Episodic(), []
    for i in range(count):
        memory, event = memory.after(
            approach=f"approach {i} " * 40,
            result="failed " * 30,
            reflection=f"Reflection {i} goes on. " * 20 + f"\nDISTILLED_LESSON: {lesson} #{i}",
        )
        events.append(event)
    return memory, events


@pytest.mark.requirement("S0.14")
def test_the_memory_holds_the_lesson_and_the_event_alone_the_raw_text():
    memory, events = attempts(2)
    held = repr(memory) + json.dumps(memory.to_list()) + memory.text()
    for raw in ("approach 1", "failed failed", "goes on"):
        assert raw not in held
    event = events[1]
    assert event["event"] == "attempt_recorded"
    assert event["attempt"] == 2
    assert [len(event[name]) for name in ("approach", "result", "reflection")] == [200, 80, 120]
    assert event["approach"].startswith("approach 1")


@pytest.mark.requirement("S0.15")
def test_attempts_are_shown_with_their_true_numbers():
    memory, _ = attempts(20, "Do less.")
    assert memory.text(3) == "Attempt 18: Do less. #17\nAttempt 19: Do less. #18\nAttempt 20: Do less. #19"
    later, event = memory.after(reflection="Stop.", number=31)
    assert event["attempt"] == 31
    assert later.text(1) == "Attempt 31: Stop."


@pytest.mark.requirement("S0.9")
def test_of_twenty_lessons_exactly_the_newest_three_reach_the_prompt():
    memory, _ = attempts(20)
    prompt = brim.fit([memory.section()], 10_000, meter="chars")
    assert [line[:11] for line in prompt.text.split("\n")] == ["Attempt 18:", "Attempt 19:", "Attempt 20:"]
    assert not prompt.receipt.truncated


@pytest.mark.requirement("S0.16")
@pytest.mark.parametrize("count", [17, 20])
def test_what_the_prompt_carries_is_a_twentieth_of_what_it_was(count):
    raw = sum(
        len(text[:most])
        for i in range(count)
        for text, most in ((f"approach {i} " * 40, 200), ("f" * 80, 80), ("r" * 120, 120))
    )
    assert 6_000 <= raw <= 8_000
    memory, _ = attempts(count, "The db needs --init after a change: run aide --init --verbose before the check.")
    shown = memory.text()
    assert len(shown) * 20 <= raw
    assert len(attempts(500)[0].text()) <= len(attempts(20)[0].text()) + 12


def test_where_there_were_no_attempts_it_says_so():
    assert Episodic().text() == NONE == "No prior attempts"
    assert brim.fit([Episodic().section("tries", priority="high")], 100, meter="chars").text == NONE


def test_a_tight_budget_keeps_the_newest_lesson():
    memory, _ = attempts(20, "Do less.")
    prompt = brim.fit([memory.section(marker="")], 30, meter="chars")
    assert prompt.text == "Attempt 20: Do less. #19"


def test_without_a_reflection_the_approach_is_remembered():
    memory, event = Episodic().after(approach="Edited the file by hand. Then waited.")
    assert memory.text() == "Attempt 1: Edited the file by hand."
    assert event["distilled"] is False


def test_it_comes_back_from_json():
    memory, _ = attempts(4)
    assert Episodic.from_list(json.loads(json.dumps(memory.to_list()))) == memory


@pytest.mark.parametrize(
    "rows", [[7], [{"lesson": "x"}], [{"attempt": 2, "lesson": "x"}] * 2, [{"attempt": 0, "lesson": "x"}]]
)
def test_what_is_no_memory_is_refused(rows):
    with pytest.raises(InvalidValue):
        Episodic.from_list(rows)


def test_a_number_that_was_had_before_is_refused():
    memory = Episodic((Attempt(number=5, lesson=Lesson(text="x", distilled=True)),))
    with pytest.raises(InvalidValue, match="number must be a whole number of at least 6, not 5"):
        memory.after(reflection="y", number=5)
