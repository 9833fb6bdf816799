"""Where sections stand on the page."""

import pytest

from brim.errors import InvalidValue
from brim.sections.layout import layout


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param({"a": "A", "b": "B", "c": "C"}, "A-B-C", id="all"),
        pytest.param({"c": "C", "a": "A"}, "A-C", id="in the order of the names, not of the texts"),
        pytest.param({"b": "B"}, "B", id="one alone has no separator"),
        pytest.param({}, "", id="none"),
    ],
)
def test_a_row_has_separators_between_what_is_present(texts, expected):
    row = layout(["a", "b", "c"], separator="-", template=None)
    assert row.text(texts) == expected
    assert row.fixed == ""


@pytest.mark.parametrize(
    ("template", "expected", "fixed"),
    [
        pytest.param("<{a}|{b}>", "<A|B>", "<|>", id="places"),
        pytest.param("{b}{a}", "BA", "", id="in the template's order"),
        pytest.param("{{{a}}} {b}{{}}", "{A} B{}", "{} {}", id="two braces are one"),
        pytest.param("{a}{b} the end", "AB the end", " the end", id="text after the last place"),
    ],
)
def test_a_template_has_its_own_text_around_the_places(template, expected, fixed):
    page = layout(["a", "b"], separator="unused", template=template)
    assert page.text({"a": "A", "b": "B"}) == expected
    assert page.text({}) == page.fixed == fixed
    assert page.separator == ""


@pytest.mark.parametrize("template", ["{a}", "{a}{b}{a}", "{a}{b}{c}"], ids=["missing", "twice", "unknown"])
def test_a_template_has_one_place_for_each_section(template):
    with pytest.raises(InvalidValue, match="template must be text"):
        layout(["a", "b"], separator="", template=template)
