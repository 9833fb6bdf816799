"""Messages on arrival: what no provider takes is left out, and what was changed since is read again."""

import copy
import json
from dataclasses import dataclass

import pytest

import brim
from brim.history.history import History
from brim.history.turns import Turns
from brim.testing import CharMeter
from talk import (
    Dumped,
    answer,
    calling,
    gives,
    item_call,
    item_output,
    model,
    result,
    says,
    system,
    text,
    thinking,
    use,
)
from talk import user as asks


def turns_of(messages, format):
    turns = Turns(CharMeter(), format=format)
    turns.extend(messages)
    return turns


def turn(role, *blocks):
    return {"role": role, "content": list(blocks)}


def fitted(messages, format, budget=100_000, **options):
    return brim.fit_messages(messages, budget, meter=CharMeter(), format=format, **options)


# "messages: text content blocks must be non-empty", "text content blocks must contain non-whitespace text", "The text
# field in the ContentBlock object at messages.0.content.0 is blank."

BEDROCK_CALL = {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}
BEDROCK_ANSWER = {"toolResult": {"toolUseId": "a", "content": [{"text": ""}]}}

BLANKS = {
    # name: format, messages, what is left, the action and the index of each repair
    "an empty text beside a call": (
        "anthropic",
        [asks(), says(text(""), use("a")), gives(answer("a"))],
        [asks(), says(use("a")), gives(answer("a"))],
        [("changed", 1)],
    ),
    "a text of white space beside a result": (
        "anthropic",
        [asks(), says(use("a")), gives(answer("a"), text(" \r\n"))],
        [asks(), says(use("a")), gives(answer("a"))],
        [("changed", 2)],
    ),
    "an empty message of the model": (
        "anthropic",
        [asks(), model(""), asks("go on")],
        [asks(), asks("go on")],
        [("dropped", 1)],
    ),
    "a message of only thinking is left": (
        "anthropic",
        [asks(), says(thinking(), text("\n\n")), asks("go on")],
        [asks(), asks("go on")],
        [("dropped", 1)],
    ),
    "an empty first message, and the answer to it": (
        "anthropic",
        [asks(""), model(), asks()],
        [asks()],
        [("dropped", 0), ("dropped", 1)],
    ),
    "an empty system message": ("anthropic", [system(""), asks()], [asks()], [("dropped", 0)]),
    "two blank texts and a result without a call": (
        "anthropic",
        [asks(), gives(text(""), answer("x"), text("so"), text(" "))],
        [asks(), gives(text("so"))],
        [("changed", 1), ("changed", 1)],
    ),
    "an empty text of Bedrock": (
        "bedrock",
        [turn("user", {"text": "t"}), turn("assistant", {"text": " "}, BEDROCK_CALL), turn("user", BEDROCK_ANSWER)],
        [turn("user", {"text": "t"}), turn("assistant", BEDROCK_CALL), turn("user", BEDROCK_ANSWER)],
        [("changed", 1)],
    ),
}


@pytest.mark.parametrize(("format", "messages", "left", "repairs"), BLANKS.values(), ids=BLANKS)
def test_a_blank_text_is_left_out_and_the_receipt_says_so(format, messages, left, repairs):
    before = copy.deepcopy(messages)
    turns = turns_of(messages, format)
    assert turns.raws == left
    assert [(repair.action, repair.index) for repair in turns.repairs] == repairs
    assert messages == before
    made = fitted(messages, format)
    assert made.messages == left
    assert [(repair["action"], repair["index"]) for repair in made.receipt.history["repairs"]] == repairs


@pytest.mark.parametrize(
    ("format", "messages"),
    [
        ("anthropic", [asks(), says(use("a")), gives(answer("a", ""))]),
        ("anthropic", [asks(), says(use("a")), gives(answer("a", [text("")]))]),
        ("openai", [asks(""), calling("a", text=""), result("a", "")]),
        ("responses", [asks(""), item_call("a"), item_output("a", "")]),
        ("gemini", [{"role": "user", "parts": [{"text": "t"}]}, {"role": "model", "parts": [{"text": ""}]}]),
    ],
    ids=["Anthropic's result", "Anthropic's text of a result", "Chat Completions", "Responses", "Gemini"],
)
def test_a_blank_text_that_its_provider_takes_stays(format, messages):
    made = fitted(messages, format)
    assert all(sent is given for sent, given in zip(made.messages, messages, strict=True))


# "messages: first message must use the "user" role"

NOTE = "[CONTEXT_TRUNCATED] Included 7 of 19 history steps (12 omitted, budget: 7,812/8,000 tokens)"
OPENERS = {
    "anthropic": [
        asks(NOTE),
        *(m for i in range(9) for m in (says(use(f"c{i}")), gives(answer(f"c{i}", "out " * 60)))),
    ],
    "bedrock": [
        turn("user", {"text": NOTE}),
        *(turn("assistant" if i % 2 == 0 else "user", {"text": "so " * 60}) for i in range(9)),
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": NOTE}]},
        *({"role": "model" if i % 2 == 0 else "user", "parts": [{"text": "so " * 60}]} for i in range(9)),
    ],
}


