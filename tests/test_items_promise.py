"""What must hold when the past is made of items, on generated histories of real sizes, and on what broke once."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import pytest

import brim
import items_traffic as items
from items_traffic import FORMATS, METER, PAIRED, Attachment, Call, Case, Outcome, Script, Texts

SEEDS = 16
"""Generated histories for each property; `python tests/items_traffic.py SEED` runs one again."""


@lru_cache(maxsize=SEEDS)
def _generated(seed: int) -> tuple[Case, Outcome]:
    case = Case.of(seed)
    return case, Outcome.of(case)


@pytest.mark.parametrize("name", items.PROPERTIES)
def test_generated_histories_keep_the_promise_of_items(name: str) -> None:
    for seed in range(SEEDS):
        try:
            items.check_property(name, *_generated(seed))
        except Exception as error:
            raise AssertionError(f"run tests/items_traffic.py {seed}: {error}") from error


# --- histories from the issue


def _case(script: Script, budget: int) -> Case:
    return Case(0, script.form.name, script.messages, budget, script)


def _promised(case: Case, *names: str) -> Outcome:
    """Return the outcome of a case that fits, is legal, and keeps the named properties."""
    outcome = Outcome.of(case)
    for name in ("is legal", "fits", *names):
        items.check_property(name, case, outcome)
    return outcome


def _write(name: str, lines: int) -> Call:
    content = "\n".join(f"x{i} = {i}" for i in range(lines))
    return Call(name, "write_file", {"path": name, "content": content}, ("ok",))


def _writes(count: int, lines: int) -> Script:
    script = Script("openai")
    script.person(["Write the modules."])
    for i in range(count):
        script.step("", [_write(f"m{i}.py", lines)])
    return script


def test_the_file_just_written_stands_whole_and_the_one_before_fills_the_room() -> None:
    """`messages[3:5]  cut  38 of 2,426  its cap is 1,395 tokens and it has 2,426`, and 2,475 of 3,500 tokens."""
    messages = _writes(2, 400).messages
    fitted = brim.fit_messages(messages, budget=3_500, model="gpt-5")
    assert messages[3] in fitted.messages, "m1.py is not whole"
    assert 3_150 <= fitted.used <= 3_500


def test_files_bigger_than_the_budget_fill_it() -> None:
    case = _case(_writes(4, 3_250), 16_000)
    assert 23_000 < case.count(case.messages[1:3]) < 25_000
    assert _promised(case, "fills", "keeps the newest").used >= 14_400


def test_files_bigger_than_the_window_fill_a_conversation() -> None:
    """A conversation is cut to its low line, four fifths of the window, so that the next prompts only grow."""
    conversations = brim.Conversations(brim.Window(16_000), meter=METER)
    prompt = conversations.request(_writes(4, 3_250).messages)
    assert prompt.receipt is not None
    assert 0.9 * 0.8 * 16_000 <= prompt.receipt.used <= 16_000


_BROWSED = (
    "Book the hotel of these five screenshots for the third week of June. never touch prod_db. Ask before you pay."
)


def _browsing(format: str, width: int, height: int) -> Script:
    """Return a task with five screenshots in 42 messages, whose words are about 650 tokens."""
    rng, script = random.Random(42), Script(format)
    shots = [script.form.attachment(Attachment("image", items.png(rng, width, height))) for _ in range(5)]
    script.person([_BROWSED], *shots)
    i = 0
    while len(script.messages) < 41 - 2 * script.form.paired:
        result = f"Clicked button {i}; the page shows room {i * 7} for {60 + i} euros a night, breakfast not included."
        script.step(f"Now I open offer {i}.", [Call(f"call_{i}", "click", {"button": f"b{i}"}, (result,))])
        i += 1
    if script.form.paired:
        script.agent("Room 14 is the cheapest.")
    script.person(["Good, take the second one then."])
    return script


@pytest.mark.parametrize("format", FORMATS)
def test_a_rule_beside_five_screenshots_stands(format: str) -> None:
    """23 tokens were sent, 2 of 42 messages, and "never touch prod_db" was gone."""
    case = _case(_browsing(format, 1_568, 1_003), 6_000)
    assert case.count(case.messages) > 6_000
    outcome = _promised(case, "keeps words", "fills", "keeps the newest")
    assert outcome.out.says("person", _BROWSED)
    words = {each.what for each in items.missing(outcome)} - {"media"}
    assert outcome.used >= 5_400 or not words, f"{outcome.used} of 6,000, and missing: {words}"


def test_a_rule_beside_five_screenshots_of_1440_tokens_stands() -> None:
    script = _browsing("openai", 1_280, 960)
    assert len(script.messages) == 42
    assert brim.meter("gpt-5.5").count_messages(script.messages) > 7_200
    fitted = brim.fit_messages(script.messages, budget=6_000, model="gpt-5.5")
    assert "never touch prod_db" in json.dumps(fitted.messages)
    assert 5_400 <= fitted.used <= 6_000 or len(fitted.messages) == 42


def _with_steps(script: Script, count: int, lines: int = 40, seed: int = 3) -> Script:
    texts = Texts(random.Random(seed))
    for i in range(count):
        script.step(texts.sentence(), [Call(f"call_{i}", "read", {"path": texts.path()}, (texts.log(lines),))])
    return script


@pytest.mark.parametrize("format", FORMATS)
def test_a_document_that_nobody_can_read_gives_way_to_all_words(format: str) -> None:
    """By its id alone it counts as many pages, more than the budget."""
    script = Script(format)
    document = script.form.attachment(Attachment("pdf", "file-67890"))
    script.person(["Compare the report with the logs. Never touch prod_db-17."], document)
    case = _case(_with_steps(script, 8), 40_000)
    assert case.count(case.messages) > 60_000
    outcome = _promised(case, "keeps words")
    assert {each.what for each in items.missing(outcome)} == {"media"}


@pytest.mark.parametrize("format", FORMATS)
def test_an_unknown_field_gives_way_to_the_words_of_the_task(format: str) -> None:
    script, texts = Script(format), Texts(random.Random(5))
    said = "Restart the importer, and never touch prod_db-17."
    script.person([said], workspace_state=texts.code(460))
    case = _case(_with_steps(script, 4, 15), 2_000)
    assert case.count(case.messages[:1]) > 5_000
    outcome = _promised(case, "keeps words", "fills", "keeps the newest")
    assert outcome.out.says("person", said)


@pytest.mark.parametrize("format", FORMATS)
def test_the_reservation_just_asked_for_stands_whole(format: str) -> None:
    """73 tokens too many, and the newest result was the one that was cut."""
    script, texts = Script(format), Texts(random.Random(6))
    script.person(["I want to move my flight to the next day. My user id is amelia_silva_7726."])
    for i in range(5):
        orders = json.dumps({"user_id": "amelia_silva_7726", "orders": texts.rows(2)})
        script.step("", [Call(f"call_{i}", "get_order_details", {"order_id": f"#W{i}"}, (orders,))])
    script.agent("Which reservation is it?")
    script.person(["It is FQ8APE."])
    flights = [{"flight_number": f"HAT{i:03d}", "date": "2026-05-21", "price": 100 + i} for i in range(40)]
    reservation = json.dumps({"reservation_id": "FQ8APE", "cabin": "economy", "flights": flights, "insurance": "no"})
    call = Call("call_9", "get_reservation_details", {"reservation_id": "FQ8APE"}, (reservation,))
    script.step("", [call])
    case = _case(script, 0)
    case.budget = case.count(case.messages) - 73
    outcome = _promised(case, "keeps the newest", "fills", "keeps words", "keeps JSON")
    assert outcome.out.results["call_9"].raw == case.given.results["call_9"].raw


@pytest.mark.parametrize("format", ["openai", "responses"])
def test_a_reminder_of_every_third_place_stands_three_times_at_most(format: str) -> None:
    texts, script = Texts(random.Random(7)), Script(format)
    reminder = "These are your open tasks:\n" + "\n".join(f"- [ ] {texts.sentence()}" for _ in range(5))
    script.person(["Work through the list, one entry after the other."])
    for i in range(79):
        script.step("", [Call(f"call_{i}", "bash", {"command": f"make step-{i}"}, (texts.log(6),))], reminder)
    case = _case(script, 5_000)
    assert sum(seen.text == reminder for seen in case.given.said["system"]) == 79
    outcome = _promised(case, "fills", "keeps words", "keeps the newest")
    assert sum(reminder in seen.text for seen in outcome.out.seen) <= 3
    results = [*outcome.out.results.values()]
    marks = sum(
        not any(line in seen.text for line in case.given.results[seen.key].text.split("\n")) for seen in results
    )
    assert results, "no step stands"
    assert 2 * marks < len(results), f"{marks} of {len(results)} results are marks"


@pytest.mark.parametrize("format", FORMATS)
def test_ten_tokens_too_many_do_not_cost_thousands(format: str) -> None:
    texts, script = Texts(random.Random(8)), Script(format)
    script.person(["Watch the service until it is green."])
    page = texts.log(130)
    for i in range(8):
        script.step(f"Look {i} at the page.", [Call(f"call_{i}", "read", {"url": f"http://status/{i}"}, (page,))])
        script.step("", [Call(f"wait_{i}", "sleep", {"seconds": i}, (texts.log(3),))])
    case = _case(script, 0)
    case.budget = case.count(case.messages) - 10
    assert case.budget > 24_000
    outcome = _promised(case, "fills", "points to what stands", "keeps words")
    assert outcome.used >= 0.9 * case.budget


_REPORT = """\
Running Sphinx v9.1.0
loading translations [en]... done
{pages}

