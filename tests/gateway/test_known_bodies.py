"""A body is parsed to the same values as by the library, whatever was parsed before; what it repeats is not parsed again."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import SourceError
from brim.files.depth import is_deep
from brim.files.json_body import body_of, is_strict
from brim.gateway import known_bodies
from brim.gateway.client_request import read
from brim.gateway.known_bodies import KnownBodies, parsed
from brim.gateway.problem import HttpProblem
from brim.wire.base import MESSAGE_KEYS
from gateway.conftest import asked, conversation, counted, post
from properties import examples

ROOM = 10_000_000
MOST = 250_000
GROWN = [{"role": "user", "content": f"{i}"} for i in range(40)]

NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(("user", "assistant", "tool")),
    st.text(alphabet='a"\\{}[],: \né😀', max_size=12) | NESTED,
)
OTHERS = st.dictionaries(
    st.sampled_from(("model", "stream", "metadata", "messages_", "input_", "system")),
    NESTED | st.just('"messages": [{"role": "user"}]') | st.just({"messages": [{"a": 1}, {"b": 2}, {"c": 3}]}),
    max_size=3,
)


def library(text):
    """Return what the library makes of a text: the values, or the kind of its error."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        return type(error)
    return RecursionError if is_deep(values) else values


def ours(bodies, text, most=MOST):
    try:
        return bodies.parsed(text, most).values
    except (ValueError, RecursionError, HttpProblem) as error:
        return type(error)


def same(one, other):
    """Return whether two values are equal, with their order and the kinds of their numbers."""
    return one == other and repr(one) == repr(other)


@st.composite
def traffic(draw):
    """Return bodies of some conversations as text: they grow, branch, are spelled in several ways, and are damaged."""
    texts = []
    heads = draw(st.lists(st.lists(MESSAGES, min_size=1, max_size=3), min_size=1, max_size=2))
    for _ in range(draw(st.integers(2, 8))):
        head = draw(st.sampled_from(heads))
        head += draw(st.lists(MESSAGES, max_size=3))
        kept = head[: draw(st.integers(0, len(head)))] + draw(st.lists(MESSAGES, max_size=2))
        key = draw(st.sampled_from(("messages", "messages", "input", "contents")))
        before, after = draw(OTHERS), draw(OTHERS)
        separators = draw(st.sampled_from(((",", ":"), (", ", ": "), (" ,\n", " :\t"))))
        text = json.dumps({**before, key: kept, **after}, ensure_ascii=draw(st.booleans()), separators=separators)
        if draw(st.integers(0, 3)) == 0:  # Something is missing, or stands twice.
            at, end = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
            text = draw(st.sampled_from((text[:at] + text[end:], text[:end] + text[at:], text[:at] + "," + text[at:])))
        texts.append(text)
    return texts


@given(traffic())
@examples(100)
def test_bodies_have_the_values_that_the_library_finds_whatever_came_before(texts):
    bodies, told = KnownBodies(ROOM), [library(text) for text in texts]
    for _ in range(2):
        for text, expected in zip(texts, told, strict=True):
            assert same(ours(bodies, text), expected), text


@given(texts=traffic(), most=st.integers(1, 150))
@examples(60)
def test_bodies_with_too_many_values_are_refused_whatever_came_before(texts, most):
    bodies = KnownBodies(ROOM)
    for text in texts * 2:
        found, expected = ours(bodies, text, most), library(text)
        many = counted(text) > most and len(text) > most
        assert found is HttpProblem if many and type(expected) is dict else many or same(found, expected), text


def test_what_follows_the_messages_that_are_known_is_counted_before_it_is_parsed():
    bodies = KnownBodies(ROOM)
    start = '{"messages": [' + ", ".join(map(json.dumps, GROWN))
    for text in (f"{start}]}}", f"{start}, 1]}}", f'{start}], "tools": [1]}}'):
        assert same(ours(bodies, text, 200), library(text))
    for text in (f"{start}, {[1] * 200}]}}", f'{start}], "tools": {[1] * 200}}}'):
        assert ours(bodies, text, 200) is HttpProblem


