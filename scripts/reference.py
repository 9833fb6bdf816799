"""Write docs/reference/cli.md from the commands themselves.

    python scripts/reference.py            write the page
    python scripts/reference.py --check    fail if the page is not what would be written

The page is made of the same words as `brim COMMAND --help`, but not of its layout, which is Typer's and changes
with its releases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from brim.cli import app
from generated import run, safe

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"

_HEAD = """\
# The command line

<!-- Written by scripts/reference.py from the commands' own help; do not edit. -->

Every command has `--help` and `--json`. What a command answers goes to standard output, everything else to standard
error; a mistake of yours is one sentence that begins with `brim:` and names the value and its place, never a traceback.

| exit code | means |
|---|---|
| 0 | done |
| 1 | the answer is no: over budget (`check`), nothing fits (`fit`, `demo`, `replay`), failed (`flow`), ill (`doctor`) |
| 2 | input that cannot be taken: an unknown name, an unreadable or binary file, malformed YAML, a wrong value |
| 130 | interrupted with Ctrl-C |
| 141 | whoever read the output went away, as in `brim count . \\| head -1` |
"""

SPEC = """\
model: gpt-5                     # whose tokens count; or meter: o200k_base, chars, chars/4, a tokenizer.json
budget: {cap: 20%, limit: 8000}  # of the model's window; also model, size, reserve, warn. Or units: 8000
separator: "\\n\\n"              # between two sections
order: given                     # or priority: the most essential first
fill: order                      # within one priority, one after the other; or fair, by weight
policy: truncate_then_continue   # or truncate_then_stop, skip, stop
show_budget: false               # whether the prompt ends with a section that tells its own budget
direction: lower                 # whether a lower or a higher number is the more essential
template: null                   # or a text with a place {name} for each section
stages:                          # what to give up first, in this order, until the prompt fits
  - {section: lessons, last: 3}  # or first, to, down_to: units or a share; over_chars, over_entries, leave
hard_marker: null                # what stands where text was cut after all stages
sections:
  - name: rules
    text: Be brief.              # or file: a path beside this file; entries: a list; files: a pattern, each an entry
    priority: required           # or high, medium, low, or a whole number
  - name: lessons
    entries: [Read before you write., Run the tests.]
    required: false              # priority: required says the same as true
    floor: 5%                    # less is worth nothing: units, or a share of the budget
    ceiling: 400                 # never more than this
    keep: newest                 # or head, tail, ends, lines, best, shape, json, markdown, code, log, diff
    overflow: truncate           # or drop, summarise
    forms: [Read first. Test.]   # shorter forms, the largest that fits is used before anything is cut
    weight: 1                    # of a fair share
    stable: false                # whether its bytes should stay the same from prompt to prompt
    enabled: true
    marker: null                 # what stands where text was cut away
    joiner: "\\n"                 # between two entries
    most: 20                     # entries, or characters of a text, that are looked at in the first place
"""


def page() -> str:
    """Return the whole page."""
    group: Any = get_command(app)
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


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    yield f"## brim {name}\n"
    usage = " ".join(["brim", name, *(each.metavar for each in arguments), "[OPTIONS]"])
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
