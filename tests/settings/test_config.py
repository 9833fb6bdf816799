"""Which layer counts, where a value comes from, and what is refused."""

import os

import pytest

import brim
from brim.settings import (
    get_context_budget_chars,
    get_history_max_older_chars,
    get_history_max_recent_chars,
)

LAYERED = """\
budgets:
  context_budget_chars: 210000
profile: heavy-context
profiles:
  heavy-context:
    budget_overrides:
      context_budget_chars: 300000
      history_max_recent_chars: 100000
      history_max_older_chars: 15000
flows:
  build:
    budget_overrides:
      context_budget_chars: 250000
      history_max_recent_chars: 80000
    steps:
      - id: "0"
        agent: context-loader
        budget_overrides:
          context_budget_chars: 310000
      - id: "1"
        agent: test-author
"""


def three(settings):
    names = ("context_budget_chars", "history_max_recent_chars", "history_max_older_chars")
    return tuple(settings[name].value for name in names)


@pytest.mark.requirement("S2.19", "S2.21", "X5")
@pytest.mark.parametrize(
    ("asked", "value", "origin", "line"),
    [
        ({}, 300_000, "profile", 7),
        ({"flow": "build"}, 250_000, "flow", 13),
        ({"flow": "build", "step": "0"}, 310_000, "step", 19),
        ({"flow": "build", "step": 0}, 310_000, "step", 19),
        ({"flow": "build", "step": "1"}, 250_000, "flow", 13),
    ],
)
def test_step_stands_above_flow_above_profile_above_project(project, asked, value, origin, line):
    found = project(LAYERED).resolve(**asked)["context_budget_chars"]
    assert (found.value, found.origin) == (value, origin)
    assert found.where == f"{project.root / 'brim.yaml'}:{line}"


@pytest.mark.requirement("S2.20")
def test_layers_are_merged_value_by_value(project):
    config = project(LAYERED)
    assert three(config.resolve(flow="build", step="0")) == (310_000, 80_000, 15_000)
    assert three(config.resolve(flow="build", step="1")) == (250_000, 80_000, 15_000)


@pytest.mark.requirement("S2.20")
def test_in_replace_mode_the_strongest_file_layer_stands_for_all_budgets(project):
    text = "override_mode: replace\n" + LAYERED
    config = project(text)
    assert three(config.resolve(flow="build", step="0")) == (310_000, 60_000, 10_000)
    assert three(config.resolve(flow="build", step="1")) == (250_000, 80_000, 10_000)
    assert three(config.resolve()) == (300_000, 100_000, 15_000)
    env = {"BRIM_BUDGETS__HISTORY_MAX_OLDER_CHARS": "700"}
    assert three(project(text, environ=env).resolve(flow="build", step="1")) == (250_000, 80_000, 700)


@pytest.mark.requirement("S2.17")
def test_the_environment_stands_above_all_files_and_flags_above_it(project):
    env = {"BRIM_BUDGETS__CONTEXT_BUDGET_CHARS": "123456"}
    found = project(LAYERED, environ=env).resolve(flow="build", step="0")["context_budget_chars"]
    assert found == type(found)(123_456, "env", "BRIM_BUDGETS__CONTEXT_BUDGET_CHARS")
    for flags in ({"context_budget_chars": 111_111}, {"budgets.context_budget_chars": "111111"}):
        found = project(LAYERED, environ=env, flags=flags).resolve(flow="build", step="0")["context_budget_chars"]
        assert found == type(found)(111_111, "flags", next(iter(flags)))


@pytest.mark.requirement("S2.17")
def test_one_in_the_environment_stays_a_number(project):
    found = project(environ={"BRIM_WINDOW__RESERVE": "1"}).resolve()["window.reserve"]
    assert found.value == 1
    assert found.value is not True
    assert project(environ={"BRIM_HISTORY__NOTE": "false"}).resolve().value("history.note") is False
    with pytest.raises(brim.SourceError, match=r"BRIM_HISTORY__NOTE: history.note must be true or false, not 1"):
        project(environ={"BRIM_HISTORY__NOTE": "1"})