def test_the_first_messages_are_counted_before_they_are_parsed(monkeypatch):
    decoded = []

    class Watched(json.JSONDecoder):
        def raw_decode(self, text, idx=0):
            decoded.append(text)
            return super().raw_decode(text, idx)

    monkeypatch.setattr(known_bodies, "_DECODER", Watched())
    assert ours(KnownBodies(ROOM), f'{{"messages": [{[1] * 200}, 2, 3]}}', 100) is HttpProblem
    assert [len(text) for text in decoded] == [100]


@pytest.mark.parametrize("most", range(1, 80))
def test_a_body_is_read_from_its_start_wherever_that_ends(most):
    for text in ('{"messages": [1, 23, 45, 67], "a": 5}', '{"messages": [1, 23, ]}', '{"messages": [1, 23 , 4 , ]}'):
        bodies = KnownBodies(ROOM)
        for _ in range(2):
            found = ours(bodies, text, most)
            assert found is HttpProblem if most < counted(text) else same(found, library(text)), text


@pytest.mark.parametrize(
    "text",
    [
        '{"messages": [%s], "messages": [{"a": 1}]}',
        '{"messages": [%s], "messages": []}',
        '{"messages": [%s,]}',
        '{"messages": [%s, 1]}',
        '{"messages": [%s] "model": 1}',
        '{"messages": [%s]',
        '{"metadata": {"messages": [%s]}, "messages": [{"a": 1}, {"b": 2}]}',
        '{"system": "\\"messages\\": [%s]", "messages": [{"a": 1}, {"b": 2}]}',
        '[{"messages": [%s]}]',
        '\ufeff{"messages": [%s]}',
        '{"messages": [%s, {"content": ' + "[" * 200 + "]" * 200 + "}]}",
        '{"messages": [%s], "tools": ' + "[" * 200 + "]" * 200 + "}",
        '{"messages": [%s, ' + "[" * 2_000 + "]}",
    ],
)
def test_bodies_that_only_look_like_the_one_before(text):
    bodies = KnownBodies(ROOM)
    known = ", ".join(map(json.dumps, GROWN))
    for start in ('{"messages": [', '{"metadata": {"messages": [', '[{"messages": [', '{"system": "\\"messages\\": ['):
        ours(bodies, f"{start}{known}]}}")
    for _ in range(2):
        assert same(ours(bodies, text % known), library(text % known))


def test_a_number_among_the_messages_may_go_on():
    bodies = KnownBodies(ROOM)
    for last in ("1", "12", "12.5", '{"c": 3}'):
        text = f'{{"messages": [{{"a": 1}}, {{"b": 2}}, {last}]}}'
        assert same(ours(bodies, text), library(text))


def test_the_memory_of_a_body_is_told_without_reading_it_again():
    bodies, changed = KnownBodies(ROOM), [*GROWN[:25], {"role": "user", "content": "other " * 900}]
    for messages in (GROWN, [*GROWN, *GROWN], changed, GROWN[:30], changed):
        raw = json.dumps({"model": "m", "messages": messages, "tools": [{"name": f"t{i}"} for i in range(20)]}).encode()
        one, known = (read("chat", raw, 10**6, parse=parse) for parse in (parsed, bodies.parsed))
        assert known.weight is not None
        assert known.size == pytest.approx(one.size, rel=0.02)


def test_what_a_body_repeats_is_not_parsed_again_and_other_clients_share_nothing():
    bodies = KnownBodies(ROOM)
    first = bodies.parsed(json.dumps({"messages": GROWN, "model": "m"}), MOST, ("a",)).values["messages"]
    changed = [*GROWN[:25], {"role": "user", "content": "other"}, *GROWN[25:], {"role": "user", "content": "more"}]
    for messages, kept in ((GROWN, 40), ([*GROWN, GROWN[0]], 40), (changed, 25), (GROWN[:30], 25)):
        found = bodies.parsed(json.dumps({"messages": messages, "stream": True}), MOST, ("a",)).values["messages"]
        assert found == messages
        assert [one is other for one, other in zip(first, found, strict=False)][:kept] == [True] * kept
    other = bodies.parsed(json.dumps({"messages": GROWN, "model": "m"}), MOST, ("b",)).values["messages"]
    assert not any(one is two for one in first for two in other)


def messages_of(bodies, messages):
    return bodies.parsed(json.dumps({"messages": messages}), MOST).values["messages"]


