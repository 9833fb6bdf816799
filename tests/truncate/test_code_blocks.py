import sys
from types import SimpleNamespace

import pytest

from brim.truncate.code_blocks import by_grammar, by_layout, indents
from brim.truncate.line_selection import LineSelection

SOURCE = """\
class A extends B {
  constructor(a) {
    this.a = a;
    this.b = a;
  }

  small() {
    return 1;
  }
}

function f(a,
           b) {
\treturn a;
}
"""


def bodies(text):
    page = LineSelection.of(text, "")
    return [page.lines(*span) for span in by_layout(page, indents(page))]


def test_what_is_indented_is_a_body_unless_it_is_a_class():
    assert bodies(SOURCE) == [
        "    this.a = a;\n    this.b = a;\n",
        "    return 1;\n",
        "           b) {\n\treturn a;\n",
    ]


def test_a_body_ends_at_its_last_line_that_is_not_blank():
    assert bodies("fn f() {\n\n  a\n\n  b\n\n}\n") == ["\n  a\n\n  b\n"]


@pytest.mark.parametrize("text", ["", "\n\n", "a\nb\nc", "  a\nb"])
def test_a_text_without_indented_runs_has_no_bodies(text):
    assert bodies(text) == []


def test_tabs_and_spaces_are_measured_alike():
    assert indents(LineSelection.of("\ta\n    b\n\n  \tc", "")) == [4, 4, None, 4]


def test_a_pack_that_would_fetch_its_grammars_is_not_used(monkeypatch):
    def fail(language):
        raise AssertionError("the network was asked")

    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", SimpleNamespace(download=fail, get_parser=fail))
    assert by_grammar(LineSelection.of(SOURCE, ""), "javascript") is None


def test_without_a_pack_there_is_no_grammar(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", None)
    assert by_grammar(LineSelection.of(SOURCE, ""), "javascript") is None


def test_a_grammar_knows_the_bodies_of_functions():
    pack = pytest.importorskip("tree_sitter_language_pack")
    if hasattr(pack, "download"):
        pytest.skip("this pack has no grammars of its own")
    page = LineSelection.of(SOURCE, "")
    assert [page.lines(*span) for span in by_grammar(page, "javascript")] == [
        "    this.a = a;\n    this.b = a;\n",
        "    return 1;\n",
        "\treturn a;\n",
    ]
    assert by_grammar(page, "klingon") is None
