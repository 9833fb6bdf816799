"""The facts that go from one context to the next, and how they fade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.history.compact.facts import KINDS, FactLine

TOLD, FOUND = "told", "found"
"""The kinds of statements: of the user, and of the model."""
_MUST_DECAY, _DECAY = 2, 8
"""How much a fact loses for each context in which it is not mentioned again; less if people stated it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CarriedFact(FactLine):
    """A fact that goes from one context to the next."""

    weight: int
    """Its weight when it was last mentioned."""
    must: bool
    """Whether it comes before all others: a person, or the model in its own words, stated it."""
    handle: str = ""
    """The message that states it."""
    age: int = 0
    """Contexts since it was last mentioned."""

    @property
    def worth(self) -> int:
        """Its weight now."""
        return self.weight - self.age * (_MUST_DECAY if self.must else _DECAY)

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "finding") -> CarriedFact:
        """Return the value that `to_dict` wrote.

        Raises:
            InvalidValue: the values are not those of `to_dict`.
        """
        check_names(cls, place, values)
        kinds = {"kind": str, "text": str, "weight": int, "must": bool, "handle": str, "age": int}
        for name, kind in kinds.items():
            if type(values[name]) is not kind:
                raise InvalidType(f"{place}.{name}", values[name], f"a {kind.__name__}")
        kinds_known = (*KINDS, TOLD, FOUND)
        if values["kind"] not in kinds_known:
            raise InvalidValue(f"{place}.kind", values["kind"], f"one of {', '.join(kinds_known)}")
        return cls(**values)


def carried(old: Iterable[CarriedFact], new: Sequence[CarriedFact], most: int) -> tuple[CarriedFact, ...]:
    """Return new and old facts, the most important first; an old one ages unless it is mentioned again."""
    fresh = {(finding.kind, finding.text): finding for finding in new}
    known = {}
    for finding in old:
        key = finding.kind, finding.text
        again = fresh.pop(key, None)
        if again is None:
            known[key] = replace(finding, age=finding.age + 1)
        else:
            weight, must = max(finding.weight, again.weight), finding.must or again.must
            known[key] = replace(again, weight=weight, must=must)
    merged = [*fresh.values(), *known.values()]
    return tuple(sorted(merged, key=lambda finding: (not finding.must, -finding.worth))[:most])


def check_names(kind: type[Any], place: str, values: Any, optional: Sequence[str] = ()) -> None:
    """Pass if the values are a mapping with exactly the fields of a dataclass; some may be missing."""
    names = [each.name for each in fields(kind)]
    known = {*values, *optional} if isinstance(values, Mapping) else set()
    if known != set(names):
        raise InvalidType(place, values, f"a mapping with {', '.join(names)}")
