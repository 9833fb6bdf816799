"""Settings changed in their files."""

import os
import stat

import pytest

import brim
from brim.settings.changes import plan

TEXT = """\
# budgets of this project
budgets:
  context_budget_chars: 210000   # a fifth
profiles:
  deep:
    history: {note: true}
flows:
  build:
    steps:
      - id: "0"
        agent: context-loader
"""


def test_a_change_is_written_with_everything_else_as_it_was(project):
    config = project(TEXT)
    path = project.root / "brim.yaml"
    path.chmod(0o640)
    change = plan(config, {"context_budget_chars": "250000"}, flow="build", step="0")
    assert path.read_text() == TEXT
    change.make()
    added = "        budget_overrides:\n          context_budget_chars: 250000\n"
    assert path.read_text() == TEXT + added
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(project.root) == ["brim.yaml"]
    again = brim.load_config(path, environ={})
    assert again.resolve(flow="build", step="0")["context_budget_chars"].value == 250_000
    assert "+          context_budget_chars: 250000\n" in change.diff()


@pytest.mark.parametrize(
    ("key", "value", "place", "old", "new"),
    [
        ("context_budget_chars", "5", {}, "210000   #", "5   #"),
        ("budgets.preset", "lean", {}, "# a fifth\n", "# a fifth\n  preset: lean\n"),
        ("history.note", "false", {"profile": "deep"}, "note: true", "note: false"),
        (
            "preset",
            "heavy",
            {"profile": "deep"},
            "{note: true}\n",
            "{note: true}\n    budget_overrides:\n      preset: heavy\n",
        ),
        (
            "sections.my plan.ceiling",
            "20%",
            {"flow": "build"},
            "context-loader\n",
            "context-loader\n    sections:\n      my plan:\n        ceiling: 20%\n",
        ),
        ("model", "gpt-5", {}, "context-loader\n", "context-loader\nmodel: gpt-5\n"),
    ],
)
def test_each_layer_has_its_place(project, key, value, place, old, new):  # noqa: PLR0917
    change = plan(project(TEXT), {key: value}, **place)
    assert change.after == TEXT.replace(old, new)


def test_a_flow_of_its_own_is_changed_in_its_own_file(project):
    config = project(TEXT, flows__ship="steps:\n- {id: a}\n", profiles__quick="description: d\n")
    change = plan(config, {"preset": "lean"}, flow="ship", step=0)
    assert change.path == str(project.root / "flows" / "ship.yaml")
    assert change.after == "steps:\n- {id: a, budget_overrides: {preset: lean}}\n"
    change = plan(config, {"preset": "lean"}, profile="quick")
    assert change.after == "description: d\nbudget_overrides:\n  preset: lean\n"


def test_without_a_file_one_is_made(project):
    change = plan(project(), {"model": "gpt-5"})
    change.make()
    assert (project.root / "brim.yaml").read_text() == "model: gpt-5\n"


@pytest.mark.parametrize(
    ("error", "told", "arguments"),
    [
        (brim.UnknownName, "did you mean 'history.selection'", {"key": "history.selektion", "text": "x"}),
        (brim.InvalidValue, "must be a whole number", {"key": "context_budget_chars", "text": "many"}),
        (brim.InvalidValue, "must be one of", {"key": "bounds", "text": "none"}),
        (brim.BrimError, "at the top of the file", {"key": "profile", "text": "x", "flow": "build"}),
        (brim.BrimError, "--step needs --flow", {"key": "model", "text": "x", "step": "0"}),
        (brim.UnknownName, "did you mean 'build'", {"key": "model", "text": "x", "flow": "biuld"}),
        (brim.UnknownName, "no step", {"key": "model", "text": "x", "flow": "build", "step": "9"}),
        (brim.SourceError, "is part of brim", {"key": "model", "text": "x", "profile": "forge"}),
        (brim.InvalidValue, "which defines 'build'", {"key": "model", "text": "x", "flow": "build", "file": "other"}),
    ],
)
def test_what_cannot_be_is_refused_and_the_file_stays(project, error, told, arguments):
    config = project(TEXT)
    with pytest.raises(error, match=told):
        plan(config, {arguments.pop("key"): arguments.pop("text")}, **arguments)
    assert (project.root / "brim.yaml").read_text() == TEXT


