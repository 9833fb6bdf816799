import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.code import definitions, indents
from brim.truncate.parts import TextParts
from brim.truncate.shape import Shape
from properties import examples
from truncate.cutting import CHAR, checked, every_meter, limits, shares

MODULE = '''\
"""What it is for."""

import os
from sys import path


class Thing:
    """A thing."""

    size = 3

    def small(self):
        return 1

    @property
    def large(self) -> int:
        """Return much.

        And more of it.
        """
        # why
        total = 0
        for number in range(self.size):
            total += number
            total -= number * 2
        return total


def last(a, b=2):
    """Say it."""
    first = a + b
    second = first * 2
    return first + second + a + b
'''


def test_the_largest_body_goes_first_and_small_ones_stay():
    cut = Shape(kind="code").truncate(MODULE, len(MODULE) - 120, CHAR).text
    assert "def small(self):\n        return 1\n" in cut
    assert "def last(a, b=2):\n" in cut
    assert "total -= number * 2" not in cut
    assert "lines omitted]" in cut


def test_signatures_and_imports_stay_when_bodies_do_not():
    cut = Shape(kind="code").truncate(MODULE, 300, CHAR)
    for line in (
        "import os",
        "class Thing:",
        "    def small(self):",
        "    def large(self) -> int:",
        "def last(a, b=2):",
    ):
        assert line in cut.text.split("\n")
    assert "total" not in cut.text


def test_signatures_come_before_imports_and_these_before_other_lines():
    cut = Shape(kind="code").truncate(MODULE, 150, CHAR).text
    assert "class Thing:\n" in cut
    assert "def last(a, b=2):\n" in cut
    assert "first = a + b" not in cut


def test_parameters_of_several_lines_are_a_signature():
    source = "def f(\n    a: int,\n    b: int,\n) -> int:\n" + "    a += b\n" * 40 + "    return a\n"
    assert (
        Shape(kind="code")
        .truncate(source, 120, CHAR)
        .text.startswith("def f(\n    a: int,\n    b: int,\n) -> int:\n    a += b\n")
    )


def test_small_bodies_stay_whole_before_any_of_a_large_one():
    source = (
        "def a():\n"
        + "    one = 1\n" * 9
        + "\ndef b():\n"
        + "    two = 2\n" * 40
        + "\ndef c():\n"
        + "    three = 3\n" * 9
    )
    cut = Shape(kind="code").truncate(source, 320, CHAR).text
    assert (cut.count("one = 1"), cut.count("three = 3")) == (9, 9)
    assert 0 < cut.count("two = 2") < 9


def test_one_long_body_fills_the_room_from_its_start():
    source = "def f():\n" + "".join(f"    step({n})\n" for n in range(200))
    cut = Shape(kind="code").truncate(source, 400, CHAR)
    assert cut.text.startswith("def f():\n    step(0)\n    step(1)\n")
    assert cut.after > 350


