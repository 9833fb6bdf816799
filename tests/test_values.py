"""Results, arguments and errors are values: they can be pickled, copied, and sent to another process."""

import copy
import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim import errors
from properties import examples

SECTIONS = [brim.Section("rules", "r " * 90, priority="high"), brim.Section("docs", ["d " * 40] * 9, keep="best")]
TALK = [
    {"role": "user", "content": "the task " * 60},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "a result\n" * 400},
    {"role": "user", "content": "and now?"},
]
COPIES = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def raised():
    """Return one of every error, as brim raises it."""
    made = [
        errors.InvalidValue("budget", -1, "a whole number"),
        errors.InvalidType("budget", "x", "a whole number"),
        errors.DoesNotFit("too long", needed=12, available=7, parts={"rules": 12}),
        errors.NoProgress("no gain", before=5, after=6),
        errors.UnknownName("model", "gpt-6000", ["gpt-5", "gpt-4"], "Declare it."),
        errors.SourceError("brim.yaml", "no such key", line=3),
        errors.ModelError("refused", status=400, excerpt="too long"),
        errors.MeterError("ours", 1_234, "it raised ConnectionError"),
        errors.StoreError("sqlite:///x", "locked"),
        errors.Conflict("sqlite:///x", "the log", expected=3, found=5),
        errors.SessionPurged("sqlite:///x", "purged"),
        errors.BrimError("any other"),
    ]
    known = {
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.BrimError)
    }
    assert {type(error) for error in made} == known
    return made


def values():
    """Return values of the public classes."""
    prompt = brim.fit(SECTIONS, 100, model="gpt-5")
    fitted = brim.fit_messages(TALK, 300, model="gpt-5", stable=True)
    return {
        "section": SECTIONS[1],
        "window": brim.Window(9_000, reserve=500, cap="20%"),
        "prompt": prompt,
        "receipt": prompt.receipt,
        "captured": brim.fit(SECTIONS, 100, meter="chars", capture=True).receipt,
        "part": prompt.receipt.parts[0],
        "loss": prompt.receipt.losses[0],
        "change": prompt.receipt.diff(brim.fit(SECTIONS, 200, model="gpt-5").receipt)[0],
        "fitted": fitted,
        "history receipt": brim.fit_messages(TALK, 300, model="gpt-5", capture=True).receipt,
        "stable": fitted.stable,
        "cut": brim.cut("word " * 90, 20),
        "stage": brim.Stage(section="docs", to=0),
        "status": brim.Session(9_000, model="gpt-5", id="a").status(),
        "overflow": brim.is_overflow(
            {"error": {"code": "context_length_exceeded", "message": "maximum context length is 8192 tokens"}}
        ),
    }


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", list(values()))
def test_a_copy_of_a_value_equals_it(name, how):
    value = values()[name]
    assert COPIES[how](value) == value


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("error", raised(), ids=lambda error: type(error).__name__)
def test_a_copy_of_an_error_has_its_message_and_its_numbers(error, how):
    error.add_note("while fitting the plan")
    copied = COPIES[how](error)
    assert (type(copied), str(copied), vars(copied)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("error", raised(), ids=lambda error: type(error).__name__)
def test_an_error_that_is_sent_as_json_has_its_message_and_its_numbers(error):
    sent = json.dumps({"exc_type": type(error).__name__, "exc_message": error.args})  # As Celery's results have it.
    told = json.loads(sent)
    restored = getattr(errors, told["exc_type"])(*told["exc_message"])
    assert (str(restored), vars(restored)) == (str(error), vars(error))


class TooLong(brim.DoesNotFit):
    """An error of a user, which has other arguments."""

    def __init__(self, flow):
        super().__init__(f"{flow} is too long", needed=12, available=7)
        self.flow = flow


def test_an_error_of_a_user_that_extends_one_of_brim_is_a_value():
    copied = COPIES["pickle"](TooLong("build"))
    assert (str(copied), copied.flow, copied.short) == ("build is too long", "build", 5)


def test_the_repr_of_an_error_is_its_message_and_not_the_whole_value():
    error = errors.InvalidValue("budget", "x" * 10_000, "a whole number")
    assert repr(error) == f"InvalidValue({str(error)!r})"
    assert len(repr(error)) < 200


def test_an_error_about_a_value_that_cannot_be_pickled_says_what_it_was():
    with pytest.raises(brim.InvalidValue) as refused:
        brim.fit(SECTIONS, lambda: 100)
    copied = pickle.loads(pickle.dumps(refused.value))
    assert str(copied) == str(refused.value)
    assert "function" in copied.value


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", ["gpt-5", "o200k_base", "claude-sonnet-4-5", "chars", "chars/4", "gemini-2.5-pro"])
def test_a_copy_of_a_meter_with_a_name_is_the_shared_meter(name, how):
    meter = brim.meter(name)
    assert COPIES[how](meter) is meter
    upper = brim.fit(SECTIONS, 100, model=name if "-" in name else None).receipt.capture.measure
    assert COPIES[how](upper) is upper


def test_a_pickled_receipt_holds_no_text_that_its_json_does_not_hold():
    secret = "a text that nobody else should read"
    for captured in (False, True):
        prompt = brim.fit([brim.Section("a", secret)], 100, capture=captured)
        fitted = brim.fit_messages([{"role": "user", "content": secret}], 100, capture=captured)
        for receipt in (prompt.receipt, fitted.receipt):
            assert (secret.encode() in pickle.dumps(receipt)) is captured
            assert copy.deepcopy(receipt).capture is receipt.capture


def test_a_fit_with_functions_of_the_caller_can_be_pickled():
    prompt = brim.fit(SECTIONS, 300, meter=lambda text: len(text) // 3, capture=True)
    assert COPIES["pickle"](prompt) == prompt
    fitted = brim.fit_messages(TALK, 400, meter=lambda text: len(text) // 3, pin=lambda _: False, capture=True)
    copied = COPIES["pickle"](fitted)
    assert copied == fitted
    with pytest.raises(brim.InvalidType, match="functions: pin"):
        brim.replay(copied, meter="chars/4")


def refuse(budget):
    return brim.fit([brim.Section("rules", "r " * 90, required=True)], budget)


def test_does_not_fit_crosses_a_process_pool():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        with pytest.raises(brim.DoesNotFit) as refused:
            pool.submit(refuse, 20).result()
        prompt = pool.submit(refuse, 200).result()
    assert (refused.value.needed, refused.value.available, refused.value.short) == (91, 20, 71)
    assert refused.value.parts == {"rules": 91}
    assert prompt == refuse(200)


@examples(8)
@given(st.integers(1, 9), st.integers(300, 900), st.booleans())
def test_a_copied_history_goes_on_like_the_original(turns, budget, stable):
    history = brim.History(model="gpt-5", stable=stable)
    history.extend(TALK[:3] * turns)
    history.fit(budget)
    for how in ("pickle", "deepcopy"):
        copied = COPIES[how](history)
        one = copy.deepcopy(history)
        for each in (one, copied):
            each.extend(TALK[3:])
        assert copied.fit(budget) == one.fit(budget)


def test_a_session_says_that_it_cannot_be_pickled_and_what_to_do():
    session = brim.Session(9_000, id="a")
    for made in COPIES.values():
        with pytest.raises(TypeError, match=r"Session\.open\(id, store=\.\.\.\)"):
            made(session)