def test_a_variable_that_names_no_setting_is_ignored_and_the_nearest_is_told(project, caplog):
    project(environ={"BRIM_BUDGETS__CONTEXT_BUGDET_CHARS": "5"})
    assert "did you mean BRIM_BUDGETS__CONTEXT_BUDGET_CHARS" in caplog.text
    assert project(environ={"BRIM_TOKEN": "x", "BRIM_MODEL": ""}).resolve().value("model") is None


def test_the_variables_of_a_service_called_brim_stop_no_program(project):
    """Kubernetes sets them in every pod of the namespace."""
    environ = {"BRIM_SERVICE_HOST": "10.0.0.7", "BRIM_PORT": "tcp://10.0.0.7:8088", "BRIM_PORT_8088_TCP_PROTO": "tcp"}
    config = project(environ=environ)
    assert config.resolve().value("model") is None
    assert len(config.ignored) == len(environ)


def test_a_flag_that_names_no_setting_is_refused(project):
    with pytest.raises(brim.UnknownName, match=r"did you mean 'history\.selection'"):
        project(flags={"history.selektion": "recency"})
    with pytest.raises(brim.InvalidValue, match="context_budget_chars must be a whole number"):
        project(flags={"context_budget_chars": True})


@pytest.mark.requirement("S2.13")
def test_without_any_file_the_defaults_are_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare = brim.load_config(environ={})
    assert bare.files == ()
    (tmp_path / "brim.yaml").write_text("")
    empty = brim.load_config(environ={})
    assert empty.files == ("brim.yaml",)
    assert dict(bare.resolve().items()) == dict(empty.resolve().items())
    assert three(bare.resolve()) == (200_000, 60_000, 10_000)
    assert bare.resolve().value("timeout_seconds") == 30
    assert {value.origin for _, value in bare.resolve().items()} == {"defaults"}


@pytest.mark.requirement("S2.16")
def test_each_budget_has_an_accessor(project, monkeypatch):
    config = project(LAYERED)
    assert get_context_budget_chars(config, flow="build", step="0") == 310_000
    assert get_history_max_recent_chars(config, flow="build") == 80_000
    assert get_history_max_older_chars(config) == 15_000
    monkeypatch.chdir(project.root)
    assert get_context_budget_chars(flow="build") == 250_000


