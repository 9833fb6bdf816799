import json

import pytest

TEXT = """\
model: gpt-5
budgets:
  preset: lean   # small
profiles:
  deep: {budget_overrides: {history_max_older_chars: 9000}}
flows:
  build:
    steps:
      - id: "0"
        budget_overrides: {context_budget_chars: 5000}
"""


@pytest.fixture(autouse=True)
def project(here, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "none"))
    (here / "brim.yaml").write_text(TEXT)
    return here


def row(out, key):
    return next(line.split() for line in out.splitlines() if f" {key} " in line)


def test_effective_values_are_shown_with_origin_and_overrides_marked(brim):
    told = brim("config", "show", "--flow", "build", "--step", "0", "--profile", "deep")
    assert told.code == 0
    assert told.err == ""
    assert row(told.out, "context_budget_chars") == [
        "*", "context_budget_chars", "10,000", "step", "brim.yaml:10", "100,000", "(project)",
    ]  # fmt: skip
    assert row(told.out, "history_max_older_chars")[:5] == [
        "*", "history_max_older_chars", "9,000", "profile", "brim.yaml:5",
    ]  # fmt: skip
    assert row(told.out, "preset") == ["preset", "lean", "project", "brim.yaml:3"]
    assert row(told.out, "history.note") == ["history.note", "true", "defaults"]
    assert row(told.out, "history.pin") == ["history.pin", "-", "defaults"]
    assert "\nPreset: none. Read: brim.yaml.\n" in told.out
    assert "warning: brim.yaml:10: context_budget_chars of 5,000 chars is below minimum 10,000" in told.out


def test_a_value_of_a_shipped_profile_is_shown_with_the_name_of_its_file(brim, project):
    """The path of the installed package took four lines of the table for each of them."""
    (project / "brim.yaml").write_text("profile: forge\nhistory:\n  pin: [never, always]\n")
    assert row(brim("config", "show").out, "history.pin")[:3] == ["history.pin", "never,", "always"]
    assert row(brim("config", "show").out, "prompt.total") == [
        "*", "prompt.total", "8,000", "profile", "brim:forge.yaml:8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "printed"),
    [
        ("history.note", "true"),
        ("context_budget_chars", "100000"),
        ("model", "gpt-5"),
        ("window.size", ""),
        ("gateway.rules", "[]"),
    ],
)
def test_a_value_is_printed_as_it_is_written_in_a_file(brim, key, printed):
    assert brim("config", "get", key).out == f"{printed}\n"


def test_what_only_shows_when_settings_are_used_is_checked_too(brim, project):
    (project / "brim.yaml").write_text("flows:\n  build:\n    model: gpt-99-nonsense\n")
    told = brim("doctor")
    assert told.code == 2
    assert "brim.yaml:3: model: no model" in told.err


def test_a_setting_is_changed_in_its_file_and_the_change_is_printed(brim, project):
    told = brim("config", "set", "preset", "heavy")
    assert told.code == 0
    assert told.out == (
        "--- brim.yaml\n+++ brim.yaml\n@@ -1,6 +1,6 @@\n model: gpt-5\n budgets:\n-  preset: lean   # small\n"
        "+  preset: heavy   # small\n profiles:\n"
        "   deep: {budget_overrides: {history_max_older_chars: 9000}}\n flows:\n"
    )
    assert (project / "brim.yaml").read_text() == TEXT.replace("lean", "heavy")
    assert brim("config", "set", "preset", "heavy").out == "brim.yaml: preset is already heavy\n"


def test_a_dry_run_changes_nothing(brim, project):
    told = brim("config", "set", "context_budget_chars", "90000", "--flow", "build", "--step", "0", "--dry-run")
    assert "+        budget_overrides: {context_budget_chars: 90000}\n" in told.out
    assert (project / "brim.yaml").read_text() == TEXT
    told = json.loads(brim("config", "set", "model", "gpt-4", "--dry-run", "--json").out)
    assert (told["changed"], told["made"], told["key"]) == (True, False, "model")


def test_another_file_may_be_changed_or_made(brim, project):
    assert brim("config", "set", "model", "gpt-4", "--file", "sub.yaml").code == 0
    assert (project / "sub.yaml").read_text() == "model: gpt-4\n"
    assert brim("config", "set", "model", "gpt-5", "--file", "sub.yaml").code == 0
    assert (project / "sub.yaml").read_text() == "model: gpt-5\n"
    assert (project / "brim.yaml").read_text() == TEXT
