"""`brim fit`: a prompt described in YAML, fitted."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from brim.cli import options
from brim.cli.output import console, emit, emit_text, show, whole, write_files
from brim.cli.summary import headline, losses_table
from brim.config.spec import read_spec
from brim.errors import InvalidValue


def run(
    *,
    spec: Annotated[str, typer.Argument(metavar="SPEC.yaml", help="The sections, and how to fit them.")],
    budget: options.Budget = None,
    model: options.Model = None,
    meter: options.Meter = None,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the prompt there.")] = None,
    receipt: Annotated[
        str | None, typer.Option("--receipt", "-r", metavar="FILE", help="Write the receipt there, as JSON.")
    ] = None,
    capture: Annotated[
        bool, typer.Option("--capture", help="Keep the texts in the receipt, so that it can be replayed.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Fit the prompt that a YAML file describes.

    The prompt goes to standard output, byte for byte; what became of each section goes to standard error. What the
    options say stands in for what the file says. When nothing fits, nothing is written and the exit code is 1.

    Example: brim fit prompt.yaml --budget 8000 -r receipt.json > prompt.txt
    """
    if out is not None and receipt is not None and os.path.realpath(out) == os.path.realpath(receipt):
        raise InvalidValue("--receipt", receipt, "another file than --out")
    if capture and receipt is None and not json:
        raise InvalidValue("--capture", "nothing", "given with --receipt or --json, which keep the texts")
    prompt = read_spec(spec).fit(budget=whole("--budget", budget), model=model, meter=meter, capture=capture)
    contents = {}
    if out is not None:
        contents[out] = prompt.text
    if receipt is not None:
        contents[receipt] = prompt.receipt.to_json() + "\n"
    write_files(contents)
    if json:
        emit({"text": prompt.text, "receipt": prompt.receipt.to_dict()})
    elif out is None:
        emit_text(prompt.text)
    note = console(error=True)
    note.print(headline(prompt.receipt), style="bold")
    if prompt.receipt.losses:
        show(note, losses_table(prompt.receipt))
