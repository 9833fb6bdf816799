"""Budgets in other words: both spellings load, each value with its line, and what cannot be is refused."""

import pytest

import brim

WORDS = """\
context_budget:
  enabled: true
  total_tokens: 3000
  output_reserve: 500
  show_budget_usage: true
  overflow_policy: drop_low_priority
  allocations:
    system_prompt: {max_tokens: 450, priority: required}
    notes: {max_tokens: 20%, priority: high, truncation_strategy: start}
    events: {enabled: false}
"""
MEANT = {
    "prompt.enabled": (True, 2),
    "prompt.total": (3_000, 3),
    "prompt.reserve": (500, 4),
    "prompt.show_budget": (True, 5),
    "prompt.overflow": ("drop", 6),
    "sections.system_prompt.ceiling": (450, 8),
    "sections.system_prompt.priority": ("required", 8),
    "sections.notes.ceiling": ("20%", 9),
    "sections.notes.keep": ("newest", 9),
    "sections.events.enabled": (False, 10),
}


def nested(text, indent="  "):
    return "agent:\n" + "".join(f"{indent}{line}\n" for line in text.splitlines())


@pytest.mark.requirement("S1.1", "S1.8")
@pytest.mark.parametrize("below", [False, True], ids=["top level", "below agent"])
def test_both_spellings_are_the_settings_that_they_stand_for(project, below):
    settings = project(nested(WORDS) if below else WORDS).resolve()
    for key, (value, line) in MEANT.items():
        assert (settings[key].value, settings[key].origin) == (value, "project"), key
        assert settings[key].where.endswith(f"brim.yaml:{line + below}"), key


@pytest.mark.requirement("S1.8")
def test_what_the_words_leave_out_the_profile_says(project):
    settings = project("context_budget: {total_tokens: 3000}\n").resolve()
    assert settings["prompt.total"].value == 3_000
    assert settings.value("sections.action_history.marker") == "[...older entries truncated]"
    assert settings["sections.rag_memories.ceiling"].where.rpartition(":")[0].endswith("profiles/ecology.yaml")
    assert project("prompt: {total: 3000}\n").resolve().value("sections.rag_memories.ceiling") is None
    unset = project("model: gpt-5\ncontext_budget: {enabled: true}\n").resolve()["prompt.total"]
    assert (unset.value, unset.where) == (None, f"{project.root / 'brim.yaml'}:2"), "the window counts, and its line"


def test_a_flow_and_a_step_may_use_the_words_and_an_agent_stays_a_name(project):
    flow = "context_budget: {total_tokens: 800}\nsteps:\n- {id: a, agent: me, context_budget: {total_tokens: 700}}\n"
    config = project("context_budget: {total_tokens: 900}\n", flows__build=flow)
    assert config.flow("build").step("a").agent == "me"
    found = [config.resolve(flow="build", step=step).value("prompt.total") for step in (None, "a")]
    assert (*found, config.resolve().value("prompt.total")) == (800, 700, 900)


WRONG = {
    "an unknown key": ("context_budget: {totl_tokens: 5}", "has no key 'totl_tokens'; did you mean 'total_tokens'?"),
    "an unknown key of a section": (
        "context_budget: {sections: {a: {max_token: 5}}}",
        "context_budget.sections.a has no key 'max_token'; did you mean 'max_tokens'?",
    ),
    "no limit": ("context_budget: {sections: {a: {max_tokens: 0}}}", "must be tokens above 0"),
    "an unknown priority": (
        "context_budget: {sections: {a: {priority: urgent}}}",
        "one of required, high, medium, low",
    ),
    "two names of one thing": (
        "context_budget: {sections: {a: {max_tokens: 1}}, allocations: {b: {max_tokens: 1}}}",
        "context_budget.allocations and sections mean the same",
    ),
    "twice": (
        "context_budget: {total_tokens: 5}\nprompt: {total: 6}",
        "prompt.total sets prompt.total a second time: keep one",
    ),
}


@pytest.mark.requirement("S1.4", "S1.8", "S1.9")
@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_refused_with_its_line(project, name):
    text, told = WRONG[name]
    with pytest.raises(brim.SourceError) as refused:
        project(text + "\n")
    assert told in str(refused.value)
    assert refused.value.line == 1 + text.count("\n")


def test_without_a_window_a_prompt_has_the_total_of_the_profile(project):
    settings = project("context_budget: {enabled: true}\n").resolve()
    texts = {"notes": "Rain. " * 9_000}
    assert settings.fit(texts).receipt.budget == 4_000 - settings.value("prompt.reserve")