def test_the_users_file_is_below_the_projects(project, tmp_path):
    mine = tmp_path / "xdg" / "brim"
    mine.mkdir(parents=True)
    (mine / "brim.yaml").write_text("model: gpt-4\nmeter: chars\n")
    home = str(tmp_path / "me")
    for environ in ({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, {"HOME": home}, {"USERPROFILE": home}):
        if "HOME" in environ:
            (tmp_path / "me").mkdir()
            os.rename(tmp_path / "xdg", tmp_path / "me" / ".config")
        settings = project("model: gpt-5\n", environ=environ).resolve()
        assert (settings["model"].value, settings["model"].origin) == ("gpt-5", "project")
        assert (settings["meter"].value, settings["meter"].origin) == ("chars", "user")
        assert settings["meter"].where.endswith("brim.yaml:2")


def test_a_profile_of_the_project_replaces_the_users_of_the_same_name(project, tmp_path):
    (tmp_path / "brim").mkdir()
    (tmp_path / "brim" / "brim.yaml").write_text("profiles: {deep: {model: gpt-4}, mine: {meter: chars}}\n")
    config = project("profiles: {deep: {model: gpt-5}}\n", environ={"XDG_CONFIG_HOME": str(tmp_path)})
    assert config.resolve(profile="deep").value("model") == "gpt-5"
    assert config.resolve(profile="mine").value("meter") == "chars"


@pytest.mark.requirement("S2.21")
def test_flows_and_profiles_may_be_files_of_their_own(project):
    files = {
        "profiles__deep": "profile_id: deep\ndescription: d\nbudget_overrides:\n  history_max_older_chars: 15000\n",
        "flows__build": """\
            flow: build
            description: Plan, then draft
            budget_overrides:
              context_budget_chars: 250000
            steps:
              - id: "0"
                agent: context-loader
                teaching_notes: {inputs: [spec.md], emphasizes: tests}
                budget_overrides: {context_budget_chars: 300000}
            """,
    }
    config = project(None, **files)
    assert "build" in config.flows
    assert "deep" in config.profiles
    assert config.flow("build").description == "Plan, then draft"
    step = config.flow("build").steps[0]
    assert (step.id, step.agent) == ("0", "context-loader")
    assert step.teaching_notes == {"inputs": ["spec.md"], "emphasizes": "tests"}
    settings = config.resolve(profile="deep", flow="build", step="0")
    assert settings["context_budget_chars"].where.endswith("build.yaml:9")
    assert three(settings) == (300_000, 60_000, 15_000)
    assert len(config.files) == 2


def test_the_same_flow_in_two_places_is_refused(project):
    with pytest.raises(brim.SourceError, match="the flow 'build' is defined twice, first at .*brim.yaml:2"):
        project("flows:\n  build: {}\n", flows__build="description: again\n")


def test_a_profile_may_extend_another_and_a_shipped_one(project):
    text = """\
        profiles:
          a: {extends: b, history: {note: false}}
          b: {extends: flow, budgets: {preset: lean}, history: {note: true, pin_first_user: true}}
    """
    settings = project(text).resolve(profile="a")
    assert settings.value("history.note") is False
    assert settings.value("history.pin_first_user") is True
    assert settings.preset == "lean"
    assert settings.value("history.selection") == "priority"
    assert "flow.yaml:" in settings["history.selection"].where


def test_unknown_names_are_refused_with_the_nearest(project):
    config = project(LAYERED)
    for asked, told in (
        ({"profile": "heavy-contxt"}, "no profile is called 'heavy-contxt'; did you mean 'heavy-context'"),
        ({"flow": "biuld"}, "no flow is called 'biuld'; did you mean 'build'"),
        ({"flow": "build", "step": "00"}, "no step of the flow 'build' is called '00'"),
    ):
        with pytest.raises(brim.UnknownName, match=told):
            config.resolve(**asked)
    with pytest.raises(brim.UnknownName, match="did you mean 'history.selection'"):
        config.resolve()["history.selektion"]
    for asked in ({"step": "0"}, {"flow": "build", "step": 2}, {"flow": "build", "step": -1}):
        with pytest.raises(brim.InvalidValue):
            config.resolve(**asked)
    with pytest.raises(brim.InvalidType):
        config.resolve(flow="build", step=True)


def test_every_problem_of_a_file_is_in_one_error(project):
    text = """\
        modle: gpt-5
        budgets:
          context_budget_chars: many
        flows:
          build:
            steps:
              - {id: a}
              - {id: a}
    """
    with pytest.raises(brim.SourceError) as caught:
        project(text)
    assert caught.value.line == 1
    assert str(caught.value).endswith(
        "brim.yaml:1: the file has no key 'modle'; did you mean 'model'?; 2 more problems: line 3:"
        " budgets.context_budget_chars must be a whole number of at least 0, not 'many'; line 8:"
        f" flows.build.steps[1] has the id 'a' of the step at {project.root / 'brim.yaml'}:7"
    )


@pytest.mark.requirement("S2.7", "S2.13")
def test_the_runtime_file_switches_the_curator_off_too(project):
    """It was "defaults has no key 'curator_enabled'"."""
    text = "defaults: {context_budget_chars: 150000, curator_enabled: false, owner: me}\n"
    config = project(None, swarm__config__runtime=text)
    assert config.resolve().value("curator.enabled") is False
    assert config.resolve().value("context_budget_chars") == 150_000
    assert "unknown key 'owner'" in config.ignored[0]
