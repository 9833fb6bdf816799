"""Files that cannot be taken: one clear error each, with file and line, and the file as it was."""

import os
import re

import pytest

import brim
from brim.settings.loader import check_text

CASES = {
    # name: (the file, its line, what the error says)
    "a number for a text": ("model: 5\n", 1, "model must be a non-empty string or null, not 5"),
    "a text for a number": ("budgets:\n  context_budget_chars: many\n", 2, "must be a whole number of at least 0"),
    "true for a number": ("budgets:\n  context_budget_chars: true\n", 2, "not True"),
    "one for true": ("history:\n  note: 1\n", 2, "history.note must be true or false, not 1"),
    "a list for the file": ("- budgets\n", 1, "the file must be a mapping"),
    "an unknown key": ("budgts: {}\n", 1, "has no key 'budgts'; did you mean 'budgets'?"),
    "an unknown key in a section": ("sections:\n  plan:\n    cieling: 5\n", 3, "did you mean 'ceiling'?"),
    "an unknown key in a step": (
        "flows:\n  build:\n    steps:\n    - id: a\n      agnet: x\n",
        5,
        "flows.build.steps[0] has no key 'agnet'; did you mean 'agent'?",
    ),
    "an unknown choice": ("bounds: strict\n", 1, "must be one of product, strict_seed, not 'strict' (did you mean"),
    "an unknown profile": ("profile: flwo\n", 1, "no profile is called 'flwo'; did you mean 'flow'"),
    "two names of one group": ("budgets: {}\nbudget_overrides: {}\n", 2, "budget_overrides and budgets mean the same"),
    "a percentage over 100": ('sections:\n  a: {ceiling: "120%"}\n', 2, "a percentage from 0 to 100"),
    "a cap over 1": ("window:\n  cap: 1.2\n", 2, "window.cap must be a share above 0 and up to 1"),
    "not a number": ("window:\n  cap: .nan\n", 2, "window.cap must be a share above 0 and up to 1"),
    "null where something must be": ("bounds: null\n", 1, "bounds must be one of product, strict_seed, not None"),
    "steps that are no list": ("flows: {build: {steps: {a: 1}}}\n", 1, "flows.build.steps must be a list of steps"),
    "a step that is a text": ("flows:\n  build:\n    steps:\n    - load\n", 4, "must be a mapping, not 'load'"),
    "two steps of one id": ("flows:\n  b:\n    steps:\n    - id: a\n    - id: a\n", 5, "has the id 'a' of the step"),
    "the profile inside a flow": ("flows:\n  build: {profile: flow}\n", 2, "only allowed at the top of the file"),
    "profiles in a circle": (
        "profiles:\n  a: {extends: b}\n  b: {extends: c}\n  c: {extends: a}\n",
        4,
        "the profile 'c' extends itself: a -> b -> c -> a",
    ),
    "a profile that extends nothing": (
        "profiles:\n  a: {extends: folw}\n",
        2,
        "no profile is called 'folw'; did you mean 'flow'",
    ),
    "an empty section name": ("sections:\n  ? ''\n  : {floor: 1}\n", 2, "sections has no key ''"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_file_is_one_clear_error_and_stays_as_it_was(tmp_path, name):
    content, line, told = CASES[name]
    path = tmp_path / "brim.yaml"
    path.write_text(content)
    before = path.stat()
    with pytest.raises(brim.SourceError) as caught:
        brim.load_config(path, environ={})
    message = str(caught.value)
    assert told in message
    assert caught.value.line == line
    assert message.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert "\n" not in message
    assert len(message) < 1_500
    assert path.read_text() == content
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert os.listdir(tmp_path) == ["brim.yaml"]


def test_a_file_that_is_missing_is_an_error_where_it_was_named(tmp_path):
    with pytest.raises(brim.SourceError, match=re.escape(f"{tmp_path / 'brim.yaml'}: no such file")):
        brim.load_config(tmp_path / "brim.yaml", environ={})


def test_a_flow_of_its_own_is_refused_by_its_own_line(tmp_path):
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "build.yaml").write_text("flow: other\nsteps:\n- id: a\n  model: 3\n")
    with pytest.raises(brim.SourceError) as caught:
        brim.load_config(tmp_path, environ={})
    path = tmp_path / "flows" / "build.yaml"
    assert str(caught.value) == (
        f"{path}:1: flow must be 'build', the name of its file or key, not 'other'; 1 more problem: line 4:"
        " steps[0].model must be a non-empty string or null, not 3"
    )


def test_what_cannot_be_made_of_settings_is_told_by_their_line(tmp_path):
    text = "model: gpt-99-nonsense\nwindow:\n  warn: 0.5\n  cap: 0.2\n"
    path = tmp_path / "brim.yaml"
    path.write_text(text)
    settings = brim.load_config(path, environ={}).resolve()
    with pytest.raises(brim.SourceError, match=re.escape(f"{path}:1: model: no model")):
        settings.meter()
    path.write_text(text.replace("gpt-99-nonsense", "gpt-5"))
    with pytest.raises(brim.SourceError, match=re.escape(f"{path}:3: window.warn: Window warn must be at most")):
        brim.load_config(path, environ={}).resolve().window()
    check_text(str(path), text, "top")
