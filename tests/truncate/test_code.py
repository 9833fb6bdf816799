from brim.truncate.shape import Shape
from truncate.cutting import CHAR

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


def test_another_language_keeps_its_signatures():
    source = "function f(a) {\n" + "  a += 1;\n" * 30 + "}\n\nfunction g() {\n  return 1;\n}\n"
    assert Shape(kind="code").truncate(source, 110, CHAR).text.startswith("function f(a) {\n  a += 1;\n")
    assert Shape(kind="code").truncate(source, 72, CHAR).text == (
        "function f(a) {\n[30 lines omitted]\n}\n\nfunction g() {\n  return 1;\n}\n"
    )
