import json

import pytest

from brim.errors import DoesNotFit
from brim.truncate.shape import Shape, kind_of
from truncate.cutting import CHAR, checked

TEXTS = {
    "json": (Shape(kind="json"), json.dumps({"rows": [{"id": number} for number in range(200)]})),
    "json lines": (Shape(kind="json"), "\n".join(json.dumps({"id": number}) for number in range(200))),
    "deep json": (Shape(kind="json"), "[" * 90 + "1, " * 99 + "1" + "]" * 90),
    "git diff": (
        Shape(kind="diff"),
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,90 +1 @@\n" + "-gone\n" * 89 + " x\n",
    ),
    "plain diff": (Shape(kind="diff"), "--- x\n+++ y\n@@ -1,90 +1 @@\n" + "-gone\n" * 89 + " x\n"),
    "log": (Shape(kind="log"), "".join(f"2024-05-01T10:00:{n % 60:02}Z step {n}\n" for n in range(99))),
    "log of levels": (Shape(kind="log"), "".join(f"[worker-{n}] INFO step {n}\n" for n in range(99))),
    "python": (Shape(kind="code"), "import os\n\n" + "def f(a):\n    b = a\n    return b\n\n" * 30),
    "script": (Shape(kind="code"), "#!/bin/sh\n" + "echo one two three\n" * 40),
    "javascript": (Shape(kind="code"), "const a = 1;\nfunction f() {\n  return a;\n}\n" * 20),
    "markdown": (Shape(kind="markdown"), "# Title\n\n" + "Some words of text.\n\n" * 30),
    "markdown with code": (Shape(kind="markdown"), "Words.\n\n```py\nimport a\n```\n\n" * 20),
    "some lines": (Shape(kind="log"), "Some words of text, and more of them.\n" * 30),
    "one line": (Shape(kind="log"), "x" * 2000),
    "broken json": (Shape(kind="log"), '{"a": [1, 2, ' * 60),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_cut_as_what_it_is(name):
    truncator, text = TEXTS[name]
    cut = checked(Shape(), text, 200, CHAR)
    assert cut == truncator.truncate(text, 200, CHAR)


@pytest.mark.parametrize("text", [("def f(): return [" + "1, " * 200 + "]\n") * 2, "```\n" + "`" * 900 + "\n"])
def test_what_cannot_keep_its_kind_is_cut_as_plain_text(text):
    assert kind_of(text) in ("code", "markdown")
    assert "characters omitted" in Shape().truncate(text, 60, CHAR).text


def test_a_text_above_two_million_characters_is_a_log():
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n".ljust(2_000_000, "+")
    assert (kind_of(diff), kind_of(diff + "+")) == ("diff", "log")


def test_a_marker_that_does_not_fit_is_refused():
    with pytest.raises(DoesNotFit):
        Shape().truncate("words " * 99, 20, CHAR)
