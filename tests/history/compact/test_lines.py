"""What was said and done, line by line: the kind of each, and nothing that is not a line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import InvalidValue
from brim.history.compact.lines import HEADINGS, Line, once, read_messages, read_text, sentences
from brim.history.turns import Turns
from brim.meter import meter
from properties import examples
from talk import calling, model, result, user


def lines(messages):
    turns = Turns(meter("chars"))
    turns.extend(messages)
    return read_messages(turns, range(len(turns)))


def found(text, role="user", kind=None):
    return [line.text for line in once(read_text(role, text)) if kind in (None, line.kind)]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("said", "The upload limit is 37 MB there.", "The upload limit is 37 MB there."),
        ("said", "We decided to use cursors instead of offsets.", "We decided to use cursors instead of offsets."),
        ("said", "Vegetarian, please.", "Vegetarian, please."),
        ("said", "我们决定采用新的方法。", "我们决定采用新的方法。"),
        ("said", "服务器的端口是八千。", "服务器的端口是八千。"),
        ("said", "Never touch the schema.", "Never touch the schema."),
        ("said", "No.", "No."),
        ("said", "See /srv/m18/x_1.py:12, /srv/m19/", "See /srv/m18/x_1.py:12, /srv/m19/"),
        ("said", "Answers must be in German.", "Answers must be in German."),
        ("said", "No nuts!", "No nuts!"),
        ("todo", "TODO: rename it", "TODO: rename it"),
        ("todo", "- [ ] write the tests", "[ ] write the tests"),
        ("todo", "☐ テストを書く", "☐ テストを書く"),
        ("todo", "TODO：删除调试头。", "TODO：删除调试头。"),
        ("done", "- [x] write the tests", "[x] write the tests"),
        ("done", "✅ テストを書いた", "✅ テストを書いた"),
        ("question", "Which port shall it be?", "Which port shall it be?"),
    ],
)
def test_a_line_is_found_and_its_kind_known(kind, text, expected):
    assert expected in found(text, kind=kind)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("said", "8443"),
        ("said", "x = foo(bar)[3] + baz"),
        ("said", "| a | b | 12 |"),
        ("todo", "Nothing is left to do."),
        ("done", "I am done with it."),
    ],
)
def test_what_is_none_is_not_taken_for_one(kind, text):
    assert found(text, kind=kind) == []


def test_a_tool_decides_and_asks_nothing_and_makes_no_rule():
    text = "We decided to stop.\nYou must pay.\nWhat now?\nERROR: no such file"
    assert {line.kind for line in once(read_text("tool", text))} == {"end"}
    assert found(text, "tool") == ["ERROR: no such file"]


@pytest.mark.parametrize(
    "sentence",
    ["Nothing has been fixed for tenant globex.", "Neither relay is fixed.", "The tests are far from done.",
     "I still have to ask the owner.", "not done yet", "Tests passed, but the deploy was not verified."],
)  # fmt: skip
def test_a_sentence_is_no_report_of_work_done_whatever_its_words(sentence):
    """ "Nothing has been fixed for tenant globex" stood under Done; only a box or a check mark reports that."""
    (line,) = read_text("assistant", sentence)
    assert line.kind == "own"


@pytest.mark.parametrize(
    "arguments",
    [
        {"todos": [{"content": "Fix the parser", "status": "completed", "activeForm": "Fixing the parser"},
                   {"content": "테스트를 작성한다", "status": "in_progress"},
                   {"content": "Tell the warehouse", "status": "pending"}]},
        {"explanation": "", "plan": [{"step": "Fix the parser", "status": "completed"},
                                     {"status": "in_progress", "step": "테스트를 작성한다"},
                                     {"step": "Tell the warehouse", "status": "pending"}]},
    ],
    ids=["todos", "plan"],
)  # fmt: skip
def test_a_list_of_tasks_that_the_agent_writes_by_a_tool_is_done_and_left_to_do(arguments):
    """It was a call with "[3 items omitted]", so nobody read what was left."""
    made = lines([user("Go."), calling("c", arguments=json.dumps(arguments)), result("c", "ok")])
    assert [line.text for line in made if line.kind == "done"] == ["[x] Fix the parser"]
    assert [line.text for line in made if line.kind == "todo"] == ["[ ] 테스트를 작성한다", "[ ] Tell the warehouse"]


def test_a_task_is_done_once_it_is_ticked_by_anybody():
    said = [user("- [ ] rename it\n- [ ] test it"), model("- [x] rename it"), model("- [x] test it\n- [ ] test it")]
    made = {line.text: line.kind for line in lines(said)}
    assert made == {"[x] rename it": "done", "[ ] test it": "todo"}


@pytest.mark.parametrize(
    "arguments", ['{"status": "done"', '{"a": [{"status": "done"}, 3, {"status": {}, "b": "x"}]}', '["status"]']
)
def test_arguments_with_a_status_that_are_no_list_of_tasks_are_only_a_call(arguments):
    made = lines([user("Go."), calling("c", arguments=arguments), result("c", "ok")])
    assert [line.kind for line in made] == ["said", "call"]


def test_what_a_model_says_is_not_what_the_user_said():
    assert found("The name must be a text.", "assistant", "said") == []


def test_a_call_stays_as_it_was_made_with_what_came_of_it():
    made = lines([user("Go."), calling("c", arguments='{"path": "a.py"}'), result("c", "x\n" * 300 + "3 failed")])
    (call,) = [line for line in made if line.kind == "call"]
    assert call.text == 'f {"path": "a.py"}'
    assert call.outcome.endswith("3 failed")
    assert call.whole == f"{call.text} → {call.outcome}"


def test_the_last_block_of_an_agent_without_tool_calls_is_its_call():
    said = model("I look.\n```\nnot this\n```\nThen:\n```bash\ncat a.py\n```")
    made = lines([user("Go."), said, user("<output>\nKaren keeps the ledger.\n</output>")])
    (call,) = [line for line in made if line.kind == "call"]
    assert (call.text, "Karen keeps the ledger." in call.outcome) == ("cat a.py", True)
    assert not [line for line in made if line.role == "user" and "Karen" in line.text]


def test_the_same_call_again_is_told_once_with_its_last_outcome():
    made = lines([user("Go."), calling("a"), result("a", "red"), calling("b"), result("b", "green")])
    assert [line.outcome for line in made if line.kind == "call"] == ["green"]


def test_what_a_person_says_again_is_where_it_was_said_last():
    """ "Use SQLite." "No, PostgreSQL." "Use SQLite." read as if PostgreSQL had been the last word."""
    said = [user("Use SQLite then."), model("Fine."), user("No, take PostgreSQL."), user("Use SQLite then.")]
    assert [line.text for line in lines(said) if line.kind == "said"] == ["No, take PostgreSQL.", "Use SQLite then."]


def test_a_line_goes_through_json_and_back():
    line = Line(role="user", kind="said", text="Never.", at=1)
    assert Line.from_dict(line.to_dict()) == line
    for values in ({**line.to_dict(), "kind": "smell"}, {**line.to_dict(), "at": "3"}, {"kind": "said"}, []):
        with pytest.raises(InvalidValue, match="line"):
            Line.from_dict(values)


@examples(60)
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), st.text()), max_size=5))
def test_any_text_gives_known_kinds_in_a_settled_order(said):
    def made():
        return once(line for at, (role, text) in enumerate(said) for line in read_text(role, text, at))

    assert made() == made()
    assert {line.kind for line in made()} <= set(HEADINGS)
    assert len({line.key for line in made()}) == len(made())


def test_sentences_end_where_people_end_them():
    text = "One is here. Two, e.g. this one, too! Three?\n- four\n\n5) five。六！"
    assert sentences(text) == ["One is here.", "Two, e.g. this one, too!", "Three?", "four", "five。", "六！"]
    assert sentences("x" * 1_000) == []
