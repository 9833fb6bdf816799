"""Commands on the pages exist, with the options that they are shown with."""

import re
import shlex

from typer.main import get_command

from brim.cli.commands import app
from checkout import ROOT

_BLOCKS = re.compile(r"^```(?:sh|console|bash)?\n(.*?)^```|^((?:    [^\n]*\n)+)", re.DOTALL | re.MULTILINE)
COMMAND = get_command(app())
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(path):
    """Return the lines of a page that call brim, without what comes before and after the call."""
    text = path.read_text(encoding="utf-8")
    lines = "".join(one or two for one, two in _BLOCKS.findall(text)).splitlines()
    return [match[1] for line in lines if (match := re.match(r"\s*(?:\w+=\S+ )*brim ([a-z-].*)", line))]


def known(line):
    """Return the command that a line calls and the options that it does not have."""
    words = shlex.split(line, comments=True)
    command = COMMAND
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {
        "--help",
        "--version",
    }
    asked = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return hasattr(command, "commands"), [word for word in asked if word not in options]


def test_every_command_on_a_page_exists_with_its_options():
    lines = [(path.name, line) for path in PAGES for line in commands(path)]
    wrong = []
    for page, line in lines:
        group, unknown = known(line)
        if unknown or (group and line.split()[0] not in ("--help", "--version")):
            wrong.append((page, line, unknown))
    assert wrong == []
    assert len(lines) > 50


def test_a_command_or_option_that_is_not_there_is_seen():
    assert known("fit prompt.yaml --budgt 4")[1] == ["--budgt"]
    assert known("config nothing --flow a")[0]
    assert known("flow run flows/build.yaml --script replies.yaml") == (False, [])
