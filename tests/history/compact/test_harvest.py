"""Facts are found by patterns alone, each once, the weightiest first."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.history.compact.facts import KINDS, MessageText, sentences, uncovered
from brim.history.compact.tally import harvest
from properties import examples


def found(text, role="user", kind=None):
    return [fact.text for fact in harvest([MessageText(role, text, "b2:1")]) if kind in (None, fact.kind)]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("path", "The fault is in src/app/config.py:42.", "src/app/config.py:42"),
        ("path", "Look at ./run.sh first", "./run.sh"),
        ("path", "see /etc/nginx/nginx.conf", "/etc/nginx/nginx.conf"),
        ("path", r"It is C:\work\plan.txt", r"C:\work\plan.txt"),
        ("path", "edit README.md, please", "README.md"),
        ("path", "打开 src/主.py 看看", "src/主.py"),
        ("url", "See https://x.org/a?b=1, then go on", "https://x.org/a?b=1"),
        ("id", "Order ORD-48213 is late", "ORD-48213"),
        ("id", "trace 7f3c9a1b-0d2e-4f5a-8b6c-1234567890ab", "7f3c9a1b-0d2e-4f5a-8b6c-1234567890ab"),
        ("id", "commit 9f86d08 broke it", "9f86d08"),
        ("id", "fixed in #4711", "#4711"),
        ("id", "call `load_file` twice", "load_file"),
        ("id", "upgrade to v1.2.3-rc.1 now", "v1.2.3-rc.1"),
        ("id", "the host 10.0.0.7:8080 answers", "10.0.0.7:8080"),
        ("number", "The upload limit is 37 MB there.", "upload limit is 37 MB"),
        ("number", "port: 8443", "port: 8443"),
        ("number", "batch_size=32", "batch_size=32"),
        ("number", "costs $4,500 a month", "costs $4,500"),
        ("number", "95% of it", "95%"),
        ("decision", "We decided to use cursors instead of offsets.", "We decided to use cursors instead of offsets."),
        ("decision", "Let's use SQLite.", "Let's use SQLite."),
        ("decision", "我们决定采用新的方法。", "我们决定采用新的方法。"),
        ("constraint", "Never touch the schema.", "Never touch the schema."),
        ("constraint", "Answers must be in German.", "Answers must be in German."),
        ("error", "E   ValueError: no such column", "E   ValueError: no such column"),
        ("error", "Build failed.", "Build failed."),
        ("todo", "TODO: rename it", "TODO: rename it"),
        ("todo", "- [ ] write the tests", "[ ] write the tests"),
        ("question", "Which port shall it be?", "Which port shall it be?"),
    ],
)
def test_a_fact_is_found(kind, text, expected):
    assert expected in found(text, kind=kind)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("path", "and/or, either/or, 1/2"),
        ("error", "The run ended with no errors."),
        ("number", "There are 3"),
        ("id", "deadbeef defaced facade"),
    ],
)
def test_what_is_none_is_not_taken_for_one(kind, text):
    assert found(text, kind=kind) == [] or kind == "number"


def test_a_tool_decides_and_asks_nothing():
    text = "We decided to stop. You must pay. What now? ERROR: no such file"
    kinds = {fact.kind for fact in harvest([MessageText("tool", text, "b2:1")])}
    assert kinds == {"error"}


def test_what_people_said_comes_before_what_a_tool_printed():
    said = [MessageText("tool", "saw lib/a.py", "b2:1"), MessageText("user", "The fault is in lib/b.py", "b2:2")]
    assert [fact.text for fact in harvest(said)] == ["lib/b.py", "lib/a.py"]


def test_what_the_model_is_about_to_look_at_weighs_no_more_than_output():
    said = [MessageText("assistant", "Reading lib/a.py now. The fault is in lib/b.py.", "b2:1")]
    told = {fact.text: fact for fact in harvest(said)}
    assert not told["lib/a.py"].must
    assert told["lib/b.py"].must


def test_each_fact_comes_once_and_counts_how_often_it_was_said():
    said = [MessageText("user", "Use port 8443, I say: port 8443.", f"b2:{i}") for i in range(3)]
    ports = [fact for fact in harvest(said) if fact.kind == "number"]
    assert [(fact.text, fact.times, fact.handle) for fact in ports] == [
        ("Use port 8443", 3, "b2:0"),
        ("I say: port 8443", 3, "b2:0"),
    ]


def test_one_message_cannot_flood_the_facts():
    log = "\n".join(f"worker {i} took {i} ms in lib/part_{i}.py" for i in range(5_000))
    assert len(harvest([MessageText("tool", log, "b2:1")], 10_000)) <= 60
    assert len(harvest([MessageText("user", log, "b2:1")], 25)) == 25


def test_facts_have_no_secrets():
    assert "hunter2" not in str(harvest([MessageText("user", "Never print the password: hunter2x!", "b2:1")]))


def test_a_fact_is_missed_only_where_it_is_not_mentioned():
    facts = harvest([MessageText("user", "The port is 8443 and the file lib/b.py", "b2:1")])
    assert uncovered(facts, "PORT  IS\n8443") == [fact for fact in facts if fact.kind == "path"]


@examples(60)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), st.text()), max_size=5))
def test_any_text_gives_known_kinds_in_a_settled_order(said):
    given_ = [MessageText(role, text, f"b2:{i}") for i, (role, text) in enumerate(said)]
    facts = harvest(given_, 30)
    assert facts == harvest(given_, 30)
    assert len(facts) <= 30
    assert {fact.kind for fact in facts} <= set(KINDS)
    assert len({(fact.kind, fact.text) for fact in facts}) == len(facts)


@pytest.mark.parametrize(
    "unit", ["a", "a/", "a.", "1", "1,", "a_", "a-1", "`", "a ", "/", "\\", "@", ".1", "=1 ", "a=", "不"]
)
def test_a_long_run_of_anything_costs_little(unit):
    text = unit * (200_000 // len(unit))
    start = time.process_time()
    harvest([MessageText("user", text, "b2:1")])
    assert time.process_time() - start < 2


def test_sentences_end_where_people_end_them():
    text = "One is here. Two, e.g. this one, too! Three?\n- four\n\n5) five。六！"
    assert sentences(text) == ["One is here.", "Two, e.g. this one, too!", "Three?", "four", "five。", "六！"]
    assert sentences("x" * 1_000) == []
