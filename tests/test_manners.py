"""What a user meets first at a prompt of Python: completion, reprs, hints for typos, one name for one thing."""

import json
import pickle
import typing

import pytest

import brim
from brim.gateway.settings import GatewaySettings, settings_of
from brim.history.compact.plan import apply, plan
from brim.integrations import missing
from brim.meter.adapters import exact_count_advice
from brim.receipts.section import KeepName, PriorityName, Shortens

DOCS = [f"Doc {i}. " + "word " * 30 for i in range(20)]


@pytest.fixture
def prompt():
    return brim.fit([brim.Section("docs", DOCS, keep="best", ids=[*range(20)])], budget=200, model="gpt-5")


def loop():
    return brim.Loop(goal="Find it.", act=lambda _: brim.Step(messages=[]), window=8_000, model="gpt-5")


OBJECTS = {
    "meter": lambda: brim.meter("gpt-5"),
    "history": lambda: brim.History(model="gpt-5"),
    "session": lambda: brim.Session(window=8_000, model="gpt-5"),
    "conversations": lambda: brim.Conversations(brim.Window(8_000)),
    "loop": loop,
    "fitted": lambda: brim.fit_messages([{"role": "user", "content": "hi"}], budget=100, model="gpt-5"),
    "receipt": lambda: brim.fit([brim.Section("docs", DOCS)], budget=200, model="gpt-5").receipt,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_repr_is_one_short_line_without_addresses(name):
    shown = repr(OBJECTS[name]())
    assert len(shown) < 140
    assert "\n" not in shown
    assert " at 0x" not in shown
    assert "bound method" not in shown


@pytest.mark.parametrize("name", ["history", "session", "conversations", "loop"])
def test_completion_lists_what_is_public_and_all_of_it_exists(name):
    found = OBJECTS[name]()
    listed = dir(found)
    assert all(hasattr(found, each) for each in listed)
    assert not {"fitted", "make", "tolerate", "charge", "learn", "guard"} & {*listed}


def test_a_history_and_a_session_take_messages_by_the_same_verb():
    message = {"role": "user", "content": "hi"}
    history, session = OBJECTS["history"](), OBJECTS["session"]()
    for each in (history, session):
        each.add(message)
        each.add([{"role": "assistant", "content": "Hello."}, message])
    assert len(history) == len(session.messages) == 3


def test_entries_and_kept_entries_are_the_same_objects(prompt):
    part = prompt.receipt.part("docs")
    assert [entry.id for entry in part.entries] == [*range(20)]
    assert {entry.state for entry in part.entries} == {"whole", "dropped"}
    assert part.kept == part.entries[: len(part.kept)]
    assert brim.Receipt.from_json(prompt.receipt.to_json()).part("docs") == part


def test_a_type_checker_sees_a_keep_or_a_priority_that_does_not_exist():
    hints = typing.get_type_hints(brim.Section)
    assert hints["keep"] == KeepName | Shortens
    assert hints["priority"] == PriorityName | int


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        pytest.param(lambda: brim.fit_messages([], budgt=3), "did you mean 'budget'?", id="fit_messages"),
        pytest.param(lambda: brim.Session(windw=3), "did you mean 'window'?", id="Session"),
        pytest.param(lambda: brim.Session(3_000, tool_limt=3), "did you mean 'tool_limit'?", id="an option"),
    ],
)
def test_a_misspelt_option_is_answered_with_the_nearest(call, hint):
    with pytest.raises((TypeError, brim.InvalidValue)) as caught:
        call()
    assert hint in str(caught.value)


def test_a_replay_without_texts_does_not_say_that_it_is_exact(prompt):
    kept = json.loads(prompt.receipt.to_json())
    assert kept["capture"] is None
    replayed = brim.replay(brim.Receipt.from_dict(kept), budget=100).receipt
    assert not replayed.exact
    assert "exact" not in replayed.headline
    assert "computed from recorded sizes" in replayed.headline


