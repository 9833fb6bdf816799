"""A turn costs what its prompt costs, and what is computed from the prompt is what all messages would say."""

import json
import sys
from collections import Counter
from contextlib import suppress

import hypothesis
import pytest
from hypothesis import strategies as st

import brim
from brim.errors import DoesNotFit
from brim.history.compact import mark
from brim.history.note import is_note
from brim.history.regret import ResultIndex
from brim.sessions.context import Context
from brim.wire.message import results_of
from properties import examples

WORDS = ["parse", "render", "store", "index", "query", "cache", "token", "budget", "window", "result"]


def step(number, path, lines):
    """Return a call and its result, of a few hundred tokens."""
    call = {"name": "read", "arguments": json.dumps({"path": path})}
    text = "\n".join(f"{path}:{at}: {WORDS[(number + at) % 10]} = {number * at}" for at in range(lines))
    calls = [{"id": f"c{number}", "type": "function", "function": call}]
    return [
        {"role": "assistant", "content": f"I look at {path} for the {number}th time.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def work(call):
    """Return the result of a call, and how many bytecodes of brim it ran: the same on any machine."""
    count = Counter()

    def trace(frame, event, _):
        frame.f_trace_opcodes = True
        count[event] += 1
        return trace

    sys.settrace(trace)
    try:
        result = call()
    finally:
        sys.settrace(None)
    return result, count["opcode"]


def bytecodes(size, *, changes):
    """Return the bytecodes of a request of a conversation of so many turns that keeps its cut."""
    engine, history = brim.Conversations(brim.Window(8_000), meter="o200k_base"), [{"role": "user", "content": "Go."}]
    for number in range(size + 8):
        history += step(number, f"src/{number}.py", 15)
        given = json.loads(json.dumps(history)) if changes else list(history)
        if number >= size:
            made, spent = work(lambda given=given: engine.request(given, changes=changes))
            if not made.cut:
                return spent
        elif number % 10 == 0 or number > size - 3:
            engine.request(given, changes=changes)
    raise AssertionError("each of them was cut")


@pytest.mark.parametrize("changes", [False, True], ids=["own objects", "copies"])
def test_a_turn_after_2500_turns_cost_four_times_one_after_200(changes):
    assert bytecodes(800, changes=changes) < 1.1 * bytecodes(200, changes=changes)


def naive_categories(context, messages):
    """Return the tokens by category of all messages of a prompt, each read and counted again."""
    turns, sums = context.history.turns, Counter()
    for at, raw in enumerate(messages):
        message = turns.wire.read(raw, at)
        units = turns.chat.units(message)
        summary = mark.piece_of(message, context._summary)
        if summary is not None:
            size = units if len(message.pieces) == 1 else turns.chat.piece(summary)
            sums["summary"] += size
            units -= size
        user = "framing" if is_note(message) else "user"
        role = {"user": user, "tool": "tool results"}.get(message.role, message.role)
        sums["tool results" if message.results else role] += units
    return {name: units for name, units in sums.items() if units and name != "framing"}


class Checked:
    """Compares what each prompt changes with what all messages say."""

    def __init__(self, patch):
        self.prompts, logged = 0, {}
        categories, left_out, removed = Context.categories, Context.left_out, ResultIndex.removed

        def check_categories(context, sent):
            found = categories(context, sent)
            self.prompts += 1
            assert {k: v for k, v in found.items() if k != "framing"} == naive_categories(context, sent.messages)
            return found

        def check_left_out(context, whole, noted):
            found, now = left_out(context, whole, noted)
            turns = context.history.turns
            there = {at for start, stop in whole for at in range(start, stop)}
            gone = [at for at in range(len(turns)) if at not in there]
            _, known = logged.get(id(noted), (noted, {}))
            known = known if noted.generation == turns.generation else {}
            spans = dict(turns.span(turn) for turn in sorted({turns.turn_of(at) for at in gone} - {-1}))
            new = [start for start, stop in spans.items() if known.get(start) != stop]
            logged[id(now)] = now, known | spans
            assert [each.messages for each in found] == [
                [turns.raws[at] for at in turns.members(turns.turn_of(start))] for start in new
            ]
            assert now.missing == len(gone)
            return found, now

        def check_removed(index, before, whole, changed, cut):
            changed = list(changed)
            found = removed(index, before, whole, changed, cut)
            turns, calls, shown, gone = index._turns, {}, set(), set()
            texts = [each for raw in changed for each in outputs(turns.wire.read(raw, 0))]
            there = {at for start, stop in whole for at in range(start, stop)}
            for at, message in enumerate(turns.messages):
                for piece in message.pieces:
                    if piece.kind == "call":
                        calls[piece.id] = json.dumps([piece.name, json.loads(piece.text)], sort_keys=True)
                for id_, text in outputs(message):
                    (shown if at in there or (id_, text) in texts else gone).add(calls[id_])
            known = {key: each for key, each in before.cuts.items() if key not in shown}
            assert found.cuts == known | {key: known.get(key, cut) for key in gone - shown}
            return found

        patch.setattr(Context, "categories", check_categories)
        patch.setattr(Context, "left_out", check_left_out)
        patch.setattr(ResultIndex, "removed", check_removed)


def outputs(message):
    inner = results_of(message)
    for i, piece in enumerate(message.pieces):
        if piece.kind == "result":
            yield piece.id, "\n".join(message.pieces[at].text for at, own in inner.items() if own == i)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["step", "step", "step", "step", "grows", "words", "wide", "tight", "opened"]),
        st.integers(0, 6),
        st.sampled_from([3, 15, 60]),
    ),
    min_size=8,
    max_size=60,
)


