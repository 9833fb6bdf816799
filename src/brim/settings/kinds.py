"""What a setting may be: each kind tells a value that it takes from one that it refuses, and writes its JSON Schema.

Kinds are plain values. They check and never change what they were given, so that a value is seen as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from brim.amounts import fraction, units_or_share
from brim.errors import InvalidValue
from brim.receipts.section import KEEPS, Priority
from brim.sections.stages import WAYS, staged

MOST = 10**12
"""The largest whole number that is taken: no prompt has more units."""

_PERCENT = r"^\s*(100(\.0{1,9})?|[0-9]{1,2}(\.[0-9]{1,9})?)\s*%\s*$"
_PRIORITIES = tuple(name.lower() for name in Priority.__members__)


class Kind:
    """One kind of value."""

    __slots__ = ()

    reads_text = False
    """Whether a text from the environment is taken as it is, rather than as YAML."""

    @property
    def expected(self) -> str:
        """What is taken, as a phrase that follows "must be"."""
        raise NotImplementedError

    def takes(self, value: object) -> bool:
        """Return whether a value can be."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """Return the same as JSON Schema."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole(Kind):
    """A whole number."""

    least: int = 0
    most: int = MOST

    @property
    def expected(self) -> str:
        """What is taken."""
        upto = f" and at most {self.most:,}" if self.most < MOST else ""
        return f"a whole number of at least {self.least:,}{upto}"

    def takes(self, value: object) -> bool:
        """Return whether it is a whole number within the bounds."""
        return type(value) is int and self.least <= value <= self.most

    def schema(self) -> dict[str, Any]:
        """Return the bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, kw_only=True, slots=True)
class Number(Kind):
    """A number above 0."""

    most: int

    @property
    def expected(self) -> str:
        """What is taken."""
        return f"a number above 0 and at most {self.most:,}"

    def takes(self, value: object) -> bool:
        """Return whether it is a number within the bounds; NaN is within none."""
        return not isinstance(value, bool) and isinstance(value, int | float) and 0 < value <= self.most

    def schema(self) -> dict[str, Any]:
        """Return the bounds."""
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.most}


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag(Kind):
    """True or false."""

    @property
    def expected(self) -> str:
        """What is taken."""
        return "true or false"

    def takes(self, value: object) -> bool:
        """Return whether it is one of the two; 1 and 0 are not."""
        return isinstance(value, bool)

    def schema(self) -> dict[str, Any]:
        """Return the type."""
        return {"type": "boolean"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Text(Kind):
    """A text."""

    empty: bool = False
    """Whether it may have no characters."""
    reads_text = True

    @property
    def expected(self) -> str:
        """What is taken."""
        return "a text" if self.empty else "a text that is not empty"

    def takes(self, value: object) -> bool:
        """Return whether it is a text."""
        return isinstance(value, str) and (self.empty or bool(value))

    def schema(self) -> dict[str, Any]:
        """Return the type."""
        return {"type": "string"} if self.empty else {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of some names."""

    names: tuple[str, ...]
    reads_text = True

    @property
    def expected(self) -> str:
        """What is taken."""
        return f"one of {', '.join(self.names)}"

    def takes(self, value: object) -> bool:
        """Return whether it is one of the names."""
        return isinstance(value, str) and value in self.names

    def schema(self) -> dict[str, Any]:
        """Return the names."""
        return {"enum": list(self.names)}


