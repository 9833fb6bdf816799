"""The options that several commands share, worded once."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Budget = Annotated[str | None, typer.Option("--budget", "-b", metavar="N", help="The budget, in units of the meter.")]
Model = Annotated[
    str | None, typer.Option("--model", "-m", metavar="NAME", help="The model whose tokens count, such as gpt-5.")
]
Meter = Annotated[
    str | None,
    typer.Option("--meter", metavar="NAME", help="A vocabulary, a unit such as chars, or a tokenizer.json."),
]
