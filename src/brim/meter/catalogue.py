"""The catalogue of models: window, vocabulary, prices and cache rules by name.

The shipped table has a source and a date for each model; a project or a user corrects it, or adds a model, in a small
YAML file (see `declaration`). A name finds its row by the rules of `names`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from brim.errors import InvalidType, SourceError, UnknownName, nearest, shown
from brim.meter.declaration import PROJECT_FILE, Declaration, Overrides, declared
from brim.meter.model import Cache, Framing, Model, Prices
from brim.meter.names import fold, spellings

ADVICE = f"Declare it in {PROJECT_FILE}: models: {{name: {{window: 32768}}}}, with its vocabulary if it is known"
_LONGEST_CHAIN = 16
"""Models that a chain of `like` may pass through."""


def find(name: str, overrides: Overrides | None = None) -> Model:
    """Return the model of that name, from the shipped table and the declarations.

    `overrides` are declarations; `None` reads those of the project and the user, `{}` leaves the shipped table alone.

    Raises:
        UnknownName: there is no such model.
        SourceError: a file of declarations is invalid.
        InvalidType: the name is not a string.
    """
    if not isinstance(name, str):
        raise InvalidType("model", name, "a str")
    own = declared() if overrides is None else overrides
    found = next(_found(spellings(name), own), None)
    if found is None:
        raise UnknownName("model", name, known_names(own), ADVICE)
    return found


def lookup(name: str | None) -> Model | None:
    """Return the model of that name, or `None` if there is no name or no such model.

    Raises:
        SourceError: a file of declarations is invalid.
    """
    try:
        return None if name is None else find(name)
    except UnknownName:
        return None


def models(overrides: Overrides | None = None) -> list[Model]:
    """Return every model once, sorted by its id.

    Raises:
        SourceError: a file of declarations is invalid.
    """
    own = declared() if overrides is None else overrides
    names = [row.id for row in _shipped().values()] + [declaration.name for declaration in own.values()]
    found = {model.id: model for model in (find(name, own) for name in dict.fromkeys(names))}
    return [found[name] for name in sorted(found)]


def known_names(overrides: Overrides | None = None) -> list[str]:
    """Return every id, alias and declared name, sorted.

    Raises:
        SourceError: a file of declarations is invalid.
    """
    own = declared() if overrides is None else overrides
    shipped = {name for row in _shipped().values() for name in (row.id, *row.aliases)}
    return sorted(shipped | {declaration.name for declaration in own.values()})


@cache
def _shipped() -> dict[str, Model]:
    """Return the rows of the table by each of their folded names."""
    import json
    from importlib.resources import files

    table = json.loads(files("brim.meter").joinpath("models.json").read_text("utf-8"))
    rows = [_row(raw, table["date"]) for raw in table["models"]]
    return {fold(name): row for row in rows for name in (row.id, *row.aliases)}


def _row(raw: dict[str, Any], date: str) -> Model:
    if "framing" in raw:
        raw["framing"] = Framing(**raw["framing"])
    if "cache" in raw:
        raw["cache"] = Cache(**{**raw["cache"], "ttl": tuple(raw["cache"].get("ttl", ()))})
    if "prices" in raw:
        tiers = tuple((above, Prices(**prices)) for above, prices in raw["prices"].get("tiers", ()))
        raw["prices"] = Prices(**{**raw["prices"], "tiers": tiers})
    return Model(**{**raw, "aliases": tuple(raw.get("aliases", ()))}, date=date)


def _found(names: Iterator[str], own: Overrides, seen: tuple[str, ...] = ()) -> Iterator[Model]:
    """Yield the models of the names, in their order."""
    for name in names:
        key = fold(name)
        row = _shipped().get(key)
        keys = (key, *map(fold, (row.id, *row.aliases))) if row else (key,)
        declaration = next((own[each] for each in keys if each in own), None) if own else None
        if declaration:
            yield _built(declaration, row, own, seen)
        elif row:
            yield row


def _built(declaration: Declaration, row: Model | None, own: Overrides, seen: tuple[str, ...]) -> Model:
    """Return a declared model, based on its shipped row or on the model that it is like."""
    key = fold(declaration.name)
    like = declaration.fields.get("like")
    if key in seen or len(seen) > _LONGEST_CHAIN:
        raise _refusal(declaration, "like", "`like` must not lead in a circle, nor through more than 16 models")
    if like is not None:
        base = next(_found(spellings(like), own, (*seen, key)), None)
        if base is None:
            near = ", ".join(nearest(like, known_names(own))) or "none"
            raise _refusal(declaration, "like", f"no model is called {shown(like)}; the nearest known: {near}")
    else:
        shorter = (name for name in spellings(declaration.name) if fold(name) != key)
        base = row or next(_found(shorter, own, (*seen, key)), None)
    name, aliases = (row.id, row.aliases) if row else (declaration.name, ())
    return _merged(declaration, base or Model(id=name), name, aliases)


def _merged(declaration: Declaration, base: Model, name: str, aliases: tuple[str, ...]) -> Model:
    given = dict(declaration.fields)
    given.pop("like", None)
    guessed = given.pop("guess", base.guessed and "window" not in given)
    for key, kind in (("framing", Framing), ("cache", Cache), ("prices", Prices)):
        if given.get(key) is None:
            continue
        old = getattr(base, key)
        if key == "framing" and old is None and len(given[key]) < 3:
            raise _refusal(declaration, key, "framing must have all of per_message, per_name and reply")
        # The prices of long prompts are unknown if the ordinary price was changed.
        values = {**given[key], "tiers": ()} if key == "prices" else given[key]
        given[key] = replace(old, **values) if old else kind(**values)
    window = given.get("window", base.window)
    for key in ("max_input", "max_output"):
        size = given.get(key, getattr(base, key))
        if window is not None and size is not None and size > window:
            if key in given:
                raise _refusal(declaration, key, f"{key} must be at most the window of {window:,}, not {size:,}")
            given[key] = None
            if key == "max_input" and base.shared is False:
                given.setdefault("shared", None)
    paths = "; ".join(dict.fromkeys(path for path, _ in declaration.places.values()))
    source = f"{paths}, over {base.source}" if base.source else paths
    return replace(base, **given, id=name, aliases=aliases, guessed=guessed, source=source, date=None)


def _refusal(declaration: Declaration, key: str, problem: str) -> SourceError:
    path, line = declaration.places.get(key) or next(iter(declaration.places.values()))
    return SourceError(path, f"models.{declaration.name}: {problem}", line=line)
