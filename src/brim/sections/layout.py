"""Where sections stand on the page: in a row with separators, or in the places of a template.

Budget priority and order on the page are two things. A layout turns the kept texts into the pieces of the prompt;
the prompt is their concatenation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brim.errors import InvalidValue

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}")


@dataclass(frozen=True, slots=True)
class PageRow:
    """Sections one after the other, with a separator between those that are present."""

    names: tuple[str, ...]
    """The sections, in the order of the page."""
    separator: str
    fixed: str = ""
    """Text that is in the prompt whatever the sections are."""

    def pieces(self, texts: Mapping[str, str]) -> list[str]:
        """Return the texts that are present, by section name, in order and with separators between."""
        pieces: list[str] = []
        for name in self.names:
            if name in texts:
                pieces += (self.separator, texts[name]) if pieces else (texts[name],)
        return pieces


@dataclass(frozen=True, slots=True)
class Template:
    """A text with a place for each section, written `{name}`; `{{` and `}}` are braces."""

    literals: tuple[str, ...]
    """The template's own text before, between and after the places."""
    names: tuple[str, ...]
    separator: str = ""

    @property
    def fixed(self) -> str:
        """The template's own text."""
        return "".join(self.literals)

    def pieces(self, texts: Mapping[str, str]) -> list[str]:
        """Return the literals with the texts in their places; the place of an absent section is empty."""
        pieces = [self.literals[0]]
        for name, literal in zip(self.names, self.literals[1:], strict=True):
            pieces += (texts.get(name, ""), literal)
        return pieces


Layout = PageRow | Template


def layout(names: Sequence[str], *, separator: str, template: str | None) -> Layout:
    """Return the layout of the named sections, in that order or in the places of a template.

    Raises:
        InvalidValue: the template names an unknown section, names one twice, or leaves one out.
    """
    return PageRow(tuple(names), separator) if template is None else _parsed(template, names)


def _parsed(template: str, known: Sequence[str]) -> Template:
    literals, names, at = [""], [], 0
    for match in _PLACE.finditer(template):
        literals[-1] += template[at : match.start()]
        at = match.end()
        name = match[1]
        if name is None:
            literals[-1] += match[0][0]
            continue
        if name not in known:
            places = ", ".join(known)
            raise InvalidValue("template", match[0], f"text with places for {places} (write {{{{ for a brace)")
        if name in names:
            raise InvalidValue("template", match[0], "text that names each section once")
        names.append(name)
        literals.append("")
    literals[-1] += template[at:]
    missing = [name for name in known if name not in names]
    if missing:
        raise InvalidValue("template", template, f"text with a place for every section; {{{missing[0]}}} is missing")
    return Template(tuple(literals), tuple(names))