@dataclass(frozen=True, slots=True)
class Ways(Kind):
    """One of some names, or two different ones joined by a plus sign."""

    names: tuple[str, ...]
    reads_text = True

    @property
    def expected(self) -> str:
        """What is taken."""
        return f"one of {', '.join(self.names)}, or two of them joined by a plus sign"

    def takes(self, value: object) -> bool:
        """Return whether it is one or two of the names."""
        if not isinstance(value, str):
            return False
        ways = [way.strip() for way in value.split("+")]
        return len(ways) <= 2 and len(set(ways)) == len(ways) and set(ways) <= set(self.names)

    def schema(self) -> dict[str, Any]:
        """Return the names and their pairs."""
        pairs = [f"{one}+{other}" for one in self.names for other in self.names if one != other]
        spaced = [pair.replace("+", " + ") for pair in pairs]
        return {"enum": [*self.names, *pairs, *spaced]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Share(Kind):
    """A share of a whole: 0.2 or "20%"."""

    zero: bool = False
    """Whether it may be nothing."""

    @property
    def expected(self) -> str:
        """What is taken."""
        return f'a share {"from 0 up" if self.zero else "above 0 and up"} to 1 (0.2 or "20%")'

    def takes(self, value: object) -> bool:
        """Return whether it is a share."""
        if self.zero and value in (0, "0%") and not isinstance(value, bool):
            return True
        try:
            return fraction("", value) > 0 or self.zero
        except InvalidValue:
            return False

    def schema(self) -> dict[str, Any]:
        """Return both ways to write it."""
        least = {"minimum": 0} if self.zero else {"exclusiveMinimum": 0}
        return {"anyOf": [{"type": "number", **least, "maximum": 1}, {"type": "string", "pattern": _PERCENT}]}


@dataclass(frozen=True, slots=True)
class LineKind(Kind):
    """One of some names, or a share of the budget."""

    names: tuple[str, ...]

    @property
    def expected(self) -> str:
        """What is taken."""
        return f"one of {', '.join(self.names)}, or {Share().expected}"

    def takes(self, value: object) -> bool:
        """Return whether it is one of the names, or a share."""
        return (isinstance(value, str) and value in self.names) or Share().takes(value)

    def schema(self) -> dict[str, Any]:
        """Return the names and both ways to write a share."""
        return {"anyOf": [{"enum": list(self.names)}, *Share().schema()["anyOf"]]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Amount(Kind):
    """Units, or a share of the budget: 400 or "20%"."""

    @property
    def expected(self) -> str:
        """What is taken."""
        return 'units (400) or a percentage from 0 to 100 ("20%")'

    def takes(self, value: object) -> bool:
        """Return whether it is units or a share."""
        if isinstance(value, int) and value > MOST:
            return False
        try:
            units_or_share("", value)
        except InvalidValue:
            return False
        return True

    def schema(self) -> dict[str, Any]:
        """Return both ways to write it."""
        whole = {"type": "integer", "minimum": 0, "maximum": MOST}
        return {"anyOf": [whole, {"type": "string", "pattern": _PERCENT}]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts(Kind):
    """A list of texts."""

    @property
    def expected(self) -> str:
        """What is taken."""
        return "a list of texts"

    def takes(self, value: object) -> bool:
        """Return whether it is a list of texts."""
        return isinstance(value, list | tuple) and all(isinstance(item, str) and item for item in value)

    def schema(self) -> dict[str, Any]:
        """Return the type of the list and of its items."""
        return {"type": "array", "items": {"type": "string", "minLength": 1}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rank(Kind):
    """The priority of a section: a name, or a whole number."""

    @property
    def expected(self) -> str:
        """What is taken."""
        return f"{', '.join(_PRIORITIES)} or a whole number"

    def takes(self, value: object) -> bool:
        """Return whether it is a priority."""
        if isinstance(value, str):
            return value.lower() in _PRIORITIES
        return type(value) is int and abs(value) <= MOST

    def schema(self) -> dict[str, Any]:
        """Return both ways to write it."""
        return {"anyOf": [{"enum": list(_PRIORITIES)}, {"type": "integer", "minimum": -MOST, "maximum": MOST}]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Keep(Kind):
    """What stays of a section that is cut."""

    reads_text = True

    @property
    def expected(self) -> str:
        """What is taken."""
        return f"one of {', '.join(KEEPS)}, or code: and a language"

    def takes(self, value: object) -> bool:
        """Return whether it names a way to cut."""
        return isinstance(value, str) and (value in KEEPS or (value.startswith("code:") and len(value) > 5))

    def schema(self) -> dict[str, Any]:
        """Return the names."""
        return {"anyOf": [{"enum": list(KEEPS)}, {"type": "string", "pattern": "^code:.+"}]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Stages(Kind):
    """A list of stages, each with its section and what is left of it."""

    @property
    def expected(self) -> str:
        """What is taken."""
        return f"a list of stages, each with its section and one of {', '.join(WAYS)}"

    def takes(self, value: object) -> bool:
        """Return whether it is a list of stages."""
        try:
            return isinstance(value, list | tuple) and bool(staged(value) or not value)
        except InvalidValue:
            return False

    def schema(self) -> dict[str, Any]:
        """Return the fields of a stage."""
        whole = {"type": "integer", "minimum": 0, "maximum": MOST}
        some = {**whole, "minimum": 1}
        ways = {"last": some, "first": some, "to": Amount().schema(), "down_to": Amount().schema()}
        own = {"section": {"type": "string", "minLength": 1}, **ways}
        own |= {"over_chars": whole, "over_entries": whole, "leave": some}
        item = {"type": "object", "properties": own, "required": ["section"], "additionalProperties": False}
        one = [{"required": [name]} for name in WAYS]
        return {"type": "array", "items": {**item, "oneOf": one}}


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One setting of the table."""

    key: str
    """Its place in the file, parts joined by dots; a star stands for any name."""
    kind: Kind
    default: Any
    doc: str
    null: bool = False
    """Whether it may be left open with `null`."""
    top: bool = False
    """Whether it stands at the top of the file alone, and in no profile, flow or step."""

    @property
    def expected(self) -> str:
        """What is taken, as a phrase that follows "must be"."""
        return self.kind.expected + (" or null" if self.null else "")

    def takes(self, value: object) -> bool:
        """Return whether a value can be."""
        return self.null if value is None else self.kind.takes(value)

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema with its sentence and its default."""
        own = self.kind.schema()
        if self.null:
            own = {"anyOf": [own, {"type": "null"}]}
        return {"description": self.doc, "default": self.default, **own}

    @property
    def variable(self) -> str:
        """The environment variable that sets it; a star stands for a name in capitals."""
        return "BRIM_" + self.key.upper().replace(".", "__")


def tree(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """Return settings by the parts of their keys: mappings in mappings, with the settings at the ends."""
    root: dict[str, Any] = {}
    for key, setting in settings.items():
        *path, last = key.split(".")
        at = root
        for part in path:
            at = at.setdefault(part, {})
        at[last] = setting
    return root
