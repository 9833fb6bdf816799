import pytest

from brim.audit import Policy, policies_of, policy_of
from brim.errors import InvalidValue


def test_a_policy_is_written_as_a_name_and_options():
    made = policy_of("lean:budget=32000,stable=true,reserve=4_000,cap=50%")
    assert made == Policy(name="lean", budget=32_000, stable=True, reserve=4_000, cap="50%")
    assert policy_of("near:select=relevance,recent=900,note=no") == Policy(
        name="near", select="relevance", recent=900, note=False
    )


def test_without_any_policy_it_is_the_window_of_each_model():
    assert policies_of(()) == (Policy(name="wrap", stable=True),) == policies_of(("wrap",))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (":budget=3", "NAME"),
        ("a:budget=many", "whole number"),
        ("a:budget=0", "at least 1"),
        ("a:colour=red", "budget"),
        ("tight", "wrap or window"),
        ("a:stable=perhaps", "true or false"),
        ("a:stable", "stable=VALUE"),
        ("a:cap=2", "share"),
        ("a:cap=much", "share"),
        ("a:select=best", "recency"),
        ("a:stable=true,select=relevance", "recency"),
        ("a:stable=true,recent=100", "stable"),
    ],
)
def test_an_invalid_policy_is_refused_with_the_reason(written, said):
    with pytest.raises(InvalidValue, match=said):
        policy_of(written)


def test_two_policies_of_one_name_are_refused():
    with pytest.raises(InvalidValue, match="a different name"):
        policies_of(("a:budget=3", "a:budget=4"))
