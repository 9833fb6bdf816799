"""Write docs/reference/api.md from the public names and their docstrings.

python scripts/api_reference.py            write the page
python scripts/api_reference.py --check    fail if the page is out of date

The sources are read, not run: the page shows signatures as they are in the code, on any Python version.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brim
from brim.history.options import Options
from brim.sessions.settings import OPTIONS, SessionOptions
from generated import run

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "api.md"

GROUPS: dict[str, tuple[str, ...]] = {
    "Core: clients": ("wrap",),
    "Core: fit a prompt": ("fit", "Section", "Priority", "Stage", "Prompt"),
    "Core: fit a history": ("fit_messages", "History", "Fitted", "Stable"),
    "Core: fit a whole request": ("fit_request", "Request"),
    "Core: count and cut": ("meter", "Meter", "Window", "cut", "Cut", "Truncator"),
    "Core: what happened": ("Receipt", "Part", "Loss", "Change", "Capture", "replay"),
    "Long-lived: conversations and loops": (
        "Session", "Conversations", "Status", "Shares", "Loop", "Tick", "Step", "Outcome",
    ),
    "Flows: packs for steps": ("Curator", "Pack"),
    "Operations: settings, stores, refusals": ("load_config", "open_store", "is_overflow", "Overflow"),
    "Errors": (
        "BrimError", "DoesNotFit", "InvalidValue", "InvalidType", "UnknownName", "SourceError", "NoProgress",
        "ModelError", "MeterError", "StoreError", "Conflict",
    ),
}  # fmt: skip
"""The public names in the order of the page; those in no group come last."""

_HEAD = """\
# Python

<!-- Written by scripts/api_reference.py from the docstrings; do not edit. -->

All public names of `import brim`, in four tiers: the core, which most programs need alone; what lives longer than one
call; flows of many agents; operations. [Which of these do I want?](../which.md) Names with a leading underscore, and
modules that are not named here or in the guides, may change from release to release.
"""
_FIELD_LIMIT = 90
_LINE = 100
_OWNED = ("self", "cls")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD, _contents()]
    for title, names in _groups().items():
        parts.append(f"## {title}\n")
        parts += ["\n".join(_entry(name)) for name in names]
    return "\n".join(parts).rstrip() + "\n"


def _groups() -> dict[str, list[str]]:
    """Return the public names by group."""
    found = {title: [name for name in names if name in brim.__all__] for title, names in GROUPS.items()}
    placed = {name for names in found.values() for name in names}
    rest = [name for name in brim.__all__ if name not in placed]
    return {**found, "More": rest} if rest else found


def _contents() -> str:
    links = {title: ", ".join(f"[`{name}`](#brim.{name})" for name in names) for title, names in _groups().items()}
    rows = [f"| {title} | {names} |" for title, names in links.items()]
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n"


def _entry(name: str) -> Iterator[str]:
    """Yield the lines of one public name."""
    found = getattr(brim, name)
    node = _node(found)
    yield f'<a id="brim.{name}"></a>\n'
    yield f"### {name}\n"
    if isinstance(node, _Definition):
        yield _code(_signature(node, prefix="brim."))
        yield from _told(ast.get_docstring(node))
        return
    if node is None:
        yield from _told(inspect.getdoc(found))
        return
    yield from _class(name, node)


def _class(name: str, node: ast.ClassDef) -> Iterator[str]:
    """Yield what a class is, how it is made, its fields and its methods."""
    made = next((each for each in node.body if isinstance(each, _Definition) and each.name == "__init__"), None)
    bases = [ast.unparse(base) for base in node.bases]
    raised = any(base.endswith(("Error", "Value", "Exception")) for base in bases)
    if made is not None and not raised:
        yield _code(_signature(made, prefix=f"brim.{name}", owned=True))
    yield from _told(ast.get_docstring(node))
    if raised:
        yield f"Caught as `{'` or `'.join(bases)}` too.\n"
    if made is not None and ast.get_docstring(made):
        yield from _told(ast.get_docstring(made))
    yield from _table(node)
    for method in _methods(node, getattr(brim, name)):
        marks = [ast.unparse(mark) for mark in method.decorator_list]
        [first, *more] = _paragraphs(ast.get_docstring(method) or "") or [""]
        held = any("property" in mark for mark in marks)
        shown = f"`.{method.name}`" if held else f"`.{_signature(method, owned=True)}`"
        yield f"**{shown}**  \n{first}\n"
        yield from (f"{each}\n" for each in more)


def _table(node: ast.ClassDef) -> Iterator[str]:
    """Yield the table of a class's fields, if it has some."""
    fields = list(_fields(node))
    if fields:
        yield "| field | |\n|---|---|"
        yield from fields
        yield ""


