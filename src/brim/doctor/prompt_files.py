"""The check of prompt files against budgets, for `brim check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from brim.errors import BrimError, DoesNotFit, SourceError, UnknownName
from brim.files.json_body import body_of
from brim.files.source import STDIN, STDIN_SHOWN
from brim.files.text_files import expand, texts
from brim.meter import meter_for
from brim.meter.window import budget_of
from brim.requests.request_body import RequestBody, misspelt, request_of
from brim.settings.spec import is_spec, read_spec
from brim.wire.base import MESSAGE_KEYS

_MODEL_KEYS = ("model", "modelId")
"""Keys by which a JSON object is meant as a request, even without messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The result of checking one file."""

    path: str
    count: int | None = None
    """Tokens of the file; of a request, with its framing and tools; of a file of sections, those of the fitted prompt,
    or of its required sections if it does not fit. `None` if the file could not be read or counted."""
    budget: int | None = None
    unit: str = ""
    meter: str = ""
    exact: bool = False
    kind: Literal["text", "request", "sections"] = "text"
    """What the file is: a text, the body of a request, or sections."""
    losses: int | None = None
    """Sections that were truncated or dropped to fit; `None` for a plain prompt."""
    problem: str = ""
    """Why the file could not be read or counted, with the file and the line."""

    @property
    def left(self) -> int | None:
        """Tokens that are free; negative if it is over."""
        return None if self.count is None or self.budget is None else self.budget - self.count

    @property
    def ok(self) -> bool:
        """Whether it was counted, and is within its budget."""
        return self.left is not None and self.left >= 0


def check_files(
    files: Sequence[str], *, budget: int | None = None, model: str | None = None, meter: str | None = None
) -> tuple[list[Verdict], list[str]]:
    """Return the verdict on each file, and the matched files that are not text.

    Args:
        files: names, patterns or directories.
        budget: a file of sections with a smaller one keeps that. Without it, the window of the model, or the budget in
            a file of sections.
        model: the model whose tokens are counted.
        meter: a meter instead of the model's.

    Raises:
        SourceError: there is no file to check.
        UnknownName: no model or meter has that name.
    """
    if model is not None or meter is not None:
        meter_for(meter, model)
    verdicts, skipped = list[Verdict](), list[str]()
    for file in expand(files):
        try:
            (read,) = texts([file])
            if read.text is None:
                skipped.append(file.path)
            else:
                verdicts.append(_verdict(read.path, read.text, budget, model, meter))
        except BrimError as error:
            problem = str(error) if isinstance(error, SourceError) else f"{file.path}: {error}"
            verdicts.append(Verdict(path=file.path, problem=problem))
    if not verdicts:
        raise SourceError(", ".join(files), "there is no prompt file to check")
    return verdicts, skipped


def _verdict(path: str, text: str, budget: int | None, model: str | None, meter: str | None) -> Verdict:
    if is_spec(path, text):
        return _of_spec(path, budget, model, meter)
    request = _request(path, text)
    if request is not None:
        limit = budget if budget is not None else _window(request, model)
        found = request.tally(meter or model)
        scale = _scale(found.unit, found.meter, exact=found.exact)
        return Verdict(path=path, kind="request", count=found.upper, budget=budget_of(limit), **scale)
    if budget is None and model is None:
        raise SourceError(path, "there is no budget: set one, or name a model for its window")
    used = meter_for(meter, model)
    scale = _scale(used.unit, used.name, exact=used.exact)
    return Verdict(path=path, count=used.count(text), budget=budget_of(budget, model), **scale)


def _window(request: RequestBody, model: str | None) -> int:
    """Return the window of a model, by default that of the request, less its answer."""
    try:
        return request.budget(model or request.model)
    except UnknownName as error:
        if model is not None:
            raise
        raise request.body.error(str(error), "model") from error


def _request(path: str, text: str) -> RequestBody | None:
    """Return the request in a JSON file, or on standard input; `None` if it is a text.

    Raises:
        SourceError: a file named .json is not JSON, or a request is invalid or has a misspelt key.
    """
    named = path.lower().endswith(".json")
    typed = path == STDIN and text.lstrip()[:1] in ("{", "[") and any(f'"{key}"' in text for key in MESSAGE_KEYS)
    if not named and (path != STDIN or text.lstrip()[:1] not in ("{", "[")):
        return None
    try:
        body = body_of(text.removeprefix("\ufeff"), STDIN_SHOWN if path == STDIN else path, MESSAGE_KEYS)
    except SourceError:
        if typed or named:
            raise
        return None
    listed = bool(body.items) and all(isinstance(item, dict) and "role" in item for item in body.items or ())
    meant = any(key in body.values for key in (*MESSAGE_KEYS, *_MODEL_KEYS)) or misspelt(body.values) is not None
    return request_of(body) if meant or listed else None


def _of_spec(path: str, budget: int | None, model: str | None, meter: str | None) -> Verdict:
    spec = read_spec(path)
    own = {} if model or meter else spec.own
    if budget is not None and (stated := spec.own.get("budget")) is not None:
        budget = min(budget, budget_of(stated))
    try:
        found = spec.fit(budget=budget, model=model, meter=meter).receipt
    except DoesNotFit as error:
        used = meter_for(meter or own.get("meter"), model or own.get("model"))
        scale = _scale(used.unit, used.name, exact=used.exact)
        return Verdict(path=path, kind="sections", count=error.needed, budget=error.available, **scale)
    scale = _scale(found.unit, found.meter, exact=found.exact)
    losses = len(found.losses)
    return Verdict(path=path, kind="sections", count=found.used, budget=found.budget, losses=losses, **scale)


def _scale(unit: str, meter: str, *, exact: bool) -> dict[str, Any]:
    return {"unit": unit, "meter": meter, "exact": exact}
