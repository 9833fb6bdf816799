"""A fit as a test case: files that `brim check`, `brim fit` and `brim replay` run, and the commands that do it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import Any

from brim.receipts.receipt import Capture, Receipt
from brim.receipts.section import Section
from brim.receipts.transcript import Transcript
from brim.studio.desk import Desk
from brim.studio.lab import asked_for
from brim.wire import plain

_DEFAULTS = {slot.name: slot.default for slot in fields(Section) if slot.default is not MISSING}
_USUAL: dict[str, Any] = {"separator": "\n\n", "order": "given", "fill": "order", "policy": "truncate_then_continue"}
_USUAL |= {"template": None, "show_budget": False, "direction": "lower"}
_BODIES = {"openai": ("messages", None), "anthropic": ("messages", "system"), "responses": ("input", "instructions")}
"""Where each shape has its messages and its system prompt."""


def case(desk: Desk, source: str, budget: object, choices: object) -> dict[str, Any]:
    """Return the files of a test case, each with its text and with what runs it.

    Raises:
        DoesNotFit: there is no such fit.
        UnknownName: no such source.
        InvalidValue: a budget or a choice that cannot be.
    """
    found, units, asked = asked_for(desk, source, budget, choices)
    receipt = found.fit(units, asked)
    name = re.sub(r"[^a-z0-9]+", "-", found.title.lower())[:40].strip("-") or "case"
    made = [_receipt(f"{name}-{units}.receipt.json", receipt)]
    if isinstance(receipt.capture, Transcript):
        made.insert(0, _request(f"{name}-{units}.json", receipt.capture, asked))
    elif receipt.capture is not None:
        made.insert(0, _spec(f"{name}-{units}.yaml", receipt.capture))
    return {"used": receipt.used, "budget": receipt.budget, "files": made}


def _receipt(name: str, receipt: Receipt) -> dict[str, Any]:
    values = replace(receipt, captured=True).to_dict()
    told = "The receipt with its texts. It is fitted again, and what differs from what was saved is marked."
    return {
        "name": name,
        "text": json.dumps(values, indent=2) + "\n",
        "run": [f"brim replay {name} --budget {receipt.budget}"],
        "told": told,
    }


def _spec(name: str, given: Capture) -> dict[str, Any]:
    """Return a prompt as the YAML that describes it."""
    told = {"model": given.model, "meter": given.meter if given.model is None else None, "budget": given.budget}
    values: dict[str, Any] = {key: value for key, value in told.items() if value is not None}
    values |= {key: value for key, value in given.options.items() if value != _USUAL.get(key, object())}
    values["sections"] = [_section(section) for section in given.sections]
    return {
        "name": name,
        "text": _yaml(values),
        "run": [f"brim check {name}", f"brim fit {name}"],
        "told": "The sections and the budget. The check ends with 1 if what is essential does not fit any more.",
    }


def _section(section: Section) -> dict[str, Any]:
    content = section.content
    row: dict[str, Any] = {"name": section.name}
    row |= {"text": content} if isinstance(content, str) else {"entries": list(content)}
    own = {name: getattr(section, name) for name in _DEFAULTS}
    return row | {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in own.items()
        if value != _DEFAULTS[name]
    }


def _request(name: str, given: Transcript, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a conversation as the body of a request."""
    holds, apart = _BODIES[str(given.options["format"])]
    messages: list[Any] = list(given.messages)
    body: dict[str, Any] = {} if given.model is None else {"model": given.model}
    if given.system and apart is not None:
        body[apart] = given.system
    elif given.system:
        messages = [{"role": "system", "content": given.system}, *messages]
    body[holds] = messages
    if given.tools:
        body["tools"] = list(given.tools)
    measured = f"--model {given.model}" if given.model else f"--meter {given.meter}" if given.meter else ""
    more = "".join(f" --{option} {value}" for option, value in asked.items())
    told = "The request. It ends with 1 if what is essential does not fit."
    if given.options.get("pin"):
        told += " A summary that the session holds on to may be cut here: the receipt keeps to it."
    return {
        "name": name,
        "text": json.dumps(body, indent=2, default=plain) + "\n",
        "run": [f"brim fit {name} --budget {given.budget} {measured}{more}".strip()],
        "told": told,
    }


class _Text(str):
    """A text that is written with quotes or as a block, so that nothing else can be read in its place."""

    __slots__ = ()


def _quoted(value: Any) -> Any:
    if isinstance(value, str):
        return _Text(value)
    if isinstance(value, Mapping):
        return {key: _quoted(each) for key, each in value.items()}
    return [_quoted(each) for each in value] if isinstance(value, list | tuple) else value


def _yaml(values: Mapping[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def write(dumper: yaml.SafeDumper, text: _Text) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|" if "\n" in text else '"')

    Dumper.add_representer(_Text, write)
    return yaml.dump(_quoted(values), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
