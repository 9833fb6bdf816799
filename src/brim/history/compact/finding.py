"""A fact that goes from one context to the next, and how long ago it was last said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from brim.errors import InvalidType, InvalidValue
from brim.history.compact.facts import KINDS, Fact

_MUST_DECAY = 2
_DECAY = 8
"""What a fact weighs less for each context in which nobody said it again: little, where people said it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CarriedFact:
    """A fact that is carried on."""

    kind: str
    """One of the kinds of facts."""
    text: str
    weight: int
    """What it weighed when it was last said."""
    must: bool
    """Whether it is served before all that is not so: people said it, or the model in its own words."""
    handle: str = ""
    """The message in which it was said."""
    age: int = 0
    """Contexts since it was last said."""

    @property
    def worth(self) -> int:
        """What it weighs now."""
        return self.weight - self.age * (_MUST_DECAY if self.must else _DECAY)

    @classmethod
    def of(cls, fact: Fact) -> CarriedFact:
        """Return what is carried on of a fact."""
        return cls(kind=fact.kind, text=fact.text, weight=fact.weight, must=fact.must, handle=fact.handle)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], place: str = "finding") -> CarriedFact:
        """Return what `to_dict` wrote.

        Raises:
            InvalidValue: it is not what `to_dict` writes.
        """
        kinds = {"kind": str, "text": str, "weight": int, "must": bool, "handle": str, "age": int}
        names = [each.name for each in fields(cls)]
        if not isinstance(values, Mapping) or sorted(values) != sorted(names):
            raise InvalidType(place, values, f"a mapping with {', '.join(names)}")
        for name, kind in kinds.items():
            if type(values[name]) is not kind:
                raise InvalidType(f"{place}.{name}", values[name], f"a {kind.__name__}")
        if values["kind"] not in KINDS:
            raise InvalidValue(f"{place}.kind", values["kind"], f"one of {', '.join(KINDS)}")
        return cls(**values)


def carried(old: Iterable[CarriedFact], new: Sequence[CarriedFact], most: int) -> tuple[CarriedFact, ...]:
    """Return the new findings and the old ones, a context older unless they were said again, the worthiest first."""
    said = {(finding.kind, finding.text): finding for finding in new}
    known = {}
    for finding in old:
        key = finding.kind, finding.text
        again = said.pop(key, None)
        if again is None:
            known[key] = replace(finding, age=finding.age + 1)
        else:
            weight, must = max(finding.weight, again.weight), finding.must or again.must
            known[key] = replace(again, weight=weight, must=must)
    merged = [*said.values(), *known.values()]
    return tuple(sorted(merged, key=lambda finding: (not finding.must, -finding.worth))[:most])
