import pytest

import brim
from brim.audit import Policy, policies_of, policy_of
from brim.errors import InvalidValue, UnknownName


def test_a_policy_is_written_as_a_name_and_options():
    made = policy_of("lean:budget=32000,stable=true,reserve=4_000,cap=50%", None)
    assert made == Policy(name="lean", budget=32_000, stable=True, reserve=4_000, cap="50%")
    assert policy_of("near:select=relevance,recent=900,note=no", None) == Policy(
        name="near", select="relevance", recent=900, note=False
    )


def test_without_any_policy_it_is_the_window_of_each_model():
    assert policies_of((), None) == (Policy(name="wrap", stable=True),) == policies_of(("wrap",), None)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (":budget=3", "NAME"),
        ("a:budget=many", "whole number"),
        ("a:budget=0", "at least 1"),
        ("a:colour=red", "budget"),
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
        policy_of(written, None)


def test_two_policies_of_one_name_are_refused():
    with pytest.raises(InvalidValue, match="a different name"):
        policies_of(("a:budget=3", "a:budget=4"), None)


def test_a_profile_of_the_project_is_a_policy(tmp_path):
    (tmp_path / "brim.yaml").write_text(
        "model: gpt-4o\n"
        "profiles:\n"
        "  tight:\n"
        "    budget_overrides: {context_budget_chars: 24000, history_max_recent_chars: 9000}\n"
        "  roomy:\n"
        "    history: {stable: true}\n"
        "    window: {cap: 0.5}\n"
    )
    config = brim.load_config(str(tmp_path))
    tight = policy_of("tight", config)
    assert (tight.meter, tight.budget, tight.recent) == ("chars", 24_000, 9_000)
    roomy = policy_of("roomy", config)
    assert (roomy.meter, roomy.budget, roomy.stable, roomy.cap) == (None, None, True, 0.5)
    with pytest.raises(UnknownName, match="tight"):
        policy_of("tigth", config)
