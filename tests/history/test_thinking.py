"""Thinking is bound to the words before it: kept before the first change, gone after it, kept again where it came later."""

import pytest

import brim
from brim.history.rules import binds
from brim.testing import CharMeter
from talk import answer, calling, gives, refusal, result, says, sealed, text, thinking, use, user

CHARS = CharMeter()
THOUGHTS = ("thinking", "redacted_thinking")


def thoughts(messages):
    """Return where there is thinking."""
    found = []
    for i, message in enumerate(messages):
        if isinstance(message["content"], list) and any(block["type"] in THOUGHTS for block in message["content"]):
            found.append(i)
    return found


def first_change(given, sent):
    """Return the first place at which something else is sent than was given."""
    for i, (before, after) in enumerate(zip(given, sent, strict=False)):
        if before is not after:
            return i
    return min(len(given), len(sent))


def rounds(count, size=100, seal=False):
    """Return a task and rounds in each of which the model thinks, says something and calls."""
    made = [user("task")]
    for i in range(count):
        thought = sealed("x" * 40) if seal else thinking(f"thought {i}")
        made += [says(thought, text(f"step {i}"), use(f"c{i}")), gives(answer(f"c{i}", f"{i} " * (size // 2)))]
    return made


def size(messages):
    return CHARS.count_messages(messages, format="anthropic")


def fit(messages, budget, **options):
    return brim.fit_messages(messages, budget, meter=CHARS, format="anthropic", **options)


@pytest.mark.parametrize("seal", [False, True], ids=["open", "sealed"])
def test_after_the_first_change_there_is_none_but_that_of_the_last_call(seal):
    messages = rounds(8, seal=seal)
    cut = 0
    for budget in range(size(messages) - 1, 150, -23):
        try:
            fitted = fit(messages, budget)
        except brim.DoesNotFit:
            break
        cut += 1
        change = first_change(messages, fitted.messages)
        assert [at for at in thoughts(fitted.messages) if at >= change] == [len(fitted.messages) - 2]
        assert refusal(fitted.messages, "anthropic") == ""
        assert fitted.used == size(fitted.messages) <= budget
    assert cut > 10


def test_before_the_first_change_it_is_the_callers_own():
    """The last result is cut inside, so all that was thought before stays as it was."""
    messages = [*rounds(2, 20), says(thinking("now"), use("big")), gives(answer("big", "word " * 200))]
    fitted = fit(messages, size(messages) - 300, recent=500)
    change = first_change(messages, fitted.messages)
    assert change == len(messages) - 1
    assert thoughts(fitted.messages) == [1, 3, 5]
    assert all(fitted.messages[i] is messages[i] for i in range(change))


def test_a_call_that_nothing_answers_is_a_change():
    messages = [
        user(),
        says(thinking("a"), text("one")),
        user("go"),
        says(thinking("b"), text("two"), use("x")),
        user("go"),
    ]
    messages += [says(thinking("c"), text("three")), user("end")]
    sent = fit(messages, 10_000).messages
    assert thoughts(sent) == [1]
    assert sent[1] is messages[1]
    assert sent[5] == says(text("three"))


def test_a_message_of_nothing_but_thinking_leaves_something_that_a_provider_takes():
    messages = [user("task"), says(text("filler " * 30)), user("go"), says(thinking("only")), user("end")]
    sent = fit(messages, 150).messages
    assert refusal(sent, "anthropic") == ""
    assert thoughts(sent) == []


# --- the thinking of the last call


@pytest.mark.slow
@pytest.mark.parametrize("model", [None, "claude-sonnet-4-5", "kimi-k3"])
@pytest.mark.parametrize("seal", [False, True], ids=["open", "sealed"])
def test_a_last_call_keeps_its_thinking_however_small_the_budget(model, seal):
    """Expected `thinking` or `redacted_thinking`, but found `tool_use`."""
    messages = rounds(4, 400, seal=seal)
    meter = {"meter": CHARS} if model is None else {"model": model}
    kept = 0
    for budget in range(1_600, 20, -60):
        try:
            sent = brim.fit_messages(messages, budget, format="anthropic", **meter).messages
        except brim.DoesNotFit:
            break
        kept += 1
        assert sent[-2]["content"][0] == messages[-2]["content"][0]
    assert kept > 5


def test_a_call_that_nothing_answers_yet_is_not_the_last():
    messages = [*rounds(4, 400), says(use("open"))]
    sent = fit(messages, 500).messages
    assert sent[-2]["content"][0] == messages[-3]["content"][0]


def test_a_model_that_refuses_thinking_after_an_edit_gets_none():
    messages = rounds(4, 400)
    sent = brim.fit_messages(messages, 500, model="claude-opus-5-5").messages
    assert sent[:2] == messages[:2], "nothing is changed before the first thinking"
    assert thoughts(sent) == [1]


# --- whose thinking is bound


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        (None, True),
        ("claude-sonnet-4-5", False),
        ("claude-opus-4-8", False),
        ("anthropic/claude-sonnet-4.5", False),
        ("claude-sonnet-5", False),
        ("claude-opus-5-5", True),
        ("claude-opus-6", True),
        ("something-nobody-knows", True),
    ],
)
def test_models_that_take_thinking_back_after_an_edit_are_known_and_all_others_are_not_trusted(name, bound):
    assert binds(name) is bound


@pytest.mark.parametrize("format", ["openai", "gemini"])
def test_reasoning_that_is_bound_to_nothing_keeps_no_call_out(format):
    """16 of 40 calls survived with `reasoning_content` or Gemini's thoughts, 40 without."""
    long = "I wonder what to do about it. " * 20
    if format == "openai":
        messages = [user("task")]
        for i in range(40):
            call = calling(f"c{i}", arguments=f'{{"path": "file_{i}.py"}}')
            messages += [{**call, "reasoning_content": long}, result(f"c{i}", f"line {i}\n" * 40)]
    else:
        messages = [{"role": "user", "parts": [{"text": "task"}]}]
        for i in range(40):
            thought = {"text": long, "thought": True}
            call = {"functionCall": {"name": "read", "args": {"path": f"file_{i}.py"}}}
            answer = {"functionResponse": {"name": "read", "response": {"output": f"line {i}\n" * 40}}}
            messages += [{"role": "model", "parts": [thought, call]}, {"role": "user", "parts": [answer]}]
    fitted = brim.fit_messages(messages, 5_000, meter="o200k_base", format=format)
    assert [i for i in range(40) if f"file_{i}.py" not in str(fitted.messages)] == []
    assert format == "gemini" or refusal(fitted.messages, format) == ""


# --- in stable mode


def test_what_was_thought_after_the_cut_stays():
    history = brim.History(meter=CHARS, format="anthropic", stable=True)
    messages = rounds(30, 100)
    budget = 1_500
    history.extend(messages[:1])
    made_after, cuts = [], 0
    last = []
    for i in range(1, len(messages), 2):
        history.extend(messages[i : i + 2])
        fitted = history.fit(budget)
        sent = fitted.messages
        assert fitted.used == size(sent) <= budget
        assert refusal(sent, "anthropic") == ""
        if sent[: len(last)] != last:
            made_after, cuts = [messages[i]], cuts + 1  # Its last call keeps its thinking, and is sent again so.
        else:
            made_after += [messages[i]]
        change = first_change(messages, sent)
        for message in made_after:
            assert any(message is other for other in sent)
        kept = {id(message) for message in made_after}
        assert [at for at in thoughts(sent) if at >= change and id(sent[at]) not in kept] == []
        last = sent
    assert cuts >= 2


def test_what_the_last_call_kept_is_not_kept_once_another_call_is_the_last():
    """Two of 500 growing Gemini histories were cut otherwise by a `History` than as a list of messages."""
    history, given = brim.History(meter=CHARS, format="gemini"), [{"role": "user", "parts": [{"text": "task"}]}]
    history.extend(given)
    for i in range(6):
        call = {"name": "read", "args": {}, "id": f"c{i}"}
        answered = {"name": "read", "response": {"result": f"line {i}\n" * 60}, "id": f"c{i}"}
        thought = {"text": f"thought {i} " * 20, "thought": True}
        new = [
            {"role": "model", "parts": [thought, {"functionCall": call}]},
            {"role": "user", "parts": [{"functionResponse": answered}]},
            {"role": "user", "parts": [{"text": "go on"}]},
        ]
        history.extend(new)
        given += new
        fresh = brim.fit_messages(given, 900, meter=CHARS, format="gemini")
        assert history.fit(900).messages == fresh.messages
