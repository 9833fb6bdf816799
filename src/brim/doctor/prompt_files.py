"""The check of prompt files against budgets, for `brim check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from brim.errors import DoesNotFit, SourceError
from brim.files.json_body import body_of
from brim.files.source import STDIN, STDIN_SHOWN
from brim.files.text_files import expand, texts
from brim.history.request_body import RequestBody, request_of
from brim.meter import meter_for
from brim.meter.window import budget_of
from brim.settings.spec import is_spec, read_spec
from brim.wire.base import MESSAGE_KEYS


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The result of checking one file."""

    path: str
    count: int
    """Tokens of the file; of a request, with its framing and tools; of a file of sections, those of the fitted prompt,
    or of its required sections if it does not fit."""
    budget: int
    unit: str
    meter: str
    exact: bool
    kind: Literal["text", "request", "sections"] = "text"
    """What the file is: a text, the body of a request, or sections."""
    losses: int | None = None
    """Sections that were truncated or dropped to fit; `None` for a plain prompt."""

    @property
    def left(self) -> int:
        """Tokens that are free; negative if it is over."""
        return self.budget - self.count

    @property
    def ok(self) -> bool:
        """Whether it is within its budget."""
        return self.left >= 0


def check_files(
    files: Sequence[str], *, budget: int | None = None, model: str | None = None, meter: str | None = None
) -> tuple[list[Verdict], list[str]]:
    """Return the verdict on each file, and the matched files that are not text.

    Args:
        files: names, patterns or directories.
        budget: without it, the window of the model, or the budget in a file of sections.
        model: the model whose tokens are counted.
        meter: a meter instead of the model's.

    Raises:
        SourceError: a file cannot be read, a plain prompt has no budget, or there is no file.
        InvalidValue: a budget is invalid.
        UnknownName: no model or meter has that name.
    """
    read = list(texts(expand(files)))
    verdicts = [_verdict(each.path, each.text, budget, model, meter) for each in read if each.text is not None]
    if not verdicts:
        raise SourceError(", ".join(files), "there is no prompt file to check")
    return verdicts, [each.path for each in read if each.text is None]


def _verdict(path: str, text: str, budget: int | None, model: str | None, meter: str | None) -> Verdict:
    if is_spec(path, text):
        return _of_spec(path, budget, model, meter)
    request = _request(path, text)
    if request is not None:
        limit = budget if budget is not None else request.budget(model or request.model)
        found = request.tally(meter or model)
        scale = _scale(found.unit, found.meter, exact=found.exact)
        return Verdict(path=path, kind="request", count=found.upper, budget=budget_of(limit), **scale)
    if budget is None and model is None:
        raise SourceError(path, "there is no budget: set one, or name a model for its window")
    used = meter_for(meter, model)
    scale = _scale(used.unit, used.name, exact=used.exact)
    return Verdict(path=path, count=used.count(text), budget=budget_of(budget, model), **scale)


def _request(path: str, text: str) -> RequestBody | None:
    """Return the request in a JSON file, or on standard input; `None` if it is a text.

    Raises:
        SourceError: a file named .json is not JSON, or a request is invalid.
    """
    typed = path == STDIN and text.lstrip()[:1] in ("{", "[") and any(f'"{key}"' in text for key in MESSAGE_KEYS)
    if not typed and not path.lower().endswith(".json"):
        return None
    body = body_of(text.removeprefix("\ufeff"), STDIN_SHOWN if path == STDIN else path, MESSAGE_KEYS)
    listed = bool(body.items) and all(isinstance(item, dict) and "role" in item for item in body.items or ())
    return request_of(body) if any(key in body.values for key in MESSAGE_KEYS) or listed else None


def _of_spec(path: str, budget: int | None, model: str | None, meter: str | None) -> Verdict:
    spec = read_spec(path)
    own = {} if model or meter else spec.arguments
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
