"""One suite for all stores: in memory, SQLite, PostgreSQL."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import Conflict, InvalidType, InvalidValue, StoreError
from brim.receipts.receipt import handle
from brim.store import Purged, open_store
from brim.store.values import decode_body, encode_body, stored
from properties import examples

HARD = [
    "",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\ud83d\ude00",
    "😀",
    "\u2028",
    "\x7f\x1b",
    '"\\',
    "数据库",
    "e\u0301",
]


def bodies(store, session, **options):
    return [entry.body for entry in store.entries(session, **options)]


def keep(store, session, *texts):
    return store.append(session, [("text", {"text": text}) for text in texts])


def test_a_writer_that_has_not_seen_the_last_entry_is_refused_and_writes_nothing(store, second):
    store.append("a", [("message", {"n": 1})], after=0)
    with pytest.raises(
        Conflict, match=r"session 'a' is at version 1, not 0: it has changed since; read it again"
    ) as refused:
        second.append("a", [("message", {"n": 2})], after=0, meta={"x": 1})
    assert (refused.value.expected, refused.value.found) == (0, 1)
    assert second.append("a", [("message", {"n": 2})], after=1) == 2
    assert bodies(store, "a") == [{"n": 1}, {"n": 2}]
    assert store.sessions()[0].meta == {}


@pytest.mark.parametrize("text", HARD, ids=ascii)
def test_texts_come_back_as_they_were_whatever_their_characters(store, text):
    body = {text: [text, {"deep": text + "x"}], "n": [1, -1.5, 2**70, True, None]}
    store.append("a", [("message", body)])
    keep(store, "a", text)
    store.save("loop", "1", body, version=0)
    assert bodies(store, "a") == [body, {"text": text}]
    assert store.text(handle(text)) == (text or None)
    assert store.load("loop", "1").body == body


_KEYS = st.text(st.characters(exclude_categories=[]), max_size=8) | st.sampled_from(["$bytes", "$$bytes", "bytes"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _KEYS | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@examples(200)
@given(body=st.dictionaries(_KEYS, _VALUES, max_size=3))
def test_every_value_of_a_body_comes_back_as_it_was(body):
    """Bedrock's messages hold bytes, which came back as a text."""
    found = decode_body("here", encode_body("body", body))
    assert found == body
    assert repr(found) == repr(body)  # 1 is not True, and bytes are not a text.


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({1: "a"}, r"each key of body must be a string.* not 1"),
        ({"rows": [{"a": 1}, {("x", 2): 3}]}, r"each key of body\['rows'\]\[1\] must be .* not \('x', 2\)"),
        ({"a": {None: 1}}, r"each key of body\['a'\] must be"),
        ({"a": [0, {"worker": object()}]}, r"body\['a'\]\[1\]\['worker'\] must be JSON values"),
    ],
    ids=["whole number", "tuple", "none", "a value"],
)
def test_a_key_or_value_that_json_lacks_is_refused_by_its_place(store, body, place):
    """A state with the keys 1 and 2 came back with the keys "1" and "2"."""
    with pytest.raises(InvalidValue, match=place):
        store.save("loop", "1", body, version=0)
    with pytest.raises(InvalidValue, match=place):
        stored("body", body)
    assert store.load("loop", "1") is None


@examples(100)
@given(body=st.dictionaries(_KEYS, _VALUES, max_size=3))
def test_a_stored_value_is_what_a_store_returns_and_shares_nothing(body):
    found = stored("body", body)
    assert repr(found) == repr(decode_body("here", encode_body("body", body)))
    found["new"] = 1
    assert stored("body", (1, [2])) == [1, [2]]


ENDLESS = {}
ENDLESS["self"] = ENDLESS


@pytest.mark.parametrize(
    "body",
    [["no mapping"], {"n": float("nan")}, {"n": object()}, {"n": {1, 2}}, ENDLESS],
    ids=["list", "nan", "object", "set", "endless"],
)
def test_a_body_that_json_cannot_say_is_refused_with_its_place(store, body):
    with pytest.raises(InvalidValue, match=r"^entries\[1\]\.body\S* must be "):
        store.append("a", [("note", {}), ("note", body)])
    assert store.entries("a") == []


