"""The values of a body are counted before it is parsed, in pieces, so that other threads get their turn."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.gateway import body_values
from brim.gateway.body_values import bounded
from brim.gateway.problem import HttpProblem
from gateway.conftest import counted
from properties import examples

values = st.recursive(
    st.none() | st.integers() | st.text('ab"\\,[{\n\u00e9'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('a"\\,[{'), inner),
)


@examples(150)
@given(value=values, step=st.integers(1, 9), plain=st.booleans())
def test_values_are_counted_outside_of_strings_wherever_a_piece_ends(value, step, plain):
    text = json.dumps(value, ensure_ascii=plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body_values, "_STEP", step)
        assert body_values._values(text) == counted(text)


@examples(150)
@given(value=values, most=st.integers(1, 40), step=st.integers(1, 9), data=st.data())
def test_what_is_known_of_the_start_changes_nothing(value, most, step, data):
    text = json.dumps(value)
    start = data.draw(st.integers(0, len(text)))
    known = counted(text[:start]) + data.draw(st.integers(0, 20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body_values, "_STEP", step)
        if counted(text) <= most:
            assert counted(text) <= bounded(text, most, start=start, known=known)
        elif len(text) > most:
            with pytest.raises(HttpProblem, match=f"has {counted(text)} values; at most {most} are"):
                bounded(text, most, start=start, known=known)
