"""What stays of turns that do not stay whole: what was done, what failed, and what stands around names."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.history.excerpts import (
    Excerpts,
    excerpt,
    shortened_arguments,
    telling_lines,
    with_interval,
    with_intervals,
)
from brim.history.forms import Forms
from brim.history.names import NameIndex, names_in, widened
from brim.receipts.receipt import handle
from talk import answer, calling, gives, item_call, item_output, model, result, says, use, user

METER = brim.meter("o200k_base")
LISTING = "\n".join(f"row {i} of the listing, which says nothing of interest" for i in range(60))


def listing(i):
    """Return a listing like no other."""
    return LISTING.replace("nothing", f"nothing {'very ' * (i + 1)}much")


def call(id, **arguments):
    """Return a call with arguments."""
    function = {"name": "bash", "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def agent(*steps):
    """Return the messages of an agent that ran commands, each with its output."""
    made = [user("Fix the bug.")]
    for i, (command, output) in enumerate(steps):
        made += [call(f"c{i}", command=command), result(f"c{i}", output)]
    return made


def fit(messages, share=0.4, **options):
    budget = int(METER.count_messages(messages) * share)
    fitted = brim.fit_messages(messages, budget, meter=METER, **options)
    assert fitted.used <= budget
    return fitted


def texts(fitted):
    return "\n".join(str(message.get("content")) for message in fitted.messages)


def test_a_name_stays_with_what_stood_around_it():
    long = LISTING.replace("row 30 of", "the cause is in src/app/model.py:120, see")
    messages = agent(("ls", long), *[(f"step {i}", listing(i)) for i in range(5)])
    assert "the cause is in src/app/model.py:120, see the listing" in texts(fit(messages))


def test_names_that_the_agent_used_come_first():
    rows = [f"row {i}: value_{i:03}" for i in range(120)]
    messages = agent(("find value_077", "\n".join(rows)), *[(f"say {i}", listing(i)) for i in range(6)])
    shown = texts(fit(messages, 0.2))
    assert "row 77: value_077" in shown
    assert 0 < shown.count("value_") < 60


def test_a_name_that_the_agent_wrote_is_worth_more():
    history = brim.History(meter=METER)
    history.extend([user("Fix the bug."), model("I read zeta_two."), user("There is alpha_one as well.")])
    uses = NameIndex(history.turns).ranked()
    assert [use.position for use in uses] == [1, 2]


def test_the_line_of_a_failure_belongs_to_the_least_that_stays():
    failed = f"{LISTING}\nModuleNotFoundError: no module called numpie\n{LISTING}"
    history = brim.History(meter=METER)
    history.extend(agent(("run it", failed), ("ls", LISTING)))
    lines = [dict(telling_lines(message)) for message in history.turns.messages]
    (((start, stop),),) = lines[2].values()
    assert failed[start:stop] == "ModuleNotFoundError: no module called numpie"
    assert lines[4] == {}


def test_what_was_thought_before_older_calls_goes_before_what_was_done():
    """In a run with thinking, thoughts were most of what stayed of older turns."""
    wrote = {"type": "tool_use", "id": "a", "name": "write", "input": {"path": "app.py", "text": LISTING}}
    thought = {"type": "thinking", "thinking": "I have to think about it. " * 20, "signature": "s"}
    history = brim.History(meter=METER)
    history.extend([user("Fix the bug."), says(thought, wrote), gives(answer("a", LISTING))])
    excerpts = Excerpts(history.turns, Forms(history.turns))
    assert excerpts.least(1).raw is history.turns.messages[1].raw  # The provider asks for that of the last call.
    history.extend([says(thought, use("b")), gives(answer("b", "done"))])
    least = excerpts.least(1)
    (call,) = least.raw["content"]
    assert call["name"] == "write"
    assert call["input"]["path"] == "app.py"
    assert least.units < history.turns.units[1] // 4
    assert least.units == history.turns.chat.units(history.turns.wire.read(least.raw, 1))


def test_the_last_call_is_left_with_its_thinking_as_it_is():
    thinking = {"type": "thinking", "thinking": "I think.", "signature": "s"}
    long = {"type": "text", "text": LISTING}
    history = brim.History(meter=METER)
    history.extend([user("Fix the bug."), says(thinking, long, use("a")), gives(answer("a", LISTING))])
    excerpts = Excerpts(history.turns, Forms(history.turns))
    assert excerpts.least(1).raw is history.turns.messages[1].raw
    assert len(str(excerpts.least(2).raw)) < len(LISTING) // 2


def test_each_call_stays_with_the_start_of_its_arguments():
    messages = agent(*[(f"python tool_{i}.py --verbose " + "x" * 200, listing(i)) for i in range(8)])
    fitted = fit(messages, 0.35)
    commands = [
        json.loads(made["function"]["arguments"])["command"]
        for message in fitted.messages
        for made in message.get("tool_calls") or ()
    ]
    assert [command[:16] for command in commands] == [f"python tool_{i}.py"[:16] for i in range(8)]


def test_what_failed_is_told():
    failed = LISTING + "\nModuleNotFoundError: no module called numpie\n" + LISTING
    messages = agent(("run it", failed), *[(f"step {i}", listing(i)) for i in range(6)])
    assert "ModuleNotFoundError: no module called numpie" in texts(fit(messages, 0.2))


def test_one_huge_turn_does_not_keep_the_others_out():
    messages = agent(*[(f"step {i}", listing(i)) for i in range(10)], ("cat all", LISTING * 40), ("step 10", "done"))
    fitted = fit(messages, 0.4)
    assert fitted.used > 0.9 * fitted.budget
    assert sum(message["content"] in map(listing, range(10)) for message in fitted.messages) == 10


def test_the_last_instruction_stays_like_the_first():
    messages = [*agent(*[(f"step {i}", listing(i)) for i in range(4)]), user("Now only document it, change no code.")]
    messages += [part for i in range(4) for part in (call(f"d{i}", command=f"go {i}"), result(f"d{i}", listing(i)))]
    fitted = fit(messages, 0.3)
    assert any(message is messages[9] for message in fitted.messages)
    assert fitted.messages[0] is messages[0]


def test_the_question_stays_before_a_prefill():
    messages = [*agent(*[(f"step {i}", listing(i)) for i in range(4)]), user("Which file is it?")]
    messages += [{"role": "assistant", "content": "It is"}]
    fitted = fit(messages, 0.2)
    assert fitted.messages[-2:] == messages[-2:]


@pytest.mark.parametrize("format", ["openai", "responses", "anthropic"])
def test_excerpts_are_legal_in_every_format(format):
    outputs = [LISTING.replace("row 9 of", "see lib/core_util.py for"), *map(listing, range(7))]
    if format == "openai":
        pairs = [(calling(f"c{i}"), result(f"c{i}", output)) for i, output in enumerate(outputs)]
    elif format == "responses":
        pairs = [(item_call(f"c{i}"), item_output(f"c{i}", output)) for i, output in enumerate(outputs)]
    else:
        pairs = [(says(use(f"c{i}")), gives(answer(f"c{i}", output))) for i, output in enumerate(outputs)]
    messages = [user("task"), *(message for pair in pairs for message in pair)]
    fitted = fit(messages, 0.5)
    assert len(fitted.messages) == len(messages)
    assert "see lib/core_util.py for the listing" in str(fitted.messages[2])


def test_with_recall_a_shortened_result_shows_its_handle():
    history = brim.History(meter=METER)
    history.extend(agent(*[(f"step {i}", f"{i}\n{LISTING}") for i in range(8)]))
    history.show_handles = True
    shown = history.fit(1_200).messages[2]["content"]
    assert shown.startswith(f"[{handle('0' + chr(10) + LISTING)[:11]}]")


def test_arguments_stay_an_object_whatever_is_cut():
    numbers = random.Random(3)
    for _ in range(3_000):
        value = "".join(numbers.choice('ab\n"\\é😀\u2028 ') for _ in range(numbers.randrange(300)))
        text = json.dumps({"a": value, "b": [1, "x" * numbers.randrange(200)]}, ensure_ascii=numbers.random() < 0.5)
        edges = sorted(numbers.sample(range(len(text)), 4))
        short = shortened_arguments(text, ((edges[0], edges[1]), (edges[2], edges[3])))
        if short is not None:
            assert len(short) < len(text)
            json.dumps(json.loads(short), ensure_ascii=False).encode()


def test_intervals_that_touch_or_are_near_become_one():
    kept, fresh = with_interval(((0, 10), (100, 120)), 20, 40)
    assert (kept, fresh) == (((0, 40), (100, 120)), 30)
    assert with_interval(kept, 5, 30) == (kept, 0)
    assert with_intervals((), ((200, 210), (0, 5), (150, 190))) == ((0, 5), (150, 210))


def test_names_are_looked_for_in_the_first_part_of_a_long_text():
    """A text without a name would otherwise be searched to its end in one go, while all threads wait."""
    text = "src/app.py " + "lorem ipsum " * 40_000 + "src/far.py"
    assert [name for name, _ in names_in(text)] == ["src/app.py"]


def test_names_have_a_digit_a_joint_or_a_hump():
    found = [name for name, _ in names_in("Look at src/app.py, getUser or user_id: 4711-22. Nothing else, perhaps 12.")]
    assert found == ["src/app.py", "getUser", "user_id", "4711-22"]


def test_what_stands_around_a_name_begins_and_ends_with_a_line_or_a_word():
    text = "first line\n" + "word " * 30 + "the_name " + "word " * 30 + "\nlast line"
    at = text.index("the_name")
    start, stop = widened(text, at, at + 8)
    assert set(text[start:stop].split()) == {"word", "the_name"}
    assert start <= at - 48
    assert stop >= at + 56


@given(st.text(st.sampled_from("aZ09_./-@#: \n"), max_size=300))
def test_names_in_ascii_are_those_of_any_text(text):
    """A text that is not all ASCII is searched in another way."""
    assert names_in(text + " é") == names_in(text)


def test_what_stands_around_a_name_begins_and_ends_with_a_sentence_or_a_member_if_one_is_near():
    for text in (
        "So it goes. " * 20 + "See the_name there. " + "So it goes. " * 20,
        '"n": 1, ' * 30 + '"the_name": 2' + ', "n": 1' * 30,
    ):
        at = text.index("the_name")
        start, stop = widened(text, at, at + 8)
        assert text[start - 2 : start] in (". ", ", ")
        assert text[stop - 1 : stop + 1] in (". ", ", ")


def test_the_mark_of_a_gap_tells_the_line_in_a_long_text():
    text = "".join(f"line {i} of it\n" for i in range(1, 101))
    parts = [(text.index(f"line {i} "), text.index(f"line {i + 2} ")) for i in (20, 70)]
    assert excerpt(text, tuple(parts)).splitlines() == [
        "…20",
        "line 20 of it",
        "line 21 of it",
        "",
        "…70",
        "line 70 of it",
        "line 71 of it",
        "",
        "…",
    ]
    assert excerpt(text[:200], ((30, 40),)).splitlines()[0] == "…"
    own = "".join(f"  {i}\tline\n" for i in range(1, 101))
    assert excerpt(own, ((own.index("  20"), own.index("  22")),)).splitlines()[0] == "…"
    again = f"…\n{text}"  # The numbers of an excerpt's lines are not those of its text.
    assert excerpt(again, ((again.index("line 20 "), again.index("line 22 ")),)).splitlines()[0] == "…"


def test_the_first_line_of_a_long_text_ends_with_a_word():
    messages = agent(*[(f"cat file_{i}.py", listing(i)) for i in range(4)])
    messages[1:1] = [{"role": "assistant", "content": "considering " * 400}, user("so")]
    sent = fit(messages, 0.2).messages
    said = next(m["content"] for m in sent if str(m.get("content")).startswith("considering"))
    assert set(said.split()) == {"considering", "…"}


def test_more_room_never_makes_a_newer_turn_smaller():
    messages = agent(*[(f"cat file_{i}.py", LISTING[: 300 + 97 * i]) for i in range(12)])
    whole = METER.count_messages(messages)
    last = None
    for budget in range(400, whole, 37):
        parts = brim.fit_messages(messages, budget, meter=METER).receipt.parts
        for before, now in reversed([*zip(last or parts, parts, strict=True)]):
            if before.state == now.state == "cut" or now.used > before.used:
                break
            assert now.used == before.used
        last = parts


def test_where_a_name_of_the_question_was_said_first_stays():
    """The answers name each depot once more, so that its report is not where it was last seen."""
    messages = [user("Read the reports with me.")]
    for i in range(6):
        rain = f"Rain came late to the road of day {i}. " * 6
        messages += [
            user(f"Report.\n{rain}\nThe key of depot_{i:03} is K{i}77.\n{rain}"),
            model(f"I read of depot_{i:03}."),
        ]
    messages.append(user("What is the key of depot_001?"))
    fitted = brim.fit_messages(messages, METER.count_messages(messages) // 2, meter=METER)
    assert "The key of depot_001 is K177." in str(fitted.messages[2:-2])


def test_a_decision_in_prose_stays():
    talk = [user("Plan the move.")]
    for i in range(12):
        words = (
            f"We looked at part {i} for a while, and it is as it was before, as far as anybody can see from here. " * 4
        )
        talk += [model(words + ("We decided to use queues. " if i == 4 else "") + words), user("Go on.")]
    fitted = brim.fit_messages(talk, METER.count_messages(talk) // 2, meter=METER)
    assert fitted.receipt.losses
    assert "We decided to use queues." in str(fitted.messages)


@pytest.mark.parametrize("share", [0.3, 0.4, 0.5])
def test_excerpts_that_count_more_than_their_length_tells_still_fit(share):
    plain, dense = "the quick brown fox jumps over the lazy dog and " * 30, "龘靐齉爩鱻麤龗灪吁" * 5
    outputs = [f"{plain}{i} {dense} name_{i} {dense} {plain}" for i in range(6)]
    fitted = fit(agent(*[(f"step {i}", output) for i, output in enumerate(outputs)]), share)
    assert fitted.used > 0.8 * fitted.budget
    assert "name_5" in texts(fitted)


def test_what_excerpts_count_less_than_estimated_goes_to_more_of_them():
    drawn = random.Random(1)
    said = [{"role": "user", "content": "Find out which orders are late."}]
    for i in range(30):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "look", "arguments": f'{{"page": {i}}}'}}
        rows = [
            f"order_{drawn.randrange(10**6)} left depot_{drawn.randrange(99)} by truck_{drawn.randrange(10**4)}"
            for _ in range(20)
        ]
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{i}", "content": "\n".join(rows)})
    used = [brim.fit_messages(said, budget, model="gpt-4o").used for budget in (2_000, 3_000, 4_000)]
    assert all(0.97 * budget < each <= budget for each, budget in zip(used, (2_000, 3_000, 4_000), strict=True)), used