@pytest.mark.parametrize("name", ["", "x" * 501, "a\0b", "a\ud800"], ids=ascii)
def test_a_name_that_a_database_cannot_hold_is_refused(store, name):
    for call in (
        lambda: store.append(name, [("note", {})]),
        lambda: store.append("a", [(name, {})]),
        lambda: store.entries(name),
        lambda: store.session(name),
        lambda: store.text(name),
        lambda: store.text("h", session=name),
        lambda: store.search("text", session=name),
        lambda: store.save(name, "1", {}, version=0),
        lambda: store.load("loop", name),
        lambda: store.purge(session=name),
    ):
        with pytest.raises(InvalidValue):
            call()
    with pytest.raises(InvalidType):
        store.append(7, [("note", {})])
    assert store.sessions() == []


def test_numbers_and_moments_that_make_no_sense_are_refused(store):
    for call in (
        lambda: store.append("a", [], after=-1),
        lambda: store.append("a", [], after=True),
        lambda: store.entries("a", limit=-1),
        lambda: store.entries("a", after="1"),
        lambda: store.sessions(limit=-1),
        lambda: store.save("loop", "1", {}, version=-1),
        lambda: store.purge(before=float("inf")),
        store.purge,
    ):
        with pytest.raises(InvalidValue):
            call()


LINES = "".join(f"line {number} of the build\n" for number in range(200))
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "read"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": LINES}
PARTS = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": t} for t in ("one", "two")]}


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ({"role": "user", "content": "Hello"}, ["Hello"]),
        (CALL, ["read "]),
        (RESULT, [LINES]),
        (
            {"role": "user", "content": [PARTS, {"type": "text", "text": "three"}]},
            ["one\ntwo\nthree", "one\ntwo", "two"],
        ),
        ({"role": "user", "parts": [{"text": "of Gemini"}]}, ["of Gemini"]),
        ({"what": ["nobody", {"knows": "things"}]}, ["nobody\nthings"]),
    ],
    ids=["user", "call", "result", "parts", "gemini", "unknown"],
)
def test_a_message_is_found_by_the_hash_of_what_it_says_and_of_each_result(store, message, texts):
    store.append("a", [("message", {"message": message})])
    for text in texts:
        name = handle(text)
        assert [store.text(part, session="a") for part in (name, name[:8], name[:11], name[:20])] == [text] * 4
        assert store.text(name[:7]) is None
        assert store.text(name[:12] + "x") is None
    hit = store.search(texts[0].split()[-1])[0]
    assert (hit.handle, hit.number, hit.kind) == (handle(texts[0]), 1, "message")


def test_a_dropped_turn_is_made_from_the_entries_of_its_messages(store):
    turn = json.dumps([CALL, {**RESULT, "content": "cut"}], separators=(",", ":"))
    store.append("b", [("note", {})] * 3)
    said = [
        ("message", {"message": CALL}),
        ("prompt", {}),
        ("message", {"message": RESULT, "sent": {**RESULT, "content": "cut"}}),
    ]
    store.append("a", [*said, ("dropped", {"turns": {handle(turn): [1, 3], handle("other"): [1]}})])
    assert [store.text(handle(turn)[:size], session="a") for size in (11, 35)] == [turn, turn]
    assert store.text(handle(turn), session="b") is None
    assert store.text(handle(LINES)) == LINES
    store.append("b", [("turn", {"messages": [CALL, RESULT]})])
    whole = json.dumps([CALL, RESULT], separators=(",", ":"))
    assert [store.text(handle(text), session="b") for text in (whole, LINES)] == [whole, LINES]
    assert {(hit.session, hit.kind) for hit in store.search("builds")} == {("a", "message"), ("b", "turn")}
    store.purge(session="a")
    assert [store.text(handle(text)) for text in (turn, LINES)] == [None, LINES]


