"""A text that repeats entries takes little, and is read as it was from the same entries only."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import StoreError
from brim.store import open_store
from brim.store.repeated_text import handle_of
from brim.store.repetition import RepeatedEntries, pack_repeated, source_of, unpack_repeated

SOURCE = RepeatedEntries(3, (7, 9, 4_000_000_000))


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(1, 400))
def test_any_text_is_read_as_it_was_beside_any_entries(content, entries, times):
    content = content * times
    written = pack_repeated(content, SOURCE, entries)
    assert (source_of(written), unpack_repeated("", written, entries)) == (SOURCE, content)


@given(st.binary(min_size=20, max_size=300), st.integers(0, 19))
def test_other_entries_give_an_error_and_not_another_text(content, at):
    written = pack_repeated(content, SOURCE, content)
    other = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    with suppress(StoreError):
        assert unpack_repeated("the store", written, other) == content


def test_entries_that_differ_where_the_text_repeats_them_are_told():
    content = random.Random(1).randbytes(2_000)
    with pytest.raises(StoreError, match="does not match its entries: the store was changed by another program"):
        unpack_repeated("the store", pack_repeated(content, SOURCE, content), content[::-1])


@pytest.mark.parametrize("lines", [40, 10_000], ids=["short", "longer than a window"])
def test_a_text_takes_a_small_part_of_what_it_repeats(lines):
    text = "".join(f'{number}\t{random.Random(number).random()} "quoted"\n' for number in range(lines))
    entries = json.dumps({"message": {"role": "tool", "content": text}}).encode()
    assert len(pack_repeated(text.encode(), SOURCE, entries)) < len(text) / 30 + 40
    turn = json.dumps([{"role": "tool", "content": text}], separators=(",", ":")).encode()
    assert len(pack_repeated(turn, SOURCE, entries)) < len(text) / 30 + 40


def test_the_format_of_a_text_that_repeats_entries_stays():
    written = "ff020313f1faa2ec0b060702f7cfacf30e43e1ea28a4e597160100"
    assert unpack_repeated("", bytes.fromhex(written), b'{"content":"one two three"}') == b"one two three, four"


def test_the_file_of_a_run_has_its_texts_once(tmp_path):
    random.seed(5)
    texts = ["".join(f"line {i}: {random.random()}\n" for i in range(100)) for _ in range(30)]
    with open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        for number, text in enumerate(texts, start=1):
            store.append("a", [("message", {"role": "tool", "content": text})])
            joined = f"{text}\nand more"
            given = {handle_of(each): each for each in (text, joined)}
            store.keep("a", given, repeating={name: [number] for name in given})
        rows = store._rows("SELECT sum(length(texts)) FROM brim_repeats")
        assert rows[0][0] < sum(map(len, texts)) / 20
        assert not store._rows("SELECT id FROM brim_texts")
        assert all(store.text(handle_of(each), session="a") == each for each in (*texts, joined))
