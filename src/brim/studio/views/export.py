"""A fit of the budget lab as files that `brim check`, `brim fit` and `brim replay` run, with the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from inspect import signature
from typing import Any

import yaml

from brim.files.json_strings import map_strings
from brim.receipts.capture import Capture
from brim.receipts.receipt import Receipt
from brim.receipts.section import Section
from brim.sections.fit import fit
from brim.studio.views.lab import checked
from brim.studio.workspace import Workspace
from brim.wire import plain, wire

_DEFAULTS = {slot.name: slot.default for slot in fields(Section) if slot.default is not MISSING}
_OPTIONS = {option.name: option.default for option in signature(fit).parameters.values()}
"""The defaults of a fit, which are left out of the file."""


def export(workspace: Workspace, source: str, budget: object) -> dict[str, Any]:
    """Return the files of a fit, each with its text and the commands that run it.

    Raises:
        DoesNotFit: the required parts are larger than the budget.
        UnknownName: there is no such source.
        InvalidValue: the budget is invalid.
    """
    opened, units = checked(workspace, source, budget)
    receipt = opened.fit(units)
    name = (re.sub(r"[^a-z0-9]+", "-", opened.title.lower())[:40].strip("-") or "case") + f"-{units}"
    made = [_receipt(f"{name}.receipt.json", receipt)]
    if receipt.capture is not None and receipt.capture.kind == "messages":
        made.insert(0, _request(f"{name}.json", receipt.capture))
    elif receipt.capture is not None and receipt.capture.kind == "sections":
        made.insert(0, _spec(f"{name}.yaml", receipt.capture))
    return {"used": receipt.used, "budget": receipt.budget, "files": made}


def _file(name: str, text: str, commands: list[str], about: str) -> dict[str, Any]:
    return {"name": name, "text": text, "run": commands, "about": about}


def _receipt(name: str, receipt: Receipt) -> dict[str, Any]:
    text = json.dumps(replace(receipt, captured=True).to_dict(), indent=2) + "\n"
    about = "The receipt with its texts. It is fitted again, and every difference from the recorded fit is marked."
    return _file(name, text, [f"brim replay {name} --budget {receipt.budget}"], about)


def _spec(name: str, capture: Capture) -> dict[str, Any]:
    """Return a prompt as YAML."""
    meter = capture.meter if capture.model is None else None
    head = {"model": capture.model, "meter": meter, "budget": capture.budget}
    values: dict[str, Any] = {key: value for key, value in head.items() if value is not None}
    values |= {key: value for key, value in capture.options.items() if value != _OPTIONS.get(key, object())}
    values["sections"] = [_section(section) for section in capture.sections]
    about = "The sections and the budget. The exit code is 1 if the required sections no longer fit."
    return _file(name, _yaml(values), [f"brim check {name}", f"brim fit {name}"], about)


def _section(section: Section) -> dict[str, Any]:
    content = section.content
    values = {name: getattr(section, name) for name in _DEFAULTS}
    changed = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
    return {
        "name": section.name,
        "content": content if isinstance(content, str) else list(content),
        **{name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()},
    }


def _request(name: str, given: Capture) -> dict[str, Any]:
    """Return a history as the body of a request."""
    keys = wire(str(given.options["format"]))
    messages: list[Any] = list(given.messages or ())
    body: dict[str, Any] = {} if given.model is None else {"model": given.model}
    if given.system and keys.system_key:
        body[keys.system_key] = given.system
    elif given.system:
        messages = [{"role": "system", "content": given.system}, *messages]
    body[keys.list_key] = messages
    if given.tools:
        body["tools"] = list(given.tools)
    meter = f" --model {given.model}" if given.model else f" --meter {given.meter}" if given.meter else ""
    about = "The request. The exit code is 1 if the required messages do not fit."
    if given.options.get("pin"):
        about += " A summary that the session pins may be shortened here; the receipt keeps it."
    text = json.dumps(body, indent=2, default=plain) + "\n"
    return _file(name, text, [f"brim fit {name} --budget {given.budget}{meter}"], about)


class _Text(str):
    """A text that is written in quotes or as a block, so that YAML reads it back as it is."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(
    _Text, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, "|" if "\n" in text else '"')
)


def _yaml(values: Mapping[str, Any]) -> str:
    quoted = map_strings(values, _Text)
    return yaml.dump(quoted, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