TEXTS = {
    "paint": "She painted the house. Painting took a week, and paint is dear.",
    "path": "Traceback: src/brim/loadFile.py line 3: KeyError 'user_id'",
    "chinese": "数据库连接失败，请检查端口",
    "accents": "Le déjeuner à l'école était très bon",
    "one": "The house was sold to somebody with a great many other things that are told here at length.",
}


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("painting", "paint"),
        ("paints", "paint"),
        ("src/brim/loadFile.py", "path"),
        ("load_file", "path"),
        ("user id", "path"),
        ("连接", "chinese"),
        ("dejeuner ecole", "accents"),
        ("paint house", "paint"),
    ],
)
def test_a_search_finds_words_in_any_form_and_script(store, query, best):
    keep(store, "a", *TEXTS.values())
    assert store.search(query)[0].handle == handle(TEXTS[best])


def test_a_search_ranks_shows_and_limits(store, clock):
    keep(store, "a", *TEXTS.values())
    clock.pass_(1)
    keep(store, "b", TEXTS["one"])
    found = store.search("a painted house")
    assert [(each.handle, each.session) for each in found] == [
        (handle(TEXTS["paint"]), "a"),
        (handle(TEXTS["one"]), "b"),
    ]
    assert found[0].rank > found[1].rank > 0
    assert found[1].excerpt == TEXTS["one"]
    assert store.search("house", limit=1) == store.search("house")[:1]
    assert store.search("house", limit=0) == []
    assert [each.handle for each in store.search("house", session="b")] == [handle(TEXTS["one"])]
    assert store.search("house", session="nobody") == []


@pytest.mark.parametrize(
    "query",
    [
        "",
        "the",
        '"',
        "'",
        "a AND",
        "NOT",
        "NEAR(",
        "*",
        "col:x",
        "-",
        "(",
        "a OR",
        "\0",
        "\ud800",
        "\\",
        "'':*&|!<->",
        "%s",
        "?",
    ],
    ids=ascii,
)
def test_no_query_is_a_mistake(store, query):
    keep(store, "a", *TEXTS.values())
    store.search(query)
    assert store.search(query + " painting " + query)[0].handle == handle(TEXTS["paint"])


def test_a_document_is_saved_only_over_the_version_that_was_seen(store, second, clock):
    assert store.load("loop", "1") is None
    assert store.save("loop", "1", {"n": 1}, version=0) == 1
    clock.pass_(2)
    assert second.save("loop", "1", {"n": 2}, version=1) == 2
    for stale in (0, 1, 3):
        with pytest.raises(Conflict, match=rf"the loop '1' is at version 2, not {stale}"):
            store.save("loop", "1", {"n": 9}, version=stale)
    assert store.load("loop", "1") == ("loop", "1", 2, 1_000_002.0, {"n": 2})
    with pytest.raises(Conflict):
        store.save("loop", "none", {}, version=1)


def test_what_is_written_in_a_transaction_is_written_together_or_not_at_all(store, second):
    name = handle("some text")

    def step(fail):
        with store.transaction():
            number = store.append("a", [("text", {"text": "some text"})], after=0)
            assert store.entries("a")[0].number == number
            store.save("loop", "a", {"at": number}, version=0)
            if fail:
                raise RuntimeError("the process died here")

    with pytest.raises(RuntimeError):
        step(fail=True)
    assert (second.sessions(), second.entries("a"), second.text(name)) == ([], [], None)
    assert (second.load("loop", "a"), second.search("text")) == (None, [])
    step(fail=False)
    assert (len(second.entries("a")), second.text(name)) == (1, "some text")
    assert second.load("loop", "a").body == {"at": 1}


def test_a_call_that_is_refused_inside_a_transaction_takes_nothing_else_with_it(store, second):
    def write_part():
        with store.transaction():
            keep(store, "c", "kept")
            store.append("c", [("note", [])])

    with store.transaction():
        store.append("a", [("note", {})])
        with pytest.raises(Conflict):
            store.append("b", [("note", {})], after=5)
        with pytest.raises(InvalidValue):
            write_part()
        store.append("a", [("note", {})])
    assert [row.id for row in second.sessions()] == ["a"]
    assert second.text(handle("kept")) is None
    assert len(second.entries("a")) == 2