@pytest.mark.parametrize("stable", [False, True], ids=["anew", "stable"])
@pytest.mark.parametrize("format", OPENERS)
def test_a_history_that_begins_with_a_note_still_begins_with_the_user(format, stable):
    messages = OPENERS[format]
    assert not turns_of(messages, format).notes
    for budget in range(400, 2_600, 100):
        made = fitted(messages, format, budget, stable=stable or None)
        assert made.messages[0]["role"] == "user"


def test_a_later_note_is_left_out_when_a_history_is_fitted_again():
    assert turns_of([asks(), asks(NOTE), model()], "anthropic").notes == {1}
    assert turns_of([asks(NOTE), model()], "openai").notes == {0}


def test_a_person_who_speaks_after_a_first_note_gives_the_task():
    turns = turns_of([asks(NOTE), model(), asks("Fix the build."), model()], "anthropic")
    assert (turns.task, turns.instruction) == (2, 2)
    assert turns.spoken[0] == 0


# A user of 0.2.0 saw: Exceeds the limit (4300 digits) for integer string conversion.

DIGITS = "1" + "0" * 5_000
HUGE = 10**5_000
ARGUMENTS = ['{"n": %s}' % DIGITS, '{"n": %s, "body": "%s"}' % (DIGITS, "line\\n" * 300), f"[{DIGITS}]", DIGITS]  # noqa: UP031


@pytest.mark.parametrize("written", ARGUMENTS, ids=["a number", "a number and a text", "a list", "no object"])
@pytest.mark.parametrize("format", ["openai", "responses"])
def test_a_number_of_thousands_of_digits_in_a_text_is_fitted(format, written):
    pairs = {
        "openai": (calling("a", arguments=written), result("a", written)),
        "responses": (item_call("a", written), item_output("a", written)),
    }
    messages = [asks(), *pairs[format], asks("go on"), model()]
    for budget in (100_000, 9_000, 5_000, 900, 300):
        made = fitted(messages, format, budget)
        assert made.used <= budget
        assert json.loads(made.receipt.to_json())["used"] == made.used


GEMINI_CALL = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"n": HUGE}}}]}
UNSENDABLE = {
    "Chat Completions": ("openai", {**model(), "x": HUGE}),
    "Responses": ("responses", {**item_call("a"), "status": HUGE}),
    "Anthropic's arguments": ("anthropic", says(use("a", n=HUGE))),
    "Anthropic's cache mark": ("anthropic", says({"type": "novel", "cache_control": HUGE})),
    "Gemini's arguments": ("gemini", GEMINI_CALL),
    "Gemini's media": ("gemini", {"role": "model", "parts": [{"inlineData": {"mimeType": HUGE, "data": "A"}}]}),
    "Bedrock's arguments": ("bedrock", turn("assistant", {"toolUse": {"toolUseId": "a", "name": "f", "input": HUGE}})),
}


@pytest.mark.parametrize(("format", "message"), UNSENDABLE.values(), ids=UNSENDABLE)
def test_a_number_that_no_client_could_write_is_an_error_that_names_the_message(format, message):
    first = {"gemini": {"role": "user", "parts": [{"text": "t"}]}, "bedrock": turn("user", {"text": "t"})}
    with pytest.raises(brim.errors.InvalidType, match=r"^messages\[1\]"):
        fitted([first.get(format, asks()), message], format)


def test_a_number_that_no_client_could_write_is_an_error_among_the_other_fields_too():
    with pytest.raises(brim.errors.InvalidType, match="^fields temperature"):
        fitted([asks()], "openai", fields={"temperature": HUGE})


# "502 tokens sent for a budget of 100"


LONGER = "word " * 300


@dataclass
class Record:
    role: str
    content: str


@pytest.mark.parametrize(
    ("message", "change"),
    [
        (Dumped(role="user", content="hello"), lambda m: setattr(m, "content", LONGER)),
        (Record("user", "hello"), lambda m: setattr(m, "content", LONGER)),
        (
            turn("user", Dumped(type="text", text="hello")),
            lambda m: setattr(m["content"][0], "text", LONGER),
        ),
        (
            {"role": "user", "content": ({"type": "text", "text": "hello"},)},
            lambda m: m["content"][0].update(text=LONGER),
        ),
        (turn("user", text("hello")), lambda m: m["content"][0].update(text=LONGER)),
    ],
    ids=["a client's object", "a dataclass", "an object in a mapping", "a tuple", "a mapping"],
)
def test_a_message_that_changed_since_the_last_fit_is_counted_again(message, change):
    history = History(CharMeter())
    history.extend([asks(), message, model(), asks("go on")])
    before = history.fit(9_000)
    change(message)
    after = history.fit(9_000)
    assert before.messages == after.messages == [asks(), message, model(), asks("go on")]
    assert after.used == before.used + len(LONGER) - len("hello")
    assert history.fit(200).used <= 200


def test_objects_that_did_not_change_are_not_read_again():
    history = History(CharMeter())
    history.extend([asks(), Dumped(role="assistant", content="well"), Record("user", "go on")])
    generation = history.turns.generation
    history.fit(100)
    assert history.turns.refresh() is False
    assert history.turns.generation == generation