def anthropic(messages):
    """Return messages of Chat Completions in the format of Anthropic."""
    for raw in messages:
        if raw["role"] == "tool":
            block = {"type": "tool_result", "tool_use_id": raw["tool_call_id"], "content": raw["content"]}
            yield {"role": "user", "content": [block]}
        elif raw.get("tool_calls"):
            blocks = [{"type": "text", "text": raw["content"]}]
            for call in raw["tool_calls"]:
                told = call["function"]
                inputs = json.loads(told["arguments"])
                blocks.append({"type": "tool_use", "id": call["id"], "name": told["name"], "input": inputs})
            yield {"role": "assistant", "content": blocks}
        else:
            yield raw


@examples(60)
@hypothesis.given(
    steps=STEPS,
    format=st.sampled_from(["openai", "anthropic"]),
    summarise=st.sampled_from([None, None, "extract"]),
    stable=st.booleans(),
)
def test_what_a_prompt_changed_is_what_all_messages_say(steps, format, summarise, stable):
    own = anthropic if format == "anthropic" else list
    with brim.open_store("sqlite:///:memory:") as store, pytest.MonkeyPatch.context() as patch:
        checked = Checked(patch)
        told = {"format": format, "summarise": summarise, "stable": stable}
        talk = brim.Session(brim.Window(4_000), meter="o200k_base", store=store, id="s", **told)
        talk.add({"role": "user", "content": "Mend the build, and never touch prod_db."})
        for number, (kind, file, lines) in enumerate(steps):
            new = []
            if kind == "opened":
                talk = brim.Session.open("s", store=store)
            elif kind in ("tight", "wide"):
                talk.record_usage(input_tokens=int(talk.status().used * (2 if kind == "tight" else 0.9)))
            elif kind == "words":
                said = f"Number {number}: " + " ".join(WORDS) * lines
                new = [[{"role": "assistant", "content": "Done."}, {"role": "user", "content": said}]]
            else:
                new = [step(number, f"src/{file}.py", lines)]
                if kind == "grows":  # Two calls at once: the turn grows by the second result, after a prompt.
                    again = step(number + 1_000, f"src/{file + 1}.py", lines)
                    new[0][0]["tool_calls"] += again[0]["tool_calls"]
                    new += [[again[1]]]
            for messages in new or [[]]:
                talk.add(list(own(messages)))
                with suppress(DoesNotFit):
                    talk.prompt()
        assert checked.prompts
