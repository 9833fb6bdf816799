import pytest

import brim
from brim.errors import InvalidValue
from brim.sessions.memory import SemanticMemory


def learned(*rows):
    memory = SemanticMemory()
    for kind, text, *pinned in rows:
        memory = memory.learned(kind, text, pinned=bool(pinned))
    return memory


def texts(entries):
    return [entry.text for entry in entries]


@pytest.mark.requirement("S0.12")
def test_entries_are_ranked_by_count_and_then_by_age():
    memory = learned(*[("banned", name) for name in ("sed -i", "rm -rf", "chmod 777", "rm -rf", "sed -i", "curl | sh")])
    assert texts(memory.top("banned")) == ["sed -i", "rm -rf", "curl | sh", "chmod 777"]
    assert texts(memory.top("banned", 2)) == ["sed -i", "rm -rf"]
    assert texts(memory.newest("banned", 2)) == ["curl | sh", "sed -i"]
    assert memory.top("preferred") == ()


def test_two_wordings_of_the_same_thing_are_one_entry_in_the_newest_words():
    memory = learned(
        ("banned", "Never  edit in place."), ("banned", "- never edit in place"), ("preferred", "never edit in place")
    )
    assert len(memory) == 2
    assert (memory.entries[0].text, memory.entries[0].count) == ("- never edit in place", 2)


@pytest.mark.requirement("X7")
def test_pinned_entries_take_their_part_first():
    rows = [("preferred", "old and pinned", True), *[("preferred", f"often {i % 3}") for i in range(30)]]
    memory = learned(*rows)
    assert texts(memory.top("preferred", 2))[0] == "old and pinned"
    prompt = brim.fit([memory.section("preferred", most=3, marker="")], 20, meter="chars")
    assert prompt.text == "old and pinned"
    assert memory.learned("preferred", "old and pinned").entries[0].pinned


@pytest.mark.requirement("S0.9")
def test_the_workers_table_can_be_filled():
    rows = [(kind, f"{kind} {i}") for i in range(9) for kind in ("banned", "preferred", "strategic")]
    memory = learned(*rows, ("banned", "banned 0"))
    sections = [
        memory.section("banned", most=5, priority=4),
        memory.section("preferred", "approaches", most=3, priority=5),
        memory.section("strategic", most=2, priority=6),
    ]
    parts = brim.fit(sections, 2_500, meter="chars").texts
    assert parts["banned"].split("\n") == ["banned 0", "banned 8", "banned 7", "banned 6", "banned 5"]
    assert parts["approaches"].split("\n") == ["preferred 8", "preferred 7", "preferred 6"]
    assert parts["strategic"].split("\n") == ["strategic 8", "strategic 7"]


def test_an_entry_is_a_sentence_and_not_a_document():
    assert len(learned(("banned", "x" * 9_000)).entries[0].text) == 500


@pytest.mark.parametrize(("kind", "text"), [("bannd", "x"), ("banned", " "), ("banned", None)])
def test_what_cannot_be_learned_is_refused(kind, text):
    with pytest.raises(InvalidValue):
        SemanticMemory().learned(kind, text)
