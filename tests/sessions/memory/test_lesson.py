import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import InvalidType
from brim.sessions.memory.lesson import NONE, distilled

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
        ("DISTILLED_LESSON:", NONE),
        ("It broke. Badly.\nDISTILLED_LESSON:\nVERDICT: CONTINUE", "It broke."),
        ("", NONE),
        (" \n*** \n", NONE),
        ("undistilled: nothing of the kind", "undistilled: nothing of the kind"),
        ("編集は失敗した。理由は不明。", "編集は失敗した。"),
    ],
)
def test_without_a_named_lesson_the_first_sentence_serves(reply, text):
    lesson = distilled(reply)
    assert (lesson.text, lesson.distilled) == (text, False)


@pytest.mark.requirement("S0.13")
@given(st.text(max_size=60), st.text(max_size=3_000))
def test_a_lesson_is_one_bounded_line_and_never_the_whole_text(before, after):
    for reply in (before + after, f"{before}DISTILLED_LESSON: {after}", before + "word " * 900):
        lesson = distilled(reply)
        assert 0 < len(lesson.text) <= 200
        assert len(lesson.text.splitlines()) == 1


def test_a_huge_reply_is_read_at_its_ends_in_no_time():
    reply = "DISTILLED " * 300_000 + "\nDISTILLED_LESSON: Ask for less."
    assert distilled(reply).text == "Ask for less."


def test_what_is_no_text_is_refused():
    with pytest.raises(InvalidType, match="reply must be a text, not None"):
        distilled(None)