def test_the_memory_of_bodies_is_bounded():
    bodies = KnownBodies(240_000)
    talks = [[{"role": "user", "content": f"{number} " * 100}, *GROWN] for number in range(30)]
    known = [[messages_of(bodies, talk) for _ in range(2)][1] for talk in talks]
    again = [messages_of(bodies, talk) for talk in reversed(talks)]
    kept = [one[5] is two[5] for one, two in zip(reversed(known), again, strict=True)]
    assert kept[0]
    assert not any(kept[10:])
    kept = [messages_of(bodies, GROWN) for _ in range(2)][1]
    huge = [{"role": "user", "content": "x"} for _ in range(1_000)]
    one, two, three = (messages_of(bodies, huge) for _ in range(3))
    assert one[5] is not two[5]
    assert two[5] is not three[5]
    assert messages_of(bodies, GROWN)[5] is kept[5], "a body that is too large takes no other's place"


def test_a_large_body_is_remembered_with_the_second_request_of_its_conversation():
    bodies = KnownBodies(240_000)
    first, second, third = (messages_of(bodies, GROWN) for _ in range(3))
    assert first == second == third == GROWN
    assert second[5] is not first[5]
    assert third[5] is second[5]


def test_first_messages_that_are_large_are_not_remembered():
    bodies = KnownBodies(240_000)
    for number in range(3):
        messages_of(bodies, [{"role": "user", "content": f"{number}" * 12_000}, *GROWN])
    assert not bodies._known


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
@pytest.mark.parametrize("spaced", [False, True])
def test_positions_are_those_of_a_reader_of_the_whole_and_what_was_checked_is_not_read_again(key, spaced, monkeypatch):
    read_starts = []
    monkeypatch.setattr(known_bodies, "is_strict", lambda text, at: read_starts.append(len(at)) or is_strict(text, at))
    bodies, messages = KnownBodies(ROOM), [{"role": "user", "content": "é\n" * 3}, {"a": 1}]
    for _ in range(4):
        messages = [*messages, {"role": "user", "content": "more"}]
        made = {"model": "m", key: messages, "max_tokens": 5, "tools": [{"name": "t"}]}
        text = json.dumps(made, indent=1 if spaced else None, ensure_ascii=False)
        known, whole = bodies.parsed(text, MOST).known.strict("here", text), body_of(text, "here", MESSAGE_KEYS)
        assert [*known.spans] == [*whole.spans] == known.spans[:]
        assert (known.items, known.values, known.starts, known.whole) == (
            whole.items,
            whole.values,
            whole.starts,
            whole.whole,
        )
        assert [*known.values] == [*whole.values]
        assert known.with_items([known.spans[1], '{"b": 2}']) == whole.with_items([whole.spans[1], '{"b": 2}'])
    assert read_starts == [3, 1, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        '{"messages": [%s, {"a": 1, "a": 2}]}',
        '{"messages": [%s, {"a": NaN}]}',
        '{"messages": [%s], "a": 1, "a": 2}',
        '{"messages": [%s], "a": {"b": 1,\n "b": 2}}',
        '{"messages": [%s], "input": []}',
        '{"input": [],\n "messages": [%s]}',
    ],
)
def test_a_body_that_can_be_read_in_two_ways_is_refused_as_by_a_reader_of_the_whole(text):
    bodies, known = KnownBodies(ROOM), ",\n ".join(map(json.dumps, GROWN))
    ours(bodies, f'{{"messages": [{known}]}}')
    for _ in range(2):
        told = []
        for reader in (
            lambda text: bodies.parsed(text, MOST).known.strict("here", text),
            lambda text: body_of(text, "here", MESSAGE_KEYS),
        ):
            try:
                found = reader(text % known)
                told.append((found.items, found.whole, [*found.spans]))
            except SourceError as error:
                told.append(str(error))
        assert told[0] == told[1]


def test_conversations_that_are_cut_leave_what_is_known_unchanged(gateway, upstream):
    """The values are shared by all requests of a conversation."""
    url, app = gateway(window=3_000)
    drawn = random.Random(7)
    messages = conversation(80)
    for _ in range(6):
        status, _, _ = post(url, asked(messages))
        assert status == 200
        messages = [*messages, *conversation(drawn.randrange(2, 8))[1:]]
    (body,) = app.state.bodies._known.values()
    assert len(body.items) > 80
    start = body.text.index("[")
    assert same(body.items, json.loads(body.text[start:] + "]"))