def test_a_purge_removes_old_sessions_and_what_they_said(store, clock):
    keep(store, "old", "a shared secret", "a private secret")
    store.save("loop", "old", {}, version=0)
    store.save("calibration", "m", {}, version=0)
    clock.pass_(100)
    keep(store, "new", "a shared secret")
    assert store.purge(before=1_000_000) == Purged(0, 0, 0)
    assert store.purge(before=1_000_050, documents=["loop"]) == Purged(1, 2, 1)
    assert [row.id for row in store.sessions()] == ["new"]
    assert store.entries("old") == []
    shared, own = handle("a shared secret"), handle("a private secret")
    assert (store.text(own), store.text(shared)) == (None, "a shared secret")
    assert [each.handle for each in store.search("secret")] == [shared]
    assert (store.ids("loop"), store.ids("calibration")) == ([], ["m"])
    assert store.append("old", [("message", {})]) == 1


def test_a_purge_is_no_part_of_a_transaction(store):
    store.append("a", [("message", {})])
    with pytest.raises(StoreError, match="cannot be part of a transaction"), store.transaction():
        store.purge(session="a")
    assert store.purge(session="a").sessions == 1


def test_a_closed_store_says_so(store):
    store.close()
    store.close()
    for call in (lambda: store.append("a", [("note", {})]), lambda: store.entries("a"), lambda: store.search("x")):
        with pytest.raises(StoreError, match="the store is closed: open it again"):
            call()


def test_threads_that_write_one_log_leave_every_entry_once(store):
    def write(worker):
        for i in range(10):
            store.append("a", [("note", {"by": worker, "n": i}), ("note", {"by": worker, "n": i})])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    found = store.entries("a")
    assert [entry.number for entry in found] == list(range(1, 81))
    pairs = [(found[i].body, found[i + 1].body) for i in range(0, 80, 2)]
    assert all(one == other for one, other in pairs)


@pytest.mark.parametrize("url", ["", "brim.db", "sqlite://", "sqlite:///", "mysql://a:geheim@b/c", "redis://x"])
def test_an_address_of_no_known_kind_is_refused_without_its_password(url):
    with pytest.raises(InvalidValue, match="'sqlite:///brim.db'") as refused:
        open_store(url)
    assert "geheim" not in str(refused.value)
    with pytest.raises(InvalidType):
        open_store(None)


def test_a_task_that_rolls_back_takes_no_write_of_another_task_with_it(store):
    """Two tasks of one thread shared its transaction."""
    written = []

    async def transact(inside, go_on):
        with store.transaction():
            store.append("a", [("note", {"by": "a"})])
            inside.set()
            await go_on.wait()
            raise RuntimeError("it ends here")

    async def write(inside, go_on):
        await inside.wait()
        for call in (lambda: store.append("b", [("note", {})]), lambda: store.entries("a"), lambda: store.search("x")):
            with pytest.raises(
                StoreError, match="another task of this thread is in a transaction: do not await inside"
            ):
                call()
        with pytest.raises(StoreError, match="another task"), store.transaction():
            written.append("never")
        go_on.set()
        await asyncio.sleep(0)
        written.append(store.append("b", [("note", {"by": "b"})]))

    async def both():
        inside, go_on = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(transact(inside, go_on), write(inside, go_on), return_exceptions=True)

    ended = asyncio.run(asyncio.wait_for(both(), 10))
    assert [type(each) for each in ended] == [RuntimeError, type(None)]
    assert (store.entries("a"), bodies(store, "b"), written) == ([], [{"by": "b"}], [1])


def test_a_task_that_is_created_inside_a_transaction_is_not_part_of_it(store):
    """It inherited the transaction, so its write was rolled back with it, or escaped it."""

    async def write():
        store.append("b", [("note", {})])

    async def main():
        with store.transaction():
            store.append("a", [("note", {})])
            with pytest.raises(StoreError, match="another task of this thread"):
                await asyncio.create_task(write())

    asyncio.run(main())
    assert [row.id for row in store.sessions()] == ["a"]


def test_a_thread_waits_for_the_transaction_of_a_task(store):
    async def transact():
        with store.transaction():
            store.append("a", [("note", {"n": 1})])
            waiting = asyncio.create_task(asyncio.to_thread(store.append, "a", [("note", {"n": 2})]))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            store.append("a", [("note", {"n": 3})])
        assert await waiting == 3

    asyncio.run(transact())
    assert bodies(store, "a") == [{"n": 1}, {"n": 3}, {"n": 2}]
