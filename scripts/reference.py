"""Write docs/reference/cli.md from the commands themselves.

    python scripts/reference.py            write the page
    python scripts/reference.py --check    fail if the page is not what would be written

The page has the words of `brim COMMAND --help` in its own layout, since Typer's layout changes with its releases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from brim.cli.commands import app
from generated import run, safe

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
SPEC = PAGE.with_name("spec.yaml")
"""The page shows it: a spec with every key."""

_HEAD = """\
# The command line

<!-- Written by scripts/reference.py from the commands' own help; do not edit. -->

Every command has `--help`, and `--json` if it prints a result. The result goes to standard output, everything else
to standard error. Invalid input is reported in one line that starts with `brim:` and names the value and its place,
never as a traceback.

| exit code | means |
|---|---|
| 0 | done |
| 1 | no: over budget (`check`), does not fit (`fit`, `demo`, `replay`, `audit`), failed (`flow`), problems (`doctor`) |
| 2 | invalid input: an unknown name, an unreadable or binary file, malformed YAML, an invalid value |
| 130 | interrupted with Ctrl-C |
| 141 | the reader of the output closed it, as in `brim count . \\| head -1` |
"""


def page() -> str:
    """Return the whole page."""
    group: Any = get_command(app())
    parts = [_HEAD]
    for name, command in _commands(group):
        parts.append("\n".join(_command(name, command)) + "\n")
    return "\n".join(parts)


def _commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its name, those of a group under the group's."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def _usage(argument: Any) -> str:
    """Return an argument as the usage line shows it."""
    name = argument.metavar if argument.required else f"[{argument.metavar}]"
    return name if argument.nargs == 1 else f"{name}..."


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    yield f"## brim {name}\n"
    usage = " ".join(["brim", name, *map(_usage, arguments), "[OPTIONS]"])
    yield f"```\n{usage}\n```\n"
    for paragraph in command.help.split("\n\n"):
        text = " ".join(paragraph.split())
        label, _, example = text.partition(": ")
        if label.startswith("Example"):
            yield f"{label}:\n\n```\n{example}\n```\n"
        else:
            yield safe(text) + "\n"
    if name == "fit":
        yield f"A SPEC.yaml with every key:\n\n```yaml\n{SPEC.read_text('utf-8')}```\n"
    yield "| | |\n|---|---|"
    for each in arguments:
        yield f"| `{each.metavar}` | {safe(each.help)} |"
    for each in options:
        names = ", ".join(f"`{option}{' ' + each.metavar if each.metavar else ''}`" for option in each.opts)
        default = f" Default: `{each.default}`." if isinstance(each.default, str) else ""
        yield f"| {names} | {safe(each.help)}{default} |"


if __name__ == "__main__":
    sys.exit(run(PAGE, page))