SOURCES = {
    "a body on the line of its head": "def f(): return [" + "1, " * 100 + "]\n",
    "a head of several lines": "def f(\n    a,\n): return 1; b = 2\n" + "x = 1\n" * 50,
    "a default that looks like a comment": 'def f(a="""\n# no comment"""):\n    # why\n    b = 1\n    c = 2\n'
    + "y = 2\n" * 50,
    "a backslash": "def f(): \\\n    pass\n\n" + "def g():\n    a = 1\n    b = 2\n    return a\n" * 9,
    "a docstring after a backslash": 'def f(): \\\n    """A.\n\n' + "    B.\n" * 9 + '    """; \\\n    x = 1\ny = 2\n',
    "a backslash between statements": "a = 1; \\\nb = 2\n" * 30,
    "methods": "class A:\n    def f(self):\n        a\n        b\n        c; d\n\n" * 9,
    "functions under conditions": "if a:\n    def f():\n        b\n        c\nelse:\n    def g():\n        e\n" * 9,
    "functions in handlers": "try:\n    import a\nexcept E:\n    def a():\n        b = 1\n        c = 2\n" * 9,
    "functions in cases": "match a:\n    case 1:\n        def f():\n            b = 1\n            c = 2\n" * 9,
    "decorators": "@a\n@b(\n    c\n)\ndef f():\n    '''d\n    '''\n    e\n\n" * 9,
    "classes of one line": "class A: pass\nclass B: x = 1; y = 2\n" * 20,
    "tabs": "def f():\n\tif a:\n\t\tb\n\t\tc\n\treturn d\n" * 20,
    "a docstring that cannot be quoted": "async def f():\n    '''Say \"x\" \\\\ y.\n    '''\n    await a\n    await b\n"
    * 20,
    "code inside a string": "x = '''\n" + "def f():\n    pass\n" * 30 + "'''\n" + "z = 1\n" * 30,
    "comments": "# only\n# comments\n" * 30,
    "many branches": "if a:\n    pass\n" + "elif b:\n    pass\n" * 60,
    "carriage returns": "def f():\r\n    a = 1\r\n    b = 2\r\n    c = 3\r\n" * 20,
    "annotations": "def f(a, *, b: int = 1, **c) -> dict[\n    str, int\n]:\n    d = 1\n    e = 2\n    return d\n" * 9,
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("share", [0.15, 0.3, 0.5, 0.8, 0.97])
def test_every_line_that_stays_is_one_of_the_source_in_order(name, share):
    source = SOURCES[name]
    cut = checked(Shape(kind="code"), source, int(len(source) * share), CHAR)
    if cut and cut.text != source and "characters omitted" not in cut.text:
        lines, at = source.split("\n"), 0
        for line in cut.text.split("\n"):
            if not line.endswith("omitted]"):
                at = lines.index(line, at) + 1


def test_another_language_keeps_its_signatures():
    source = "function f(a) {\n" + "  a += 1;\n" * 30 + "}\n\nfunction g() {\n  return 1;\n}\n"
    assert Shape(kind="code").truncate(source, 110, CHAR).text.startswith("function f(a) {\n  a += 1;\n")
    assert Shape(kind="code").truncate(source, 72, CHAR).text == (
        "function f(a) {\n[30 lines omitted]\n}\n\nfunction g() {\n  return 1;\n}\n"
    )


def test_the_outermost_lines_stay_when_signatures_do_not_fit():
    source = "".join(f"function f{number}(a) {{\n  a += 1; // and so on\n}}\n" for number in range(30))
    cut = Shape(kind="code").truncate(source, 120, CHAR)
    assert cut.text.startswith("function f0(a) {\n")
    assert "characters omitted" not in cut.text


JAVASCRIPT = """\
class A extends B {
  constructor(a) {
    this.a = a;
    this.b = a;
  }
}

function f(a,
           b) {
\treturn a;
}
"""


def test_bodies_are_found_by_their_indentation():
    parts = TextParts(JAVASCRIPT)
    found = [each for each in definitions(parts, indents(parts)) if each.start < each.stop]
    bodies = ["".join(map(parts.part, range(each.start, each.stop))) for each in found]
    assert bodies == ["    this.a = a;\n    this.b = a;\n", "\treturn a;\n"]


names = st.sampled_from(["f", "g", "h"])
lines = st.lists(
    st.sampled_from(["a = 1", "b = '''x\n  y'''", "# note", "", "c(1,\n  2)", "if a: b()"]), min_size=1, max_size=7
)


@st.composite
def functions(draw, indent=""):
    """Return a function with a docstring or none, decorated or not, of one line or many."""
    head = draw(st.sampled_from(["def {}():", "def {}(a,\n        b=1):", "@d\nasync def {}(self) -> int:"])).format(
        draw(names)
    )
    body = [*draw(st.sampled_from([[], ['"""Do."""'], ['"""Do.\n\n    More.\n    """']])), *draw(lines), "return"]
    text = head + "\n" + "\n".join("    " + line if line else line for line in body) + "\n"
    return "".join(
        indent + line if line.strip() and not line.startswith("  y") else line
        for line in text.splitlines(keepends=True)
    )


@st.composite
def modules(draw):
    """Return a source of functions, classes and statements that Python reads."""
    parts = []
    for _ in range(draw(st.integers(3, 8))):
        kind = draw(st.integers(0, 4))
        if kind == 0:
            parts.append(
                "class A(B):\n"
                + draw(st.sampled_from(["", '    """Doc."""\n', "    x = 1\n"]))
                + draw(functions("    "))
                + "\n"
                + draw(functions("    "))
            )
        elif kind == 1:
            parts.append("if a:\n" + draw(functions("    ")) + "else:\n    b = 1\n")
        elif kind == 2:
            parts.append(
                draw(
                    st.sampled_from(
                        ["import a", "x = [1,\n  2]", "a = 1; b = 2", "# note\n\ny = 1", "z = '''\ndef f():\n'''"]
                    )
                )
                + "\n"
            )
        else:
            parts.append(draw(functions()))
    return "\n".join(parts)


@every_meter
@examples(60)
@given(text=modules(), share=shares)
def test_only_marks_are_added_to_generated_code(meter, text, share):
    cut = checked(Shape(kind="code", marker="gap of {dropped}"), text, limits(text, meter, share), meter)
    if cut and cut.text != text:
        own = set(text.split("\n"))
        added = [line for line in cut.text.split("\n") if line not in own]
        assert all("gap of" in line for line in added)