Exception occurred:
  File "/usr/lib/python3.13/ast.py", line 54, in parse
    return compile(source, filename, mode, flags,
{frame}
                                   ^
SyntaxError: invalid syntax
The full traceback has been saved in /tmp/sphinx-err-{name}.log, if you want to report the issue to the developers.
Please also report this if it was a user error, so that a better error message can be provided next time.
A bug report can be filed in the tracker at <https://github.com/sphinx-doc/sphinx/issues>. Thanks!"""


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("format", FORMATS)
def test_the_cause_of_four_failures_stands_once(format: str, share: float) -> None:
    texts, script = Texts(random.Random(9)), Script(format)
    script.person(["Build the documentation."])
    for i in range(4):
        pages = "\n".join(f"reading sources... [{p:3d}%] {texts.path()}" for p in range(0, 100, 3))
        report = _REPORT.format(pages=pages, frame=f"    def {texts.name()}(:", name=texts.name())
        script.step("I build it.", [Call(f"call_{i}", "bash", {"command": "make html"}, (report,))])
        script.step(texts.sentence(), [Call(f"look_{i}", "read", {"path": texts.path()}, (texts.code(60),))])
    case = _case(script, 0)
    case.budget = int(case.count(case.messages) * share)
    outcome = _promised(case)
    assert any("SyntaxError: invalid syntax" in seen.text for seen in outcome.out.results.values())


_NOTE = "[CONTEXT_TRUNCATED] Included 3 of 10 history steps (7 omitted, budget: 900/1,000 tokens)"


@pytest.mark.parametrize("share", [0.05, 0.3, 0.97])
@pytest.mark.parametrize("speaks", [True, False], ids=["and speaks", "and calls"])
@pytest.mark.parametrize("format", PAIRED)
def test_a_history_that_begins_with_a_note_begins_with_the_user(format: str, speaks: bool, share: float) -> None:
    script = Script(format)
    script.program(_NOTE)
    if speaks:
        script.agent("I shall go on.")
        script.person(["Yes, go on."])
    _with_steps(script, 8, 20)
    script.agent("It is done.")
    script.person(["Thanks. And now the other one."])
    case = _case(script, 0)
    case.budget = max(300, int(case.count(case.messages) * share))
    assert _promised(case).messages[0]["role"] == "user"


_DIGITS = "7" * 5_000


@pytest.mark.parametrize("budget", [1_000, 2_500, 9_000])
@pytest.mark.parametrize("format", FORMATS)
def test_an_integer_of_5000_digits_does_not_break_a_fit(format: str, budget: int) -> None:
    """`ValueError: Exceeds the limit (4300 digits) for integer string conversion`."""
    script = Script(format)
    script.person(["Multiply the primes."])
    result = f'{{"product": {_DIGITS}, "factors": [3, 5, 7], "exact": true}}'
    script.step("", [Call("product", "multiply", {"first": 3, "second": 5}, (result,))])
    if not script.form.paired:  # Elsewhere arguments are objects, and Python writes no such number.
        place = script.messages[-2] if format == "responses" else script.messages[-2]["tool_calls"][0]["function"]
        place["arguments"] = f'{{"first": {_DIGITS}, "second": 5}}'
    case = _case(_with_steps(script, 6, 30), budget)
    _promised(case, "keeps JSON", "keeps words")


def _cited(format: str) -> tuple[Script, Any]:
    """Return a history with a document that may be cited, and the block with it."""
    script, texts = Script(format), Texts(random.Random(11))
    text = texts.prose(160)
    if format == "anthropic":
        source: Any = {"type": "text", "media_type": "text/plain", "data": text}
        block: Any = {"type": "document", "source": source, "title": "Policy", "citations": {"enabled": True}}
    else:
        body: Any = {"format": "txt", "name": "policy", "source": {"text": text}, "citations": {"enabled": True}}
        block = {"document": body}
    script.person(["What does the policy say of refunds? Never touch prod_db-17."], block)
    if format == "anthropic":
        place: Any = {"document_index": 0, "document_title": "Policy", "start_char_index": 0, "end_char_index": 40}
        cited: Any = [{"type": "char_location", "cited_text": text[:40], **place}]
        said: Any = [{"type": "text", "text": "They take a month.", "citations": cited}]
    else:
        place = {"documentChar": {"documentIndex": 0, "start": 0, "end": 40}}
        cited = [{"title": "Policy", "sourceContent": [{"text": text[:40]}], "location": place}]
        said = [{"citationsContent": {"content": [{"text": "They take a month."}], "citations": cited}}]
    script.agent("They take a month.")
    script.messages[-1]["content"] = said
    script.person(["And of exchanges?"])
    return _with_steps(script, 6, 15), block


def _parts(messages: list[Any]) -> list[Any]:
    return [part for message in messages for part in message["content"] if isinstance(part, dict)]


@pytest.mark.parametrize("budget", [500, 1_200, 2_000, 3_000, 4_500])
@pytest.mark.parametrize("format", ["anthropic", "bedrock"])
def test_a_document_that_may_be_cited_stands_whole_or_not_at_all(format: Any, budget: int) -> None:
    """A citation is a range of its characters."""
    script, block = _cited(format)
    fitted = brim.fit_messages(script.messages, budget, meter=METER, format=format)
    assert fitted.used <= budget
    documents = [part for part in _parts(fitted.messages) if "document" in (part.get("type"), *part)]
    assert documents in ([], [block]), "the document was cut"


@pytest.mark.parametrize("budget", [500, 1_200, 2_000, 3_000, 4_500])
@pytest.mark.parametrize("format", ["anthropic", "bedrock"])
def test_a_citation_stands_only_beside_its_document(format: Any, budget: int) -> None:
    script, block = _cited(format)
    parts = _parts(brim.fit_messages(script.messages, budget, meter=METER, format=format).messages)
    cited = [part for part in parts if (part.get("citations") and part != block) or "citationsContent" in part]
    assert block in parts or not cited


# --- the checks themselves: each finds the fault that it is for, and none finds one where nothing is missing


def _sound() -> Case:
    """Return a history with something of everything, and a budget of all of it."""
    script, texts = Script("openai"), Texts(random.Random(12))
    script.person(
        ["Look after the shop. Never touch prod_db-17."],
        script.form.attachment(Attachment("image", items.png(random.Random(13)))),
    )
    page, orders = texts.log(40), json.dumps({"orders": texts.rows(6)})
    script.step("I look.", [Call("call_0", "read", {"path": "a"}, (page,))])
    script.step("I write.", [_write("call_1", 300)])
    script.agent("Done with the first half.")
    script.person(["Do not push to prod_db-18 before I say so."])
    script.step("", [Call("call_2", "get", {"id": 1}, (orders,)), Call("call_3", "read", {"path": "b"}, (page,))])
    script.step("I look again.", [Call("call_4", "read", {"path": "c"}, (texts.log(50),))])
    case = _case(script, 0)
    case.budget = case.count(case.messages)
    case.rules = ["Never touch prod_db-17.", "Do not push to prod_db-18 before I say so."]
    return case


def _claimed(case: Case, messages: list[Any], used: int | None = None) -> Outcome:
    return Outcome(case, messages, case.count(messages) if used is None else used)


def _with(messages: list[Any], at: int, **values: Any) -> list[Any]:
    return [{**message, **values} if i == at else message for i, message in enumerate(messages)]


def test_nothing_is_wrong_with_a_history_that_is_whole() -> None:
    case = _sound()
    for name in items.PROPERTIES:
        items.check_property(name, case, _claimed(case, case.messages))
    assert not [*items.missing(_claimed(case, case.messages))]


_HALF = "[20 lines omitted]"
_FAULTS: dict[str, tuple[str, Any]] = {
    "one token more than it says": ("fits", lambda c: _claimed(c, c.messages, c.budget - 1)),
    "one token more than the budget": ("fits", lambda c: _claimed(c, [*c.messages, c.messages[-1]])),
    "a turn gone for nothing": ("fills", lambda c: _claimed(c, [*c.messages[:3], *c.messages[5:]])),
    "an attachment gone for nothing": (
        "fills",
        lambda c: _claimed(c, _with(c.messages, 0, content=[{"type": "text", "text": "Look after the shop."}])),
    ),
    "the newest result cut beside an older one": (
        "keeps the newest",
        lambda c: _claimed(c, _with(c.messages, -1 % len(c.messages), content=_HALF)),
    ),
    "a mark that points to nothing": (
        "points to what stands",
        lambda c: _claimed(
            c, _with(_with(c.messages, 2, content="[the same result as in a later step]"), 9, content=_HALF)
        ),
    ),
    "the task cut": ("keeps words", lambda c: _claimed(c, _with(c.messages, 0, content="Look after the shop."))),
    "a rule in the middle gone": ("keeps rules", lambda c: _claimed(c, [*c.messages[:6], *c.messages[7:]])),
    "a call without its result": ("is legal", lambda c: _claimed(c, c.messages[:-1])),
    "nothing at all": ("is legal", lambda c: _claimed(c, [])),
    "JSON torn": (
        "keeps JSON",
        lambda c: _claimed(c, _with(c.messages, 8, content=c.messages[8]["content"][:300])),
    ),
    "JSON with another number": (
        "keeps JSON",
        lambda c: _claimed(c, _with(c.messages, 8, content='{"orders": [{"price": 0.12345}]}')),
    ),
    "JSON in JSON torn": (
        "keeps JSON",
        lambda c: _claimed(c, _with(c.messages, 8, content='{"orders": [{"name": "{\\"sku\\": 12, \\"ti"}]}')),
    ),
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_a_check_finds_the_fault_that_it_is_for(fault: str) -> None:
    case = _sound()
    if fault == "JSON in JSON torn":  # As an MCP server wraps it.
        wrapped = json.dumps({"orders": [{"name": case.messages[8]["content"]}]})
        case.messages[8] = {**case.messages[8], "content": wrapped}
    name, make = _FAULTS[fault]
    with pytest.raises(AssertionError):
        items.check_property(name, case, make(case))


def test_a_mark_that_points_to_what_stands_is_right() -> None:
    case = _sound()
    marked = _with(case.messages, 2, content="[the same result as in a later step]")
    items.check_property("points to what stands", case, _claimed(case, marked))


def test_a_refusal_is_wrong_where_a_few_words_would_fit() -> None:
    case = _sound()
    case.budget = 500
    refusal = brim.DoesNotFit("no", needed=900, available=500)
    with pytest.raises(AssertionError, match="would fit"):
        items.check_property("is legal", case, Outcome(case, [], 0, None, refusal))


@pytest.mark.parametrize(
    ("name", "told"), [("grows with the budget", "bigger budget"), ("is the same again", "changed it|twice")]
)
def test_a_fit_that_gives_less_the_next_time_is_found(name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, calls = _sound(), []

    def fit(messages: list[Any], budget: int, **_: Any) -> Any:
        """Return the history, from the second time on without a rule."""
        calls.append(budget)
        sent = messages if len(calls) == 1 else _with(messages, 0, content="Look after the shop.")
        return SimpleNamespace(messages=sent, used=case.count(sent), receipt=SimpleNamespace(parts=[], used=0))

    monkeypatch.setattr(brim, "fit_messages", fit)
    outcome = Outcome.of(case)
    with pytest.raises(AssertionError, match=told):
        items.check_property(name, case, outcome)


@pytest.mark.slow
def test_the_generator_writes_every_format_and_everything_that_an_agent_meets() -> None:
    """A property is worth what its inputs can provoke; each history is one that a provider would take."""
    seen: Counter[str] = Counter()
    for seed in range(150):
        case = Case.of(seed)
        seen[case.format] += 1
        seen[case.flavour] += 1
        whole = Outcome(case, case.messages, case.count(case.messages))
        items.is_legal(case, whole)
        assert case.budget >= 300
        assert not [*items.missing(whole)]
        seen.update({each.kind for each in case.given.seen})
        seen["pinned"] += bool(case.options)
        seen["cut"] += case.budget < whole.used
        counts = Counter(each.text for each in case.given.results.values() if len(each.text) > 60)
        seen["repeated result"] += max(counts.values(), default=0) > 1
        seen["long result"] += any(each.text.count("\n") > 1_500 for each in case.given.results.values())
        values = [items.tokens(v) for each in case.given.calls.values() for _, v in items.strings(each.raw)]
        seen["long value"] += max(values, default=0) > 15_000
        seen["parallel"] += len(case.given.calls) > len({each.at for each in case.given.calls.values()})
        seen["parts"] += any(len(each.raw) > 1 for each in case.given.results.values())
        seen["JSON in JSON"] += any(each.text.startswith('{"type": "text"') for each in case.given.results.values())
        seen["reminder"] += sum("<system-reminder>" in each.text for each in case.given.seen) > 1
        seen["rule"] += bool(case.rules)
    kinds = ("system", "person", "agent", "call", "result", "media", "block", "field")
    things = ("pinned", "cut", "repeated result", "long result", "long value", "parallel", "parts", "JSON in JSON")
    for each in (*FORMATS, *items.FLAVOURS, *kinds, *things, "reminder", "rule"):
        assert seen[each] >= 3, f"{each}: {seen[each]}"
