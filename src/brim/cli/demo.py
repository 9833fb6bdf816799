"""`brim demo`: a long agent prompt, fitted to a budget."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from rich.console import Console

from brim.cli import options
from brim.cli.output import console, emit, is_plain, show, table, whole
from brim.cli.summary import bar, losses_table, state_of
from brim.meter.base import measured
from brim.settings.spec import read_spec

if TYPE_CHECKING:
    from rich.table import Table

    from brim.receipts.receipt import Receipt
    from brim.sections.prompt_fit import Prompt

_PYTHON = """\
import brim

prompt = brim.fit(
    [
        brim.Section("rules", rules, priority="required", stable=True),
        brim.Section("plan", plan, priority="high"),
        brim.Section("log", log, priority="high", keep="log", ceiling="25%"),
        brim.Section("lessons", lessons, keep="newest", ceiling="5%"),
    ],
    budget={budget},
    model="{model}",
)
print(prompt.text, prompt.receipt.why("log"))
"""


def run(
    *,
    budget: options.Budget = None,
    model: options.Model = None,
    json: options.Json = False,
) -> None:
    """Fit a long agent prompt to a budget, as a demonstration.

    The prompt has twelve sections, as an agent collects them in an hour of work: rules, tools, a plan, a log with
    errors in the middle, JSON, code, a diff, chat. The output shows what is kept, what is dropped, and why.

    Example: brim demo --budget 2500
    """
    units = whole("--budget", budget)
    with as_file(files("brim.cli").joinpath("demo_prompt")) as folder:
        prompt = read_spec(str(folder / "spec.yaml")).fit(budget=units, model=model)
    if json:
        emit({"text": prompt.text, "receipt": prompt.receipt.to_dict()})
        return
    _show(console(), prompt, model or "gpt-5")


def _show(out: Console, prompt: Prompt, model: str) -> None:
    receipt = prompt.receipt
    wanted = sum(part.size for part in receipt.parts)
    out.print()
    out.print(f"An agent's prompt of {wanted:,} {receipt.unit}, and a budget of {receipt.budget:,}.", style="bold")
    out.print(f"Counted with {measured(receipt.meter, exact=receipt.exact)}.", style="dim")
    out.print()
    show(out, _parts(receipt, plain=is_plain(out)))
    out.print()
    out.print(f"The fitted prompt takes {receipt.used:,}, and {receipt.unused:,} are free.", style="bold")
    out.print()
    if receipt.losses:
        out.print("What was shortened or dropped, and why", style="bold")
        show(out, losses_table(receipt))
        out.print()
    _inside(out, prompt)
    out.print("The same in Python", style="bold")
    out.print(_PYTHON.format(budget=f"{receipt.budget:_}", model=model))
    out.print("Next", style="bold")
    half = f"brim demo --budget {max(1, receipt.budget // 2)}"
    out.print(f"  {half}  the same at half the budget")
    out.print(f"  {'brim count .':<{len(half)}}  the tokens of your own files")
    out.print(f"  {'brim studio --demo':<{len(half)}}  the same in a browser")


def _parts(receipt: Receipt, *, plain: bool) -> Table:
    """Return the table of the sections: the size, grant and use of each, and a bar of what was kept."""
    numbers = ("size", "granted", "used")
    made = table("section", "priority", *numbers, "state", "kept", numbers=numbers, wide=("section",))
    for part in receipt.parts:
        sizes = (f"{number:,}" for number in (part.size, part.granted, part.used))
        made.add_row(part.name, part.importance, *sizes, state_of(part), bar(part.used, part.size, plain=plain))
    return made


def _inside(out: Console, prompt: Prompt) -> None:
    """Show the middle of the shortened log: the lines with errors are kept."""
    part = prompt.receipt.part("log")
    lines = prompt.texts.get("log", "").splitlines()
    if part.state != "cut" or not lines:
        return
    first = next((i for i, line in enumerate(lines) if " ERROR " in line), 0)
    out.print(f"The log, shortened from {part.size:,} to {part.used:,}, still has its errors", style="bold")
    for line in lines[max(0, first - 1) : first + 7]:
        out.print(
            "  " + line,
            style="red" if " ERROR " in line else "dim",
            no_wrap=True,
            overflow="crop" if is_plain(out) else "ellipsis",
        )
    out.print()
