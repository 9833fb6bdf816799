"""`brim fit`: a prompt described in YAML, or the messages of a request, fitted."""

from __future__ import annotations

import os
import re
import sys
from json import loads
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from brim.cli import options
from brim.cli.output import console, emit, emit_text, show, whole, write_files
from brim.cli.summary import losses_table
from brim.errors import BrimError
from brim.files.json_body import MOST_BYTES, body_of
from brim.files.source import STDIN, STDIN_SHOWN, text_of
from brim.receipts.receipt import Receipt
from brim.requests.request_body import RequestBody, request_of
from brim.settings import load_config
from brim.settings.spec import read_spec
from brim.wire.base import MESSAGE_KEYS

if TYPE_CHECKING:
    from brim.settings.resolved import Resolved

_JSON = re.compile(r"\s*(?:\[\s*)?\{\s*\"")
"""The start of a JSON object or a list of objects."""
_File = Annotated[
    str,
    typer.Argument(metavar="SPEC.yaml", help="The sections of a prompt, or a REQUEST.json; - is standard input."),
]
_Out = Annotated[str | None, Option("--out", "-o", metavar="FILE", help="Write the prompt or the body to a file.")]
_Receipt = Annotated[str | None, Option("--receipt", "-r", metavar="FILE", help="Write the receipt there, as JSON.")]
_Capture = Annotated[bool, Option("--capture", help="Include the content in the receipt, for brim replay.")]
_Select = Annotated[
    str | None,
    Option(
        "--select", metavar="WAY", help="For a request: select turns by recency, priority or relevance; + joins two."
    ),
]
_Query = Annotated[
    str | None, Option("--query", metavar="TEXT", help="For a request: the query for --select relevance.")
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
    select: _Select = None,
    query: _Query = None,
    profile: options.Profile = None,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Fit a prompt described in YAML, or the messages of a request.

    The prompt is printed on standard output, and a summary on standard error. Options override the file. If the
    required sections do not fit, nothing is printed and the exit code is 1.

    A request is JSON, from a file or a pipe: a list of messages, or a body with messages (OpenAI or Anthropic) or input
    (Responses). The body is printed with the fitted messages and is otherwise unchanged. Messages, tools, functions,
    system and instructions are counted. Without --budget, the budget is the window of --model or of the body's model,
    less its max_tokens, max_completion_tokens or max_output_tokens.

    With --profile or --config, the settings of the project apply. The file and options override them.

    Example: brim fit prompt.yaml --budget 8000 -r receipt.json > prompt.txt

    Example of a request: brim fit request.json --model gpt-5 > fitted.json
    """
    if out is not None and receipt is not None and os.path.realpath(out) == os.path.realpath(receipt):
        raise BrimError("--out and --receipt must be different files")
    if capture and receipt is None and not json:
        raise BrimError("--capture needs --receipt or --json")
    common: dict[str, Any] = {"budget": whole("--budget", budget), "model": model, "meter": meter, "capture": capture}
    only_request = {name: value for name, value in (("select", select), ("query", query)) if value is not None}
    settings = None if profile is None and config is None else load_config(config).resolve(profile)
    text, made, is_body = _fitted(file, settings, common, only_request)
    contents = {} if out is None else {out: text}
    if receipt is not None:
        contents[receipt] = made.to_json() + "\n"
    write_files(contents, contents if made.captured else ())
    if json:
        emit({**({"request": loads(text)} if is_body else {"text": text}), "receipt": made.to_dict()})
    elif out is None:
        emit_text(text + "\n" * sys.stdout.isatty())  # The summary starts on its own line in a terminal.
    note = console(error=True)
    note.print(made.headline, style="bold")
    if made.losses:
        show(note, losses_table(made))


def _fitted(
    file: str,
    settings: Resolved | None,
    common: dict[str, Any],
    only_request: dict[str, Any],
) -> tuple[str, Receipt, bool]:
    """Return the fitted prompt or body of a file, the receipt, and whether it is a body."""
    shown = STDIN_SHOWN if file == STDIN else file
    text = None if file.lower().endswith((".yaml", ".yml")) else text_of(file, MOST_BYTES).removeprefix("\ufeff")
    named = file.lower().endswith(".json")
    if text is not None and (named or _JSON.match(text)):
        body = body_of(text, shown, MESSAGE_KEYS)
        if named or "sections" not in body.values:
            return *_fit_request(request_of(body), settings, common | only_request), True
    spec = read_spec(shown, text)
    for name in only_request:
        raise BrimError(f"--{name} is for requests, and {shown} is not one")
    prompt = spec.fit(settings, **common)
    return prompt.text, prompt.receipt, False


def _fit_request(body: RequestBody, settings: Resolved | None, options: dict[str, Any]) -> tuple[str, Receipt]:
    """Return the body of a request with its fitted messages, and the receipt."""
    if settings is None:
        fitted = body.fit(**options)
    else:
        given = {name: value for name, value in options.items() if value is not None}
        unknown = given.keys().isdisjoint({"budget", "model", "meter"}) and settings.window() is None
        if unknown and body.model is not None:
            given["model"] = body.model
        apart = {"tools": body.tools, "system": body.system, "fields": body.fields, "format": body.format}
        fitted = settings.fit_messages(body.messages, **{**apart, **given})
    return body.written(fitted.messages), fitted.receipt
