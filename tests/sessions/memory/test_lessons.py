import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.errors import InvalidValue
from brim.sessions.memory import Attempt, EpisodicMemory, Lesson, distilled
from brim.sessions.memory.lessons import NO_ATTEMPTS, NO_LESSON
from properties import examples

SENTENCE = "Edit of /etc/aide.conf failed because the db needs --init; run `aide --init` after it."


@pytest.mark.requirement("S0.13")
@pytest.mark.parametrize(
    "reply",
    [
        f"DISTILLED_LESSON: {SENTENCE}",
        f"DISTILLED: {SENTENCE}",
        f"distilled_lesson:{SENTENCE}",
        f"Distilled Lesson: {SENTENCE}",
        f"I tried it. It failed.\n\n**DISTILLED_LESSON:** {SENTENCE}\n\nVERDICT: CONTINUE",
        f"**DISTILLED_LESSON**: {SENTENCE}",
        f"- `DISTILLED_LESSON`: {SENTENCE}",
        f"## DISTILLED_LESSON: {SENTENCE}",
        f"> _DISTILLED:_ {SENTENCE}",
        f'DISTILLED_LESSON: "{SENTENCE}"',
        f"DISTILLED_LESSON: **{SENTENCE}**",
        f"In short, DISTILLED_LESSON: {SENTENCE}",
        f"DISTILLED_LESSON:\n\n{SENTENCE}",
        f"DISTILLED_LESSON: <one sentence>\nDISTILLED_LESSON: {SENTENCE}",
        f"DISTILLED_LESSON: A first thought.\nNo, better:\nDISTILLED_LESSON: {SENTENCE}",
        f"DISTILLED_LESSON: {SENTENCE}\r\nBANNED: none",
        f"DISTILLED_LESSON\uff1a{SENTENCE}",
    ],
)
def test_the_named_lesson_is_found_however_it_is_spelled_and_decorated(reply):
    lesson = distilled(reply)
    assert (lesson.text, lesson.distilled) == (SENTENCE, True)


@pytest.mark.requirement("S0.13")
@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("The edit failed. The db was stale. " + "More. " * 300, "The edit failed."),
        ("## Reflection\n\n```\ncode\n```\n", "code"),
        ("# Reflection\n- **The edit failed!** And more.", "The edit failed!"),
        ("DISTILLED_LESSON: <one sentence>\nThe edit of a.conf failed. So.", "The edit of a.conf failed."),
        ("DISTILLED_LESSON:", NO_LESSON),
        ("It broke. Badly.\nDISTILLED_LESSON:\nVERDICT: CONTINUE", "It broke."),
        ("", NO_LESSON),
        (" \n*** \n", NO_LESSON),
        ("undistilled: nothing of the kind", "undistilled: nothing of the kind"),
        ("編集は失敗した。理由は不明。", "編集は失敗した。"),
    ],
)
def test_without_a_named_lesson_the_first_sentence_serves(reply, text):
    lesson = distilled(reply)
    assert (lesson.text, lesson.distilled) == (text, False)


@pytest.mark.requirement("S0.13")
@examples(30)
@given(st.text(max_size=60), st.text(max_size=3_000))
def test_a_lesson_is_one_bounded_line_and_never_the_whole_text(before, after):
    for reply in (before + after, f"{before}DISTILLED_LESSON: {after}", before + "word " * 900):
        lesson = distilled(reply)
        assert 0 < len(lesson.text) <= 200
        assert len(lesson.text.splitlines()) == 1


def test_a_huge_reply_is_read_at_its_ends_in_no_time():
    reply = "DISTILLED " * 300_000 + "\nDISTILLED_LESSON: Ask for less."
    assert distilled(reply).text == "Ask for less."


def attempts(count, lesson="The db needs --init after each change of the config, so run aide --init --verbose first."):
    memory, events = EpisodicMemory(), []
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
    held = repr(memory) + memory.text()
    for raw in ("approach 1", "failed failed", "goes on"):
        assert raw not in held
    event = events[1]
    assert event["event"] == "attempt_recorded"
    assert event["attempt"] == 2
    assert [len(event[name]) for name in ("approach", "result", "reflection")] == [440, 210, 550], "whole"
    assert event["approach"].startswith("approach 1")


@pytest.mark.requirement("S0.13")
def test_a_lesson_that_wraps_over_lines_is_kept_whole():
    """The document's own lesson has two lines, and the second was lost."""
    lesson = (
        "Tried to edit /etc/aide.conf directly; failed because the AIDE\n"
        "db needs --init after config changes. Reflector: use `aide --init --verbose`."
    )
    for after in ("", "\n", "\nVERDICT: CONTINUE", "\n\nSome more words.", "\nSome more words after the end."):
        assert distilled(f"CAUSE: it\nDISTILLED_LESSON: {lesson}{after}").text == lesson.replace("\n", " ")
    assert distilled(f"DISTILLED_LESSON:\n{lesson}\n").text == lesson.replace("\n", " ")
    assert distilled("DISTILLED_LESSON: run aide --init\nThat is all.").text == "run aide --init"


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
    assert EpisodicMemory().text() == NO_ATTEMPTS == "No prior attempts"
    assert brim.fit([EpisodicMemory().section("tries", priority="high")], 100, meter="chars").text == NO_ATTEMPTS


def test_a_tight_budget_keeps_the_newest_lesson():
    memory, _ = attempts(20, "Do less.")
    prompt = brim.fit([memory.section(marker="")], 30, meter="chars")
    assert prompt.text == "Attempt 20: Do less. #19"


def test_without_a_reflection_the_approach_is_remembered():
    memory, event = EpisodicMemory().after(approach="Edited the file by hand. Then waited.")
    assert memory.text() == "Attempt 1: Edited the file by hand."
    assert event["distilled"] is False


def test_a_number_that_was_had_before_is_refused():
    memory = EpisodicMemory((Attempt(number=5, lesson=Lesson(text="x", distilled=True)),))
    with pytest.raises(InvalidValue, match="number must be a whole number of at least 6, not 5"):
        memory.after(reflection="y", number=5)
