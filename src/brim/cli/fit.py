"""`brim fit`: a prompt described in YAML, or the messages of a request, fitted."""

from __future__ import annotations

import json as json_
import os
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from brim.cli import options
from brim.cli.output import console, emit, emit_text, show, whole, write_files
from brim.cli.summary import headline, losses_table
from brim.errors import InvalidValue
from brim.history.request_body import read_request
from brim.receipts.receipt import Receipt
from brim.settings.spec import read_spec

_File = Annotated[
    str,
    typer.Argument(
        metavar="SPEC.yaml", help="The sections, and how to fit them; or a REQUEST.json. - is standard input."
    ),
]
_Out = Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the prompt or the body there.")]
_Receipt = Annotated[
    str | None, typer.Option("--receipt", "-r", metavar="FILE", help="Write the receipt there, as JSON.")
]
_Capture = Annotated[
    bool, typer.Option("--capture", help="Keep the texts or messages in the receipt, so that it can be replayed.")
]
_Request = Annotated[
    bool, typer.Option("--request", help="Take the file for a request, whatever its name, and standard input too.")
]
_Select = Annotated[
    str | None,
    typer.Option(
        "--select", metavar="WAY", help="Of a request: keep turns by recency, priority or relevance, or by two with +."
    ),
]
_Query = Annotated[
    str | None, typer.Option("--query", metavar="TEXT", help="Of a request: what relevance is measured by.")
]
_Recent = Annotated[
    str | None, typer.Option("--recent", metavar="N", help="Of a request: the most units of the newest turn.")
]
_Older = Annotated[
    str | None, typer.Option("--older", metavar="N", help="Of a request: the most units of each older turn.")
]
_Shape = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Of a request: openai, responses or anthropic, if not seen."),
]
_Repair = Annotated[
    str | None,
    typer.Option("--repair", metavar="HOW", help="Of a request: drop what no provider takes, or refuse it (error)."),
]


def run(
    *,
    file: _File,
    budget: options.Budget = None,
    model: options.Model = None,
    meter: options.Meter = None,
    out: _Out = None,
    receipt: _Receipt = None,
    capture: _Capture = False,
    request: _Request = False,
    select: _Select = None,
    query: _Query = None,
    recent: _Recent = None,
    older: _Older = None,
    format: _Shape = None,
    repair: _Repair = None,
    json: options.Json = False,
) -> None:
    """Fit the prompt that a YAML file describes, or the messages of a request.

    The prompt goes to standard output, byte for byte; what became of each section goes to standard error. What the
    options say stands in for what the file says. When nothing fits, nothing is written and the exit code is 1.

    A request is a JSON file: a list of messages, or the body that would be sent, with messages (OpenAI or Anthropic)
    or input (Responses). The same body comes out with the fitted messages in place and all else untouched. Messages,
    tools, functions, system and instructions are counted. Without --budget, take the window of --model or of the
    body's model, less the max_tokens, max_completion_tokens or max_output_tokens of the body.

    Example: brim fit prompt.yaml --budget 8000 -r receipt.json > prompt.txt

    Example of a request: brim fit request.json --model gpt-5 > fitted.json
    """
    if out is not None and receipt is not None and os.path.realpath(out) == os.path.realpath(receipt):
        raise InvalidValue("--receipt", receipt, "another file than --out")
    if capture and receipt is None and not json:
        raise InvalidValue("--capture", "nothing", "given with --receipt or --json, which keep the texts")
    told: dict[str, Any] = {"budget": whole("--budget", budget), "model": model, "meter": meter, "capture": capture}
    caps = {"recent": whole("--recent", recent), "older": whole("--older", older)}
    ways = {"select": select, "query": query, **caps, "format": format, "repair": repair}
    asked = {name: value for name, value in ways.items() if value is not None}
    if request or file.lower().endswith(".json"):
        _fit_request(file, {**told, **asked}, out=out, receipt=receipt, json=json)
        return
    for name, value in asked.items():
        raise InvalidValue(f"--{name}", value, "left out where the file is no request (.json, or --request)")
    prompt = read_spec(file).fit(**told)
    _write(prompt.text, {"text": prompt.text}, prompt.receipt, out=out, receipt=receipt, json=json)


def _fit_request(file: str, asked: Mapping[str, Any], *, out: str | None, receipt: str | None, json: bool) -> None:
    given = read_request(file)
    fitted = given.fit(**asked)
    body = given.written(fitted.messages)
    shown = {"request": json_.loads(body)} if json else {}
    _write(body, shown, fitted.receipt, out=out, receipt=receipt, json=json)


def _write(
    text: str, values: Mapping[str, Any], made: Receipt, *, out: str | None, receipt: str | None, json: bool
) -> None:
    """Write what was fitted and its receipt where they belong, and tell what became of it."""
    contents = {}
    if out is not None:
        contents[out] = text
    if receipt is not None:
        contents[receipt] = made.to_json() + "\n"
    write_files(contents)
    if json:
        emit({**values, "receipt": made.to_dict()})
    elif out is None:
        emit_text(text)
    note = console(error=True)
    note.print(headline(made), style="bold", soft_wrap=True)
    if made.losses:
        show(note, losses_table(made))
