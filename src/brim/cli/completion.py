"""`brim completion`: the completion script of a shell, and the words that it offers.

A script asks brim for the words, so that it need not be renewed: commands, options, and as values the models, settings,
profiles, flows, steps and sections that are known here. Where brim offers none, the shell completes file names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from brim.cli import options
from brim.cli.commands import COMMANDS, GROUPS, app
from brim.cli.output import emit
from brim.errors import check_choice

if TYPE_CHECKING:
    from brim.settings.config import Config

Shell = Literal["bash", "zsh", "fish"]

_SCRIPTS: dict[str, str] = {
    "bash": """\
_brim() {
  local IFS=$'\\n'
  COMPREPLY=($(brim __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _brim brim
""",
    "zsh": """\
#compdef brim
_brim() {
  local -a found
  found=("${(@f)$(brim __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
if [[ "${funcstack[1]}" = "_brim" ]]; then _brim "$@"; else compdef _brim brim; fi
""",
    "fish": """\
function __brim_words
  set -l words (commandline -opc) (commandline -ct)
  brim __complete $words[2..-1] 2>/dev/null
end
complete -c brim -a "(__brim_words)"
""",
}


def run(
    *,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    json: options.Json = False,
) -> None:
    """Print the completion script of a shell.

    Load it in the start file of the shell: in bash eval "$(brim completion bash)", in zsh the same with zsh, in fish
    brim completion fish | source.

    Example: brim completion bash
    """
    check_choice("SHELL", shell, get_args(Shell))
    if json:
        emit({"shell": shell, "script": _SCRIPTS[shell]})
    else:
        print(_SCRIPTS[shell], end="")


def answer(words: Sequence[str]) -> int:
    """Print the words that may stand in place of the last one, each on a line; return the exit code."""
    try:
        found = sorted({word for word in offered(words) if word.startswith(words[-1] if words else "")})
    except Exception:  # A broken settings file, for one: a key press in a shell is no place for an error.
        return 1
    print("\n".join(found))
    return 0


def offered(words: Sequence[str]) -> Iterable[str]:
    """Return the words for the place of the last one, of which only its start is known."""
    *before, last = words or [""]
    place = next((i for i, word in enumerate(before) if not word.startswith("-")), None)
    if place is None:
        return [*COMMANDS, *GROUPS, "--help", "--version"]
    command = _command(before[place])
    rest = before[place + 1 :]
    if command is not None and hasattr(command, "commands"):
        if not rest:
            return [*command.commands, "--help"]
        command, rest = command.commands.get(rest[0]), rest[1:]
    if command is None:
        return []
    takes = {option: each for each in command.params for option in each.opts if option.startswith("-")}
    asked = takes.get(rest[-1]) if rest else None
    if asked is not None and not asked.is_flag:
        return _values(asked.opts[0], before)
    if last.startswith("-"):
        return [*takes, "--help"]
    arguments = [str(each.metavar) for each in command.params if each.param_type_name == "argument"]
    return _values(arguments[0], before) if arguments else []


def _command(name: str) -> Any:
    from typer.main import get_command

    group: Any = get_command(app((name,))) if name in COMMANDS or name in GROUPS else None
    return None if group is None else group.commands[name]


def _values(name: str, words: Sequence[str]) -> Iterable[str]:
    """Return the values of an option or an argument; none where the shell should offer files, or knows no more."""
    if name in _CLOSED:
        return _CLOSED[name]
    return _OPEN[name](words) if name in _OPEN else []


def _models(_: Sequence[str]) -> Iterable[str]:
    from brim.meter import catalogue
    from brim.meter.units import UNITS
    from brim.meter.vocabularies import VOCABULARIES

    return [*catalogue.known_names(), *UNITS, *VOCABULARIES]


def _formats(_: Sequence[str]) -> Iterable[str]:
    from brim.wire.base import Format

    return get_args(Format)


def _settings(words: Sequence[str]) -> Config:
    from brim.cli.output import mute_settings
    from brim.settings import load_config

    mute_settings()
    return load_config(_given(words, "--config", "-c"))


def _steps(words: Sequence[str]) -> Iterable[str]:
    flow = _given(words, "--flow")
    return [step.id for step in _settings(words).flow(flow).steps] if flow else []


def _keys(_: Sequence[str]) -> Iterable[str]:
    from brim.settings.keys import BARE, SETTINGS

    return [*SETTINGS, *BARE]


def _sections(words: Sequence[str]) -> Iterable[str]:
    """Return the parts of the receipt that the line names."""
    from brim.receipts.receipt_file import read_receipt

    path = next((word for word in words if word.endswith(".json")), None)
    return [part.name for part in read_receipt(path).parts] if path else []


def _given(words: Sequence[str], *names: str) -> str | None:
    """Return the value of an option on the line."""
    return next((value for name, value in pairwise(words) if name in names), None)


_CLOSED: dict[str, tuple[str, ...]] = {
    "SHELL": get_args(Shell),
    "--select": ("recency", "priority", "relevance", "priority+relevance"),
    "--repair": ("drop", "error"),
    "--api": ("openai", "anthropic"),
    "--policy": ("fit", "warn", "refuse", "pass"),
}
_OPEN: dict[str, Callable[[Sequence[str]], Iterable[str]]] = {
    "--model": _models,
    "--meter": _models,
    "PATTERN": _models,
    "--format": _formats,
    "--profile": lambda words: _settings(words).profiles,
    "--flow": lambda words: _settings(words).flows,
    "--step": _steps,
    "KEY": _keys,
    "--why": _sections,
}
