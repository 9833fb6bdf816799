"""Bodies are written compressed where that is shorter, and read as they were."""

import os
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import StoreError
from brim.store import open_store
from brim.store.packed import pack, unpack

JSON = b'{"message":{"role":"user","content":"Why did the build fail? The log of the build says nothing."}}'


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_what_is_packed_is_read_as_it_was_and_is_never_longer(content):
    if content[:1] == b"\xff":  # No UTF-8 begins so.
        return
    assert unpack("", pack(content)) == content
    assert len(pack(content)) <= len(content)


def test_a_short_body_takes_less_than_its_text():
    assert len(pack(JSON)) < 0.8 * len(JSON)
    assert len(pack(JSON * 50)) < 0.1 * 50 * len(JSON)
    assert pack(b"{}") == b"{}"


def test_the_format_of_a_packed_body_stays():
    written = "ff0123aa9008cfa85448c94c0196c5a90a49a59939290a69899939f60a21407e4e7eba427e1a9254716265b1425e7e4906d0163d602e0700"
    assert unpack("", bytes.fromhex(written)) == JSON


@pytest.mark.parametrize("written", [b"\xff", b"\xff\x02ab", b"\xff\x01ab", pack(JSON)[:-4], pack(JSON) + b"more"])
def test_what_is_not_packed_by_brim_is_told(written):
    with pytest.raises(StoreError, match="decompressed: the store was changed by another program"):
        unpack("the store", written)


def test_a_short_body_cannot_become_a_very_long_one():
    press = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    bomb = b"\xff\x01" + b"".join(press.compress(bytes(2**20)) for _ in range(80)) + press.flush()
    assert len(bomb) < 100_000
    with pytest.raises(StoreError, match="cannot be decompressed"):
        unpack("the store", bomb)


def test_a_store_takes_about_as_much_as_was_said(tmp_path):
    """A log, the texts that may be asked for, and the words by which they are found."""
    words = [f"word{random.Random(i).randrange(3_000)}" for i in range(40_000)]
    with open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        for i in range(40):
            text = " ".join(words[i * 1_000 : (i + 1) * 1_000])
            store.append("one", [("message", {"message": {"role": "user", "content": text}})])
            store.keep("one", {f"b2:{i}": text})
        assert store.text("b2:39") == store.entries("one")[39].body["message"]["content"] == text
    assert os.path.getsize(tmp_path / "brim.db") < 2 * len(" ".join(words))