def test_a_file_that_became_malformed_is_not_written(project):
    config = project(TEXT)
    path = project.root / "brim.yaml"
    path.write_text(TEXT + "modle: x\n")
    with pytest.raises(brim.SourceError, match="did you mean 'model'"):
        plan(config, {"model": "gpt-5"})
    assert path.read_text() == TEXT + "modle: x\n"


def test_a_file_that_somebody_changed_meanwhile_is_not_written(project):
    change = plan(project(TEXT), {"model": "gpt-5"})
    path = project.root / "brim.yaml"
    path.write_text(TEXT + "meter: chars\n")
    with pytest.raises(brim.SourceError, match="was changed in the meantime"):
        change.make()
    assert path.read_text() == TEXT + "meter: chars\n"


def test_a_link_out_of_the_project_is_not_written_through(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "brim.yaml"
    outside.write_text("model: a\n")
    config = project()
    (project.root / "brim.yaml").symlink_to(outside)
    with pytest.raises(brim.SourceError, match="leads out of the project"):
        plan(config, {"model": "gpt-5"})
    assert outside.read_text() == "model: a\n"


def test_a_setting_is_removed_where_it_stands_and_the_value_below_holds_again(project):
    config = project(TEXT)
    path = project.root / "brim.yaml"
    plan(config, {"context_budget_chars": "250000"}, flow="build", step="0").make()
    config = brim.load_config(path, environ={})
    plan(config, {"context_budget_chars": None}, flow="build", step="0").make()
    assert path.read_text() == TEXT
    config = brim.load_config(path, environ={})
    assert config.resolve(flow="build", step="0")["context_budget_chars"].origin == "project"
    with pytest.raises(brim.SourceError, match="is not set here, so it cannot be removed"):
        plan(config, {"context_budget_chars": None}, flow="build", step="0")


WORDS = """\
agent:
  context_budget:
    total_tokens: 3000  # mine
    overflow_policy: truncate
    allocations:
      plan: {max_tokens: 200, truncation_strategy: end}
context: {max_utilization_pct: 20}
profiles: {quick: {curator_enabled: true}}
"""


@pytest.mark.parametrize(
    ("key", "value", "place", "old", "new"),
    [
        ("prompt.total", "2000", {}, "total_tokens: 3000  # mine", "total_tokens: 2000  # mine"),
        ("sections.plan.ceiling", "20%", {}, "max_tokens: 200", "max_tokens: 20%"),
        ("window.cap", "40", {}, "max_utilization_pct: 20", "max_utilization_pct: 40"),
        ("curator.enabled", "false", {"profile": "quick"}, "curator_enabled: true", "curator_enabled: false"),
        ("prompt.total", None, {}, "    total_tokens: 3000  # mine\n", ""),
    ],
)
def test_a_setting_in_an_authors_words_is_changed_where_it_stands(project, key, value, place, old, new):  # noqa: PLR0917
    """It was "prompt.total sets prompt.total a second time: keep one", for the line that the change had added."""
    change = plan(project(WORDS), {key: value}, **place)
    assert change.after == WORDS.replace(old, new)


def test_a_value_that_the_words_cannot_say_is_refused(project):
    with pytest.raises(brim.SourceError, match=r"truncation_strategy must be one of .*, not 'shape'"):
        plan(project(WORDS), {"sections.plan.keep": "shape"})
    with pytest.raises(brim.SourceError, match=r"max_utilization_pct must be a number .*, not 0\.3: edit it by hand"):
        plan(project(WORDS), {"window.cap": "0.3"})
    with pytest.raises(brim.SourceError, match=r"total_tokens must be .*, not None"):
        plan(project(WORDS), {"prompt.total": "null"})
