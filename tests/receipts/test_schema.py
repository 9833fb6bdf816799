import json

import jsonschema
import pytest

from brim import InvalidValue, Section, fit
from brim.receipts.receipt import FILLS, ORDERS, POLICIES, STATES
from brim.receipts.schema import check, schema
from brim.sections.fit import DIRECTIONS
from corruption import corrupted

RULE = schema()
WORDS = {
    *("$schema", "$defs", "title", "description"),
    *("$ref", "anyOf", "type", "const", "enum", "minimum", "pattern"),
    *("items", "properties", "required", "additionalProperties"),
}


def receipt(*, capture):
    sections = [Section("a", "x" * 90, ceiling=40), Section("b", ["y", "z"], required=True, forms=["."])]
    return json.loads(fit(sections, 60, meter="chars", capture=capture).receipt.to_json())


def words(rule):
    """Return the words of the schema language that a rule uses."""
    named = [*rule.get("properties", {}).values(), *rule.get("$defs", {}).values(), *rule.get("anyOf", ())]
    inner = [rule[key] for key in ("items", "additionalProperties") if isinstance(rule.get(key), dict)]
    return {*rule, *(word for each in [*named, *inner] for word in words(each))}


def test_our_schema_uses_no_word_that_is_not_known():
    assert words(RULE) <= WORDS


def test_the_choices_of_the_schema_are_those_of_the_code():
    shared = RULE["$defs"]
    assert shared["policy"]["enum"] == list(POLICIES)
    assert shared["fill"]["enum"] == list(FILLS)
    assert shared["order"]["enum"] == list(ORDERS)
    assert shared["options"]["properties"]["direction"]["enum"] == list(DIRECTIONS)
    assert shared["part"]["properties"]["state"]["enum"] == list(STATES)


def passes(values):
    try:
        check("receipt", values)
    except InvalidValue:
        return False
    return True


def test_the_checker_rejects_what_a_library_rejects():
    oracle = jsonschema.Draft202012Validator(RULE)
    for values in corrupted(receipt(capture=True), [None, True, -1, 3.5, "wrong", [1], {"a": 1}]):
        assert passes(values) == oracle.is_valid(values), values


@pytest.mark.parametrize(
    ("way", "value", "told"),
    [
        (("parts", 0, "size"), -1, "receipt.parts[0].size must be at least 0, not -1"),
        (("parts", 0, "size"), True, "receipt.parts[0].size must be a whole number, not True"),
        (("parts", 0, "ceiling"), "4", "receipt.parts[0].ceiling must be a whole number or null, not '4'"),
        (("policy",), "stpo", "receipt.policy must be one of truncate_then_continue, truncate_then_stop, skip, stop"),
        (("version",), True, "receipt.version must be 1, not True"),
        (("capture", "options", "fill"), None, "receipt.capture.options.fill must be one of order, fair, not None"),
        (("capture", "summaries"), {"a": 1}, "receipt.capture.summaries.a must be a string, not 1"),
        (("capture",), 3, "receipt.capture must be an object, not 3"),
        (("losses", 0), {}, "receipt.losses[0] must be an object with name, not []"),
        (("losses", 0, "handle"), "b2:", "receipt.losses[0].handle must be a string like ^b2:"),
        (("useed",), 3, "receipt: a key must be one of"),
    ],
    ids=str,
)
def test_a_refusal_has_the_way_to_the_value(way, value, told):
    values = receipt(capture=True)
    at = values
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    with pytest.raises(InvalidValue) as refused:
        check("receipt", values)
    assert told in str(refused.value)
