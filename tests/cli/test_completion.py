import json
import shutil
import subprocess
import sys

import pytest
from typer.main import get_command

from brim.cli import commands, completion

RULES = "flows: {build: {steps: [{id: plan}, {id: write}]}}\nprofiles: {quiet: {}}\n"


@pytest.fixture
def offered(here, brim):
    (here / "brim.yaml").write_text(RULES)

    def ask(*words):
        told = brim("__complete", *words)
        assert (told.code, told.err) == (0, "")
        return told.out.split()

    return ask


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["st"], {"status", "studio"}),
        (["config", ""], {"set", "show", "--help"}),
        (["fit", "--re"], {"--request", "--receipt", "--repair", "--recent"}),
        (["count", "--model", "gpt-4.1-"], {"gpt-4.1-mini", "gpt-4.1-nano"}),
        (["models", "claude-sonnet-4-"], {"claude-sonnet-4-5"}),
        (["config", "set", "history_max"], {"history_max_recent_chars", "history_max_older_chars"}),
        (["config", "show", "--flow", ""], {"build"}),
        (["config", "show", "--flow", "build", "--step", ""], {"plan", "write"}),
        (["config", "show", "--profile", ""], {"quiet", "forge", "session"}),
        (["fit", "--format", ""], {"openai", "responses", "anthropic"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
    ],
)
def test_the_words_of_a_place_are_offered(offered, words, some):
    found = set(offered(*words))
    assert some <= found
    assert all(word.startswith(words[-1]) for word in found)


def test_the_sections_of_a_receipt_are_offered(offered, here, brim):
    (here / "spec.yaml").write_text(
        "budget: 9\nmeter: chars\nsections: [{name: rules, content: b}, {name: plan, content: c}]\n"
    )
    brim("fit", "spec.yaml", "--receipt", "receipt.json")
    assert offered("replay", "receipt.json", "--why", "") == ["plan", "rules"]


def test_a_broken_settings_file_offers_nothing_and_prints_no_error(here, brim):
    (here / "brim.yaml").write_text("flows: [\n")
    told = brim("__complete", "config", "show", "--flow", "")
    assert (told.code, told.out, told.err) == (1, "", "")


def test_every_option_with_a_closed_set_of_values_is_known():
    known = {*completion._CLOSED, *completion._OPEN}
    options = {each.opts[0] for each in _params(get_command(commands.app()))}
    assert {name for name in known if name.startswith("--")} <= options


def _params(command):
    for each in getattr(command, "commands", {}).values():
        yield from each.params
        yield from _params(each)


def test_the_summaries_are_those_of_the_commands():
    group = get_command(commands.app())
    for name, summary in commands.COMMANDS.items():
        told = " ".join((group.commands[name].help or "").split("\n\n")[0].split())
        assert summary == told, name
    for name, summary in commands.GROUPS.items():
        assert group.commands[name].help == summary


def test_only_the_called_command_is_imported():
    code = "import sys; from brim.cli import main; main(['--help']); print([m for m in sys.modules if m.startswith('brim.')])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = json.loads(told.stdout.splitlines()[-1].replace("'", '"'))
    assert set(names) == {"brim.cli", "brim.cli.commands", "brim.errors"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_brim(brim, shell):
    told = brim("completion", shell)
    assert "brim __complete" in told.out
    if path := shutil.which(shell):
        assert subprocess.run([path, "-n"], input=told.out, text=True, check=False).returncode == 0