def test_no_extra_is_offered_that_does_not_count_the_model():
    assert "brim[open]" not in exact_count_advice(100, 200, "claude-sonnet-4-5")
    assert "tokenizer.json" in exact_count_advice(100, 200, "claude-sonnet-4-5")


def test_a_recalled_turn_is_a_transcript():
    session = brim.Session(window=1_500, model="gpt-5")
    session.add({"role": "user", "content": "Find the bug."})
    for i in range(12):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": f'{{"path": "a{i}.py"}}'}}
        session.add({"role": "assistant", "content": f"Looking {i}.", "tool_calls": [call]})
        lines = "\n".join(f"line {j} of file {i}" for j in range(60))
        session.add({"role": "tool", "tool_call_id": f"c{i}", "content": lines})
        prompt = session.prompt()
    handle = prompt.receipt.losses[0].handle
    for text in (session.recall(handle), session.answer_recall({"handle": handle})):
        assert text.startswith("assistant: Looking 0.\n")
        assert "tool: line 0 of file 0\nline 1 of file 0" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: brim.fit_messages([]),
            "budget must be a whole number of at least 0 or a Window, not None; pass budget= or model=",
        ),
        (brim.Session, "window must be a Window or its size, not None; pass window= or model="),
        (
            lambda: brim.fit([brim.Section("a", ["x"], scores=[1, 2])], budget=5),
            "section 'a': the number of scores must be 1, one for each entry, not 2",
        ),
        (
            lambda: brim.fit([brim.Section("a", "x")], budget=5, template="{b}"),
            "template: a placeholder must be the name of a section (a), not '{b}'; write {{ for a literal brace",
        ),
        (
            lambda: brim.meter("o200k_bas"),
            "no model, vocabulary or unit is called 'o200k_bas'; did you mean 'o200k_base'",
        ),
    ],
    ids=["budget", "window", "scores", "template", "meter"],
)
def test_a_message_puts_the_value_before_the_advice(call, message):
    with pytest.raises(brim.InvalidValue) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_session_that_exists_is_answered_with_how_to_continue_it():
    with brim.open_store("sqlite:///:memory:") as store:
        brim.Session(8_000, id="vet-71", store=store)
        with pytest.raises(brim.InvalidValue, match=r"id must be new in this store, not 'vet-71'; brim\.Session\.open"):
            brim.Session(8_000, id="vet-71", store=store)


def test_the_advice_for_an_exact_count_is_true_for_conversations(tmp_path, caplog):
    """ "pass the path of the model's tokenizer.json as the model" had no effect in `Conversations`."""
    path = tmp_path / "tokenizer.json"
    words = {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}
    path.write_text(json.dumps({"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": words}))
    messages = [{"role": "user", "content": "some words of a question " * 300}]
    with brim.Conversations(8_000, model="own-llm") as estimated:
        estimated.request(messages)
    with brim.Conversations(8_000, model="own-llm", meter=str(path)) as exact:
        assert exact.request(messages).before < 1_600
    assert "as the meter" in exact_count_advice(100, 200, "own-llm")


@pytest.mark.parametrize("error", [ImportError("No module named 'langchain_core'", name="langchain_core")])
def test_a_missing_package_is_named_with_the_extra(error):
    assert (
        str(missing("langchain", error))
        == "No module named 'langchain_core'; install it: pip install 'brim[langchain]'"
    )


def test_a_hidden_value_is_shown_as_stars():
    with pytest.raises(brim.InvalidValue) as caught:
        GatewaySettings(upstream="localhost:8080")
    assert str(caught.value).endswith(
        "not *** (hidden, since it may be a secret); it must begin with http:// or https://"
    )


def test_a_gateway_without_an_upstream_says_where_to_set_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        brim.InvalidValue, match=r"API, such as http://host/v1, not None; set it in brim.yaml, or pass --"
    ):
        settings_of(brim.load_config().resolve(), {})


def test_an_empty_summary_is_called_empty():
    made = plan([{"role": "user", "content": f"Say more of {i}. " * 40} for i in range(20)], room=2_000, meter="gpt-5")
    with pytest.raises(brim.NoProgress, match=r"^the summary is empty$"):
        apply(made, "")
