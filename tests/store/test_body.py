"""Bodies that are decoded together are those that are decoded one by one, and so are their errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import StoreError
from brim.store.body import LaterBodies, decode_bodies, decode_body, encode_body, encode_run, json_bytes, run_length
from properties import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=[]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@examples(60)
@given(bodies=st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), max_size=5), times=st.integers(1, 120))
def test_many_bodies_are_decoded_as_one_by_one(bodies, times):
    contents = [encode_body("body", body) for body in bodies] * times
    assert decode_bodies("here", contents) == [decode_body("here", content) for content in contents] == bodies * times
    assert [*map(dict, LaterBodies("here", contents))] == bodies * times
    runs = [encode_run([json_bytes("body", body) for body in bodies])] * times if bodies else []
    assert decode_bodies("here", [*contents, *runs]) == bodies * times * 2
    assert [*map(dict, LaterBodies("here", runs))] == bodies * times
    assert [*map(run_length, runs)] == [len(bodies)] * len(runs)


@pytest.mark.parametrize(
    "contents",
    [[b'{"a":1', b'"b":2}'], [b"{}", b"[1]"], [b"{},{}"], [b"{}", b""], [b"{}", b"\xff\x01none"], [b"[" * 100_000]],
    ids=["one in two", "a list", "two in one", "empty", "not packed", "deep"],
)
def test_what_another_program_wrote_is_refused(contents):
    with pytest.raises(StoreError, match="another program"):
        decode_bodies("here", contents)
    body, *_ = LaterBodies("here", contents)
    with pytest.raises(StoreError, match="another program"):
        body.get("a")