def _node(found: Any) -> Any:
    """Return the definition of a function or a class in its source, `None` for anything else."""
    if not (inspect.isfunction(found) or inspect.isclass(found)):
        return None
    tree = ast.parse(Path(inspect.getfile(found)).read_text("utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    # The last one: those before it are overloads.
    return next((each for each in tree.body[::-1] if isinstance(each, kinds) and each.name == found.__name__), None)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Yield a row for each public field: its type, its default, and the string beneath it."""
    for i, each in enumerate(node.body):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            name, kind = each.targets[0].id, ""
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            name, kind = each.target.id, ast.unparse(each.annotation)
        else:
            continue
        after = node.body[i + 1] if i + 1 < len(node.body) else None
        told = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        if name.startswith("_") or "ClassVar" in kind or (each.value and "init=False" in ast.unparse(each.value)):
            continue
        shown = f": {kind}" if kind else ""
        default = ast.unparse(each.value) if each.value is not None else ""
        if default and len(default) < _FIELD_LIMIT and "field(" not in default:
            shown += f" = {default}"
        yield f"| `{_cell(name + shown)}` | {_cell(' '.join(str(told).split()))} |"


def _methods(node: ast.ClassDef, made: type) -> Iterator[_Definition]:
    """Yield the public methods of a class; if it has a `__dir__`, only those that it lists, and inherited ones too."""
    listing = next((each for each in node.body if isinstance(each, _Definition) and each.name == "__dir__"), None)
    listed = listing and {each.value for each in ast.walk(listing) if isinstance(each, ast.Constant)}
    bases = map(_node, made.__mro__[1:-1]) if listed else ()
    own = {each.name for each in node.body if isinstance(each, _Definition)}
    inherited = (each for base in bases for each in base.body if getattr(each, "name", None) not in own)
    for each in (*node.body, *inherited):
        if isinstance(each, _Definition) and not each.name.startswith("_") and (not listed or each.name in listed):
            marks = [ast.unparse(mark) for mark in each.decorator_list]
            if not any("setter" in mark or "overload" in mark for mark in marks):
                yield each


def _signature(node: _Definition, prefix: str = "", *, owned: bool = False) -> str:
    """Return a signature as the code has it, an argument a line where it is long."""
    name = prefix if node.name == "__init__" else f"{prefix}{node.name}"
    returned = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    each = list(_arguments(node.args))[int(owned and node.args.args[:1] != [] and node.args.args[0].arg in _OWNED) :]
    inside = ", ".join(each)
    if not prefix or len(name) + len(inside) + len(returned) < _LINE:
        return f"{name}({inside}){returned}"
    lines = ",\n    ".join(each)
    return f"{name}(\n    {lines},\n){returned}"


def _arguments(args: ast.arguments) -> Iterator[str]:
    """Yield the arguments of a function; options that it takes as a typed dict are arguments of their own."""
    plain = [*args.posonlyargs, *args.args]
    for arg, default in zip(plain, [*[None] * (len(plain) - len(args.defaults)), *args.defaults], strict=True):
        yield _argument(arg, default)
    if args.vararg or args.kwonlyargs:
        yield f"*{ast.unparse(args.vararg)}" if args.vararg else "*"
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _argument(arg, default)
    kind = ast.unparse(args.kwarg) if args.kwarg else ""
    if "Unpack[TurnOptions]" in kind:
        yield from _turn_options()
    elif re.search(r"Unpack\[(Session|Open)Options\]", kind):
        yield from _session_options()
    elif kind:
        yield f"**{kind}"


def _argument(arg: ast.arg, default: ast.expr | None) -> str:
    told = ast.unparse(arg)
    return told if default is None else f"{told}{' = ' if arg.annotation else '='}{ast.unparse(default)}"


def _turn_options() -> Iterator[str]:
    """Yield the options of a history as arguments, with their defaults."""
    for slot in _node(Options).body:
        if isinstance(slot, ast.AnnAssign) and slot.value is not None and "init=False" not in ast.unparse(slot.value):
            yield f"{ast.unparse(slot.target)}: {ast.unparse(slot.annotation)} = {ast.unparse(slot.value)}"


def _session_options() -> Iterator[str]:
    """Yield the options of sessions as arguments, with their defaults."""
    slots = [slot for slot in _node(SessionOptions).body if isinstance(slot, ast.AnnAssign)]
    kinds = {
        ast.unparse(slot.target): ast.unparse(slot.annotation.slice.elts[0])  # type: ignore[attr-defined]
        for slot in slots
        if isinstance(slot.annotation, ast.Subscript)
    }
    yield from (f"{name}: {kinds[name]} = {option.default!r}" for name, option in OPTIONS.items())
    yield from ("format: Format | None = None", "clock: Callable[[], float] = time.time")


def _told(text: str | None) -> Iterator[str]:
    for paragraph in _paragraphs(text or ""):
        yield f"{paragraph}\n"


def _paragraphs(text: str) -> list[str]:
    """Return a docstring as paragraphs of Markdown: `Args` and `Raises` become lists."""
    found = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = block.splitlines()
        heading = (
            re.fullmatch(r"(Args|Arguments|Raises|Returns|Yields|Attributes):", lines[0].strip()) if lines else None
        )
        if heading:
            found.append(f"{heading[1]}:\n\n" + "\n".join(_items(lines[1:])))
        elif block.strip():
            found.append(_safe(block))
    return found


def _items(lines: list[str]) -> Iterator[str]:
    """Yield one item for each entry of a section of a docstring; what is indented further goes on with it."""
    left = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    items: list[str] = []
    for line in lines:
        if len(line) - len(line.lstrip()) > left and items:
            items[-1] += f" {line.strip()}"
        elif line.strip():
            items.append(line.strip())
    for item in items:
        name, _, rest = item.partition(": ")
        if "`SessionOptions`" in rest:
            yield from (f"- `{each}`: {_safe(option.doc)}" for each, option in OPTIONS.items())
            continue
        yield f"- `{name}`: {_safe(rest)}" if rest else f"- {_safe(item)}"


def _safe(text: str) -> str:
    """Return a text in which Markdown finds nothing to read as its own, but for what is in backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else part.replace("*", "\\*").replace("<", "&lt;") for i, part in enumerate(parts))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"```py\n{text}\n```\n"


if __name__ == "__main__":
    sys.exit(run(PAGE, page))
