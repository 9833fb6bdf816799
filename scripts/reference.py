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

_HEAD = """\
# The command line

<!-- Written by scripts/reference.py from the commands' own help; do not edit. -->

Every command has `--help`, and `--json` if it prints a result. The result goes to standard output, everything else
to standard error. Invalid input is reported in one line that starts with `brim:` and names the value and its place,
never as a traceback.

| exit code | means |
|---|---|
| 0 | done |
| 1 | the answer is no: over budget (`check`), does not fit (`fit`, `demo`, `replay`), failed (`flow`), ill (`doctor`) |
| 2 | invalid input: an unknown name, an unreadable or binary file, malformed YAML, an invalid value |
| 130 | interrupted with Ctrl-C |
| 141 | the reader of the output closed it, as in `brim count . \\| head -1` |
"""

SPEC = """\
model: gpt-5                     # whose tokens count; or meter: o200k_base, chars, chars/4, a tokenizer.json
budget: {cap: 20%, limit: 8000}  # of the model's window; also model, size, reserve, warn. Or a number: 8000
separator: "\\n\\n"              # between two sections
order: given                     # or priority: the highest first
fill: order                      # within one priority: in order, or fair: by weight
policy: truncate_then_continue   # or truncate_then_stop, skip, stop
show_budget: false               # whether the prompt ends with a section that states its budget
direction: lower                 # whether a lower or a higher number is the higher priority
template: null                   # or a text with {name} in place of each section
stages:                          # what to shorten first, in this order, until the prompt fits
  - {section: lessons, last: 3}  # or first, to, down_to: a number or a share; over_chars, over_entries, leave
hard_marker: null                # the marker of text that is cut after all stages
sections:
  - name: rules
    content: Be brief.           # or a list of entries; or file: a path from here; files: a pattern, each an entry
    priority: required           # or high, medium, low, or a whole number
  - name: lessons
    content: [Read before you write., Run the tests.]
    required: false              # true is the same as priority: required
    floor: 5%                    # with less than this it is dropped: a number, or a share of the budget
    ceiling: 400                 # the most it gets
    keep: newest                 # or head, tail, ends, lines, best, shape, json, markdown, code, log, diff
    overflow: truncate           # or drop, summarise
    forms: [Read first. Test.]   # shorter versions; the largest that fits is used before anything is cut
    weight: 1                    # its share with fill: fair
    stable: false                # whether its bytes should stay the same between prompts
    enabled: true
    marker: null                 # the marker of text that is cut
    joiner: "\\n"                 # between two entries
    most: 20                     # entries (of a text, its lines) that are read at all
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
        yield f"A SPEC.yaml with every key:\n\n```yaml\n{SPEC}```\n"
    yield "| | |\n|---|---|"
    for each in arguments:
        yield f"| `{each.metavar}` | {safe(each.help)} |"
    for each in options:
        names = ", ".join(f"`{option}{' ' + each.metavar if each.metavar else ''}`" for option in each.opts)
        default = f" Default: `{each.default}`." if isinstance(each.default, str) else ""
        yield f"| {names} | {safe(each.help)}{default} |"


if __name__ == "__main__":
    sys.exit(run(PAGE, page))
