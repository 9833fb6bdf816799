"""One suite for all stores: in memory, SQLite, PostgreSQL."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import Conflict, InvalidType, InvalidValue, LeaseLost, StoreError
from brim.receipts.receipt import handle
from brim.store import LogEntry, Purged, SessionRow, open_store
from brim.store.body import decode_body, encode_body
from brim.store.packed import unpack
from brim.store.repetition import RepeatedEntries, pack_repeated
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


def test_entries_are_numbered_from_one_without_gaps(store, clock):
    assert store.append("a", [("message", {"n": 1}), ("usage", {"n": 2})]) == 2
    clock.pass_(5)
    assert store.append("a", [("message", {"n": 3})]) == 3
    assert store.append("b", [("message", {"n": 1})]) == 1
    assert store.entries("a") == [
        LogEntry("a", 1, "message", 1_000_000.0, {"n": 1}),
        LogEntry("a", 2, "usage", 1_000_000.0, {"n": 2}),
        LogEntry("a", 3, "message", 1_000_005.0, {"n": 3}),
    ]


def test_entries_are_chosen_by_kind_number_and_limit(store):
    store.append("a", [("message" if i % 2 else "note", {"n": i}) for i in range(1, 11)])
    assert bodies(store, "a", kinds=["note"]) == [{"n": i} for i in (2, 4, 6, 8, 10)]
    assert bodies(store, "a", kinds=["note", "message"], after=7) == [{"n": 8}, {"n": 9}, {"n": 10}]
    assert bodies(store, "a", kinds=["message"], after=3, limit=2) == [{"n": 5}, {"n": 7}]
    assert bodies(store, "a", kinds=[]) == []
    assert bodies(store, "a", limit=0) == []
    assert bodies(store, "nobody") == []


def test_a_writer_that_has_not_seen_the_last_entry_is_refused_and_writes_nothing(store, second):
    store.append("a", [("message", {"n": 1})], after=0)
    with pytest.raises(Conflict, match=r"session 'a' is at 1, not at 0: somebody else wrote") as refused:
        second.append("a", [("message", {"n": 2}), ("meta", {"x": 1})], after=0)
    assert (refused.value.expected, refused.value.found) == (0, 1)
    assert second.append("a", [("message", {"n": 2})], after=1) == 2
    assert bodies(store, "a") == [{"n": 1}, {"n": 2}]
    assert store.sessions()[0].meta == {}


def test_a_refused_writer_leaves_no_session_behind(store):
    with pytest.raises(Conflict):
        store.append("new", [("message", {})], after=3)
    assert store.sessions() == []


def test_appending_nothing_writes_nothing_and_tells_the_last_number(store):
    assert store.append("a", []) == 0
    assert store.sessions() == []
    store.append("a", [("note", {})])
    assert store.append("a", [], after=1) == 1
    with pytest.raises(Conflict):
        store.append("a", [], after=0)


@pytest.mark.parametrize("text", HARD, ids=ascii)
def test_texts_come_back_as_they_were_whatever_their_characters(store, text):
    body = {text: [text, {"deep": text + "x"}], "n": [1, -1.5, 2**70, True, None]}
    store.append("a", [("message", body)])
    store.keep("a", {handle(text): text})
    store.save("loop", "1", body, version=0)
    store.enqueue("q", "1", body)
    lease = store.lease("q", "w", 60)
    store.complete(lease, body)
    assert bodies(store, "a") == [body]
    assert store.text(handle(text)) == text
    assert store.load("loop", "1").body == lease.body == store.result("q", "1") == body


@examples(60)
@given(text=st.text(st.characters(exclude_categories=[])))
def test_a_body_is_the_same_after_packing(text):
    assert decode_body("here", encode_body("body", {text: text})) == {text: text}


@pytest.mark.parametrize(
    "body",
    [["no mapping"], {"n": float("nan")}, {"n": object()}, {"n": {1, 2}}, {"n": b"bytes"}],
    ids=["list", "nan", "object", "set", "bytes"],
)
def test_a_body_that_json_cannot_say_is_refused_with_its_place(store, body):
    with pytest.raises(InvalidValue, match=r"^entries\[1\]\.body must be "):
        store.append("a", [("note", {}), ("note", body)])
    assert store.entries("a") == []


def test_a_body_of_endless_depth_is_refused(store):
    deep = {}
    deep["self"] = deep
    with pytest.raises(InvalidValue, match="of values that JSON has"):
        store.append("a", [("note", deep)])


@pytest.mark.parametrize("name", ["", "x" * 501, "a\0b", "a\ud800"], ids=ascii)
def test_a_name_that_a_database_cannot_hold_is_refused(store, name):
    for call in (
        lambda: store.append(name, [("note", {})]),
        lambda: store.append("a", [(name, {})]),
        lambda: store.entries(name),
        lambda: store.keep("a", {name: "text"}),
        lambda: store.text(name),
        lambda: store.text("h", session=name),
        lambda: store.search("text", session=name),
        lambda: store.save(name, "1", {}, version=0),
        lambda: store.load("loop", name),
        lambda: store.enqueue("q", name, {}),
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
        lambda: store.lease("q", "w", 0),
        lambda: store.lease("q", "w", float("nan")),
        lambda: store.purge(before=float("inf")),
        store.purge,
    ):
        with pytest.raises(InvalidValue):
            call()


def test_sessions_come_newest_first_with_their_meta_and_page_by_page(store, clock):
    for i, name in enumerate(["a", "b", "c", "d"]):
        store.append(name, [("meta", {"title": "old"}), ("meta", {"title": name}), ("note", {})])
        clock.pass_(i % 2)
    store.append("a", [("note", {})])
    rows = store.sessions()
    assert rows[0] == SessionRow("a", 1_000_000.0, 1_000_002.0, 4, {"title": "a"})
    assert [row.id for row in rows] == ["a", "c", "d", "b"]
    assert store.sessions(limit=2) == rows[:2]
    assert store.sessions(before=rows[1]) == rows[2:]
    assert [row.id for row in store.sessions(before=1_000_001.0)] == ["b"]


def test_a_text_is_kept_once_for_any_number_of_sessions(store):
    text = "the build broke"
    for session in ("a", "b", "a"):
        store.keep(session, {handle(text): text})
    assert store.text(handle(text)) == text
    assert store.text("b2:unknown") is None
    assert len(store.search("build")) == 1
    assert {row.id: row.entries for row in store.sessions()} == {"a": 0, "b": 0}


def test_a_text_is_returned_only_to_a_session_that_keeps_it(store):
    store.keep("a", {"h": "the text of a"})
    store.keep("b", {"g": "the text of b"})
    assert [store.text("h", session=each) for each in ("a", "b", "c")] == ["the text of a", None, None]
    store.keep("b", {"h": "the text of a"})
    assert store.text("h", session="b") == "the text of a"
    store.purge(session="a")
    assert [store.text("h", session=each) for each in ("a", "b")] == [None, "the text of a"]


def test_another_text_under_a_known_handle_is_refused(store):
    store.keep("a", {"h": "one"})
    with pytest.raises(InvalidValue, match="the store has another under it"):
        store.keep("a", {"g": "fresh", "h": "two"})
    assert store.text("h") == "one"
    assert store.text("g") is None


TEXTS = {
    "h:paint": "She painted the house. Painting took a week, and paint is dear.",
    "h:path": "Traceback: src/brim/loadFile.py line 3: KeyError 'user_id'",
    "h:chinese": "数据库连接失败，请检查端口",
    "h:accents": "Le déjeuner à l'école était très bon",
    "h:one": "The house was sold to somebody with a great many other things that are told here at length.",
}


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("painting", "h:paint"),
        ("paints", "h:paint"),
        ("src/brim/loadFile.py", "h:path"),
        ("load_file", "h:path"),
        ("user id", "h:path"),
        ("连接", "h:chinese"),
        ("dejeuner ecole", "h:accents"),
        ("paint house", "h:paint"),
    ],
)
def test_a_search_finds_words_in_any_form_and_script(store, query, best):
    store.keep("a", TEXTS)
    assert store.search(query)[0].handle == best


def test_a_search_ranks_shows_and_limits(store, clock):
    store.keep("a", TEXTS)
    clock.pass_(1)
    store.keep("b", {"h:one": TEXTS["h:one"]})
    found = store.search("a painted house")
    assert [(each.handle, each.session) for each in found] == [("h:paint", "a"), ("h:one", "b")]
    assert found[0].rank > found[1].rank > 0
    assert found[1].excerpt == TEXTS["h:one"]
    assert store.search("house", limit=1) == store.search("house")[:1]
    assert store.search("house", limit=0) == []
    assert [each.handle for each in store.search("house", session="b")] == ["h:one"]
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
    store.keep("a", TEXTS)
    store.search(query)
    assert store.search(query + " painting " + query)[0].handle == "h:paint"


def test_a_very_long_text_is_kept_whole_and_found_by_its_first_words(store):
    text = "needle " + " ".join(f"w{i}" for i in range(10_000)) + " '\\ it''s"
    store.keep("a", {"h": text})
    assert store.text("h") == text
    assert store.search("needle")[0].excerpt.startswith("needle w0 ")


def test_a_document_is_saved_only_over_the_version_that_was_seen(store, second, clock):
    assert store.load("loop", "1") is None
    assert store.save("loop", "1", {"n": 1}, version=0) == 1
    clock.pass_(2)
    assert second.save("loop", "1", {"n": 2}, version=1) == 2
    for stale in (0, 1, 3):
        with pytest.raises(Conflict, match=rf"the loop '1' is at 2, not at {stale}"):
            store.save("loop", "1", {"n": 9}, version=stale)
    assert store.load("loop", "1") == ("loop", "1", 2, 1_000_002.0, {"n": 2})
    with pytest.raises(Conflict):
        store.save("loop", "none", {}, version=1)


def test_documents_are_listed_by_kind_and_forgotten(store):
    for name in ("b", "B", "é", "a"):
        store.save("loop", name, {}, version=0)
    store.save("calibration", "gpt-5", {}, version=0)
    assert store.ids("loop") == ["B", "a", "b", "é"]
    assert store.forget("loop", "a") is True
    assert store.forget("loop", "a") is False
    assert store.ids("loop") == ["B", "b", "é"]
    assert store.save("loop", "a", {}, version=0) == 1


def test_jobs_are_taken_in_their_order_and_each_by_one(store, second):
    assert [store.enqueue("q", name, {"n": name}) for name in ("b", "a", "b")] == [True, True, False]
    assert store.enqueue("other", "b", {}) is True
    first, other = store.lease("q", "w1", 60), second.lease("q", "w2", 60)
    assert (first.id, first.worker, first.attempt, first.until, first.body) == ("b", "w1", 1, 1_000_060.0, {"n": "b"})
    assert other.id == "a"
    assert store.lease("q", "w3", 60) is None


def test_a_completed_job_never_runs_again(store, second, clock):
    store.enqueue("q", "1", {})
    lease = store.lease("q", "w1", 60)
    assert second.result("q", "1") is None
    store.complete(lease, {"answer": 42})
    clock.pass_(1_000)
    assert second.result("q", "1") == {"answer": 42}
    assert second.lease("q", "w2", 60) is None
    assert second.enqueue("q", "1", {"again": True}) is False
    with pytest.raises(LeaseLost, match="is done by worker 'w1' at attempt 1"):
        second.complete(lease, {"answer": 43})
    with pytest.raises(LeaseLost):
        second.renew(lease, 60)
    assert store.result("q", "1") == {"answer": 42}


def test_a_lease_that_expired_goes_to_another_and_the_first_is_refused(store, second, clock):
    store.enqueue("q", "1", {})
    lost = store.lease("q", "w1", 60)
    clock.pass_(59.9)
    assert second.lease("q", "w2", 60) is None
    clock.pass_(0.1)
    taken = second.lease("q", "w2", 60)
    assert (taken.id, taken.attempt) == ("1", 2)
    for refused in (lambda: store.complete(lost, {}), lambda: store.renew(lost, 60)):
        with pytest.raises(LeaseLost, match="is leased by worker 'w2' at attempt 2: discard this result"):
            refused()
    second.complete(taken, {"by": "w2"})
    assert store.result("q", "1") == {"by": "w2"}


def test_the_same_worker_cannot_complete_with_its_lost_lease(store, clock):
    store.enqueue("q", "1", {})
    lost = store.lease("q", "w", 10)
    clock.pass_(10)
    again = store.lease("q", "w", 10)
    with pytest.raises(LeaseLost):
        store.complete(lost, {})
    store.complete(again, {})


def test_a_renewed_lease_is_held_longer(store, second, clock):
    store.enqueue("q", "1", {})
    lease = store.lease("q", "w1", 10)
    clock.pass_(9)
    renewed = store.renew(lease, 10)
    assert renewed.until == clock.now + 10
    clock.pass_(9)
    assert second.lease("q", "w2", 10) is None
    store.complete(renewed, {})


def test_a_worker_whose_lease_expired_may_finish_if_nobody_took_the_job(store, clock):
    store.enqueue("q", "1", {})
    lease = store.lease("q", "w", 10)
    clock.pass_(100)
    store.complete(lease, {"late": True})
    assert store.result("q", "1") == {"late": True}


def test_a_purged_job_is_lost_to_its_worker(store):
    lease = store.lease("q", "w", 1) if store.enqueue("q", "1", {}) else None
    store.complete(lease, {})
    assert store.purge(before=2_000_000).jobs == 1
    with pytest.raises(LeaseLost, match="does not exist any more"):
        store.complete(lease, {})


def test_what_is_written_in_a_transaction_is_written_together_or_not_at_all(store, second):
    store.enqueue("q", "1", {})
    lease = store.lease("q", "w", 60)

    def step(fail):
        with store.transaction():
            number = store.append("a", [("note", {"n": 1})], after=0)
            store.keep("a", {"h": "some text"})
            assert store.entries("a")[0].number == number
            store.save("loop", "a", {"at": number}, version=0)
            store.complete(lease, {})
            if fail:
                raise RuntimeError("the process died here")

    with pytest.raises(RuntimeError):
        step(fail=True)
    assert (second.sessions(), second.entries("a"), second.text("h")) == ([], [], None)
    assert (second.load("loop", "a"), second.result("q", "1"), second.search("text")) == (None, None, [])
    step(fail=False)
    assert (len(second.entries("a")), second.text("h"), second.result("q", "1")) == (1, "some text", {})
    assert second.load("loop", "a").body == {"at": 1}


def test_a_call_that_is_refused_inside_a_transaction_takes_nothing_else_with_it(store, second):
    def write_part():
        with store.transaction():
            store.append("c", [("note", {})])
            store.keep("c", {"g": "kept", "h": "kept too"})
            store.keep("c", {"h": "another"})

    with store.transaction():
        store.append("a", [("note", {})])
        with pytest.raises(Conflict):
            store.append("b", [("note", {})], after=5)
        with pytest.raises(InvalidValue):
            write_part()
        store.append("a", [("note", {})])
    assert [row.id for row in second.sessions()] == ["a"]
    assert second.text("g") is None
    assert len(second.entries("a")) == 2


def test_a_purge_removes_old_sessions_and_the_texts_that_only_they_kept(store, clock):
    store.append("old", [("message", {}), ("message", {})])
    store.keep("old", {"shared": "a shared secret", "own": "a private secret"})
    store.save("loop", "old", {}, version=0)
    store.save("calibration", "m", {}, version=0)
    for job in ("done", "open"):
        store.enqueue("q", job, {})
    store.complete(store.lease("q", "w", 1), {})
    clock.pass_(100)
    store.append("new", [("message", {})])
    store.keep("new", {"shared": "a shared secret"})
    assert store.purge(before=1_000_000) == Purged(0, 0, 0, 0, 0)
    assert store.purge(before=1_000_050, documents=["loop"]) == Purged(1, 2, 1, 1, 1)
    assert [row.id for row in store.sessions()] == ["new"]
    assert store.entries("old") == []
    assert (store.text("own"), store.text("shared")) == (None, "a shared secret")
    assert [each.handle for each in store.search("secret")] == ["shared"]
    assert (store.ids("loop"), store.ids("calibration")) == ([], ["m"])
    assert store.lease("q", "w", 1).id == "open"
    assert store.append("old", [("message", {})]) == 1


LINES = "".join(f"line {number} of the build\n" for number in range(200))


def test_a_text_that_repeats_entries_is_read_found_and_compared_as_any_other(store):
    store.append("a", [("message", {"text": "earlier"}), ("message", {"text": LINES})])
    store.keep("a", {"h": LINES, "part": LINES[:900], "other": "nothing of it"}, repeating={"h": [2], "part": [1, 2]})
    store.keep("a", {"h": LINES})
    assert [store.text(name, session="a") for name in ("h", "part", "other")] == [LINES, LINES[:900], "nothing of it"]
    assert {each.handle for each in store.search("builds")} == {"h", "part"}
    with pytest.raises(InvalidValue, match="the name of one text only"):
        store.keep("a", {"h": LINES + "more"}, repeating={"h": [2]})


def test_a_text_that_repeats_entries_survives_them(store):
    store.append("a", [("message", {"text": LINES})])
    store.keep("a", {"own": LINES[5:], "shared": LINES}, repeating={"own": [1], "shared": [1]})
    store.keep("b", {"shared": LINES}, repeating={"shared": [1]})
    store.append("a", [("message", {"text": "more"})])
    assert store.purge(session="a") == Purged(1, 2, 1, 0, 0)
    assert (store.text("own"), store.text("shared", session="b")) == (None, LINES)
    store.append("a", [("message", {"text": "another"})])
    assert (store.text("shared"), [each.session for each in store.search("builds")]) == (LINES, ["b"])


def test_a_text_may_name_entries_that_are_not_there(store):
    store.append("a", [("message", {"text": LINES})])
    store.keep("a", {handle(LINES): LINES}, repeating={handle(LINES): [1, 2]})
    assert store.text(handle(LINES)) == LINES
    store.append("a", [("message", {"text": "the second"})])
    assert store.text(handle(LINES)) == LINES
    assert not store.repeats("a")


def test_a_text_of_version_3_survives_the_entries_that_it_repeats(store):
    store.append("a", [("message", {"text": LINES})])
    for session in ("a", "b"):
        store.keep(session, {"h": LINES})
    ((key, body),) = store._rows(
        "SELECT s.key, e.body FROM brim_sessions s, brim_entries e WHERE s.id = 'a' AND e.place > 0"
    )
    written = pack_repeated(LINES.encode(), RepeatedEntries(key, (1,)), unpack("", body))
    with store.transaction():
        store._rows("UPDATE brim_texts SET body = ?", [written])
    assert store.text("h") == LINES
    store.purge(session="a")
    assert store.text("h", session="b") == LINES


CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "read"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": LINES}


def test_a_text_that_the_log_has_is_found_by_its_entries(store):
    """Its messages may be in one row or in several, with entries of other kinds between them."""
    turn, both = json.dumps([CALL, RESULT], separators=(",", ":")), f"{LINES}\n{LINES[:40]}"
    texts = {handle(text): text for text in (turn, LINES, both, "the first and the last")}
    repeating = dict(zip(texts, ([2, 4], [4], [4], [1, 4]), strict=True))
    for session in ("a", "b"):
        store.append(session, [("message", {"message": {"role": "user", "content": f"Hello {session}"}})] * 2)
    store.append("a", [("message", {"message": RESULT})])
    store.purge(session="a")
    for session in ("a", "b"):
        first = [] if session == "b" else [("message", {"message": {"role": "user", "content": "the first"}})]
        store.append(
            session, [*first, ("message", {"message": CALL}), ("prompt", {}), ("message", {"message": RESULT})]
        )
    store.keep("a", {handle(LINES): LINES}, repeating=repeating)
    store.keep("a", texts, repeating=repeating)
    store.keep("b", {handle(turn): turn}, repeating={handle(turn): [3, 5]})
    for name, text in texts.items():
        assert [store.text(part, session="a") for part in (name, name[:11], name[:20])] == [text] * 3
        assert store.text(name) == text
        assert store.text(name, session="b") == (text if text == turn else None)
        assert store.text(name, session="c") is None
    assert [(each.first, each.last, each.turn, bool(each.packed)) for each in store.repeats("a")] == [
        (4, 4, False, False),
        (2, 4, True, False),
        (4, 4, False, True),
        (1, 4, False, True),
    ]
    assert store.repeats("a", after=4) == []
    assert {(hit.handle, hit.session) for hit in store.search("builds", session="b")} == {(handle(turn), "b")}
    assert {hit.handle for hit in store.search("builds")} == {handle(text) for text in (turn, LINES, both)}
    assert [hit.handle for hit in store.search("last")] == [handle("the first and the last")]
    assert store.purge(session="a").texts == 4
    assert [store.text(name) for name in texts] == [turn, None, None, None]
    assert {hit.session for hit in store.search("builds read")} == {"b"}


def test_entries_that_were_written_together_are_read_one_by_one(store, clock):
    messages = [("message", {"n": n}) for n in range(3)]
    store.append("a", [*messages, ("meta", {"of": 1}), ("note", {})])
    clock.pass_(1)
    store.append("a", [*messages, ("continuation", {"c": 1}), ("meta", {"of": 2})])
    store.append("a", [("message", {"n": 9}), ("continuation", {"c": 2}), ("meta", {"of": 3})])
    bodies = [{"n": 0}, {"n": 1}, {"n": 2}, {}, {}, {"n": 0}, {"n": 1}, {"n": 2}, {}, {}, {"n": 9}, {"c": 2}, {"of": 3}]
    found = store.entries("a")
    assert [(each.number, each.body) for each in found] == list(enumerate(bodies, start=1))
    assert found[3].at == found[4].at < found[9].at == found[8].at
    for after in range(14):
        assert store.entries("a", after=after) == found[after:]
        assert store.entries("a", after=after, limit=2) == found[after : after + 2]
        assert store.entries("a", after=after, limit=2, newest=True) == found[after:][-2:]
        assert store.entries("a", after=after, later=["message"]) == found[after:]
        for kinds in (["message"], ["meta"], ["meta", "note"], ["continuation"]):
            chosen = [each for each in found[after:] if each.kind in kinds]
            assert store.entries("a", after=after, kinds=kinds) == chosen
            assert store.entries("a", after=after, kinds=kinds, limit=1, newest=True) == chosen[-1:]
    assert store.purge(session="a").entries == 13


def test_a_log_has_the_body_of_its_newest_meta(store):
    store.append("a", [("meta", {"n": 1}), ("note", {}), ("meta", {"n": 2})])
    store.append("a", [("message", {}), ("meta", {"n": 3})])
    assert [(entry.number, entry.body) for entry in store.entries("a", kinds=["meta"])] == [
        (1, {}),
        (3, {}),
        (5, {"n": 3}),
    ]
    assert (store.sessions()[0].meta, store.entries("a", newest=True, limit=1)[0].body) == ({"n": 3}, {"n": 3})


def test_a_purge_of_one_session_leaves_the_others(store, clock):
    for name in ("a", "b"):
        store.append(name, [("message", {})])
        store.keep(name, {f"h:{name}": f"text of {name}"})
    assert store.purge(session="a", before=1_000_000) == Purged(0, 0, 0, 0, 0)
    assert store.purge(session="a") == Purged(1, 1, 1, 0, 0)
    assert store.purge(session="a") == Purged(0, 0, 0, 0, 0)
    assert [row.id for row in store.sessions()] == ["b"]


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


def test_threads_that_compare_and_swap_never_both_win(store):
    def raise_by_one(_):
        while True:
            saved = store.load("count", "1")
            version, n = (saved.version, saved.body["n"]) if saved else (0, 0)
            try:
                return store.save("count", "1", {"n": n + 1}, version=version)
            except Conflict:
                continue

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(raise_by_one, range(20))) == list(range(1, 21))
    assert store.load("count", "1").body == {"n": 20}


def test_everything_is_there_after_opening_again(store, url, clock):
    store.append("a", [("message", {"n": 1})])
    store.keep("a", {"h": "kept text"})
    store.save("loop", "1", {"n": 1}, version=0)
    store.enqueue("q", "1", {})
    before = (store.sessions(), store.entries("a"), store.search("kept"), store.load("loop", "1"))
    store.close()
    with open_store(url, clock=clock) as again:
        assert (again.sessions(), again.entries("a"), again.search("kept"), again.load("loop", "1")) == before
        assert again.lease("q", "w", 1).id == "1"


def test_a_store_without_a_clock_tells_the_time_of_day(url):
    import time

    with open_store(url) as opened:
        opened.append("a", [("note", {})])
        assert abs(opened.entries("a")[0].at - time.time()) < 60
        opened.enqueue("q", "1", {})
        assert opened.lease("q", "w", 1) is not None


@pytest.mark.parametrize("url", ["", "brim.db", "sqlite://", "sqlite:///", "mysql://a:geheim@b/c", "redis://x"])
def test_an_address_of_no_known_kind_is_refused_without_its_password(url):
    with pytest.raises(InvalidValue, match="'sqlite:///brim.db'") as refused:
        open_store(url)
    assert "geheim" not in str(refused.value)
    with pytest.raises(InvalidType):
        open_store(None)
