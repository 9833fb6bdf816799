import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim import BrimError, Section, SourceError, fit, replay
from brim.config.receipts import read_receipt

SECTIONS = [
    Section("rules", "be brief", priority="required"),
    Section("steps", ["one", "two", "three"], keep="newest", forms=["1-3"]),
    Section("log", "a long log " * 20, priority="low"),
]
RECEIPT = fit(SECTIONS, 60, meter="chars", capture=True).receipt
WRONG = (None, True, -1, 3.5, "wrong", [], {}, [1], {"a": 1})


def leaves(value, way=()):
    """Return the way to every value of some JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(deeper for key, inner in items for deeper in leaves(inner, (*way, key)))]


def changed(values, way, value):
    """Return a copy of some JSON with one value changed."""
    if not way:
        return value
    made = copy.deepcopy(values)
    at = made
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    return made


def test_a_receipt_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(RECEIPT.to_json())
    assert read_receipt(str(path)).to_json() == RECEIPT.to_json()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a receipt"),
        ("[1, 2", "not a receipt"),
        ("[" * 100_000, "not a receipt"),
        ("12", "not a receipt: receipt must be the JSON object"),
        ("{}", "not a receipt"),
        ('{"version": 99}', "receipt version must be 1, which this release of brim reads, not 99"),
        ('{"version": 1}', "not a receipt"),
    ],
    ids=["nothing", "broken", "deep", "a number", "an object", "a later version", "nothing but a version"],
)
def test_what_is_no_receipt_is_refused(tmp_path, text, told):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        read_receipt(str(path))
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


@given(
    way=st.sampled_from(leaves(RECEIPT.to_dict())), value=st.sampled_from(WRONG), budget=st.sampled_from([10, 60, 500])
)
def test_a_receipt_with_one_wrong_value_is_refused_or_replayed(tmp_path_factory, way, value, budget):
    path = tmp_path_factory.mktemp("wrong") / "r.json"
    path.write_text(json.dumps(changed(RECEIPT.to_dict(), way, value)))
    try:
        receipt = read_receipt(str(path))
        again = replay(receipt, budget=budget)
    except BrimError:
        return
    receipt.diff(again.receipt)
    assert again.receipt.used <= budget
