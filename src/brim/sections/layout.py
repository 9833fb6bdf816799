"""The order of sections in the prompt: one after the other with separators, or in the placeholders of a template.

A section's priority and its place in the prompt are independent. A layout joins the kept texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from brim.errors import InvalidValue

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}")


@dataclass(frozen=True, slots=True)
class Layout:
    """Sections joined by separators, or in the placeholders of a template."""

    names: tuple[str, ...]
    """The sections, in the order of the prompt."""
    separator: str = ""
    literals: tuple[str, ...] = ()
    """The template's own text before, between and after the placeholders; empty without a template."""

    @property
    def fixed(self) -> str:
        """The template's own text."""
        return "".join(self.literals)

    def text(self, texts: Mapping[str, str]) -> str:
        """Return the prompt from the texts of the present sections, by name.

        An absent section has no separator, or leaves its placeholder empty.
        """
        if not self.literals:
            return self.separator.join([texts[name] for name in self.names if name in texts])
        first, *others = self.literals
        places = zip(self.names, others, strict=True)
        return first + "".join([texts.get(name, "") + literal for name, literal in places])


def layout(names: Sequence[str], *, separator: str, template: str | None) -> Layout:
    """Return the layout of the sections, in that order, or in the placeholders `{name}` of a template.

    Raises:
        InvalidValue: the template names an unknown section, names one twice, or leaves one out.
    """
    return Layout(tuple(names), separator) if template is None else _parsed(template, names)


def without_places(template: str) -> str:
    """Return the own text of a template."""
    return _PLACE.sub(lambda match: match[0][0] if match[1] is None else "", template)


def replaced_places(template: str, replacement: Callable[[str], str]) -> str:
    """Return a template with each placeholder replaced; `replacement` gets what is between its braces."""
    return _PLACE.sub(lambda match: match[0] if match[1] is None else replacement(match[1]), template)


def _parsed(template: str, known: Sequence[str]) -> Layout:
    literals, names, at = [""], [], 0
    for match in _PLACE.finditer(template):
        literals[-1] += template[at : match.start()]
        at = match.end()
        name = match[1]
        if name is None:
            literals[-1] += match[0][0]
            continue
        if name not in known:
            expected = f"the name of a section ({', '.join(known)})"
            raise InvalidValue("template: a placeholder", match[0], expected, "write {{ for a literal brace")
        if name in names:
            raise InvalidValue("template", match[0], "text that names each section once")
        names.append(name)
        literals.append("")
    literals[-1] += template[at:]
    missing = [name for name in known if name not in names]
    if missing:
        expected = f"text with a placeholder for every section; {{{missing[0]}}} is missing"
        raise InvalidValue("template", template, expected)
    return Layout(tuple(names), literals=tuple(literals))
