"""The JSON Schema is shipped, current, and judges files as brim does."""

import functools
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from brim.receipts.section import Section
from brim.settings import schema
from brim.settings.keys import SETTINGS
from brim.settings.project import SHIPPED, shipped
from settings.test_malformed import CASES

BY_BRIM_ALONE = {
    "a key twice",
    "two names of one group",
    "an unknown profile",
    "two steps of one id",
    "profiles in a circle",
    "a profile that extends nothing",
    "a number of thousands of digits",
    "an empty section name",
    "another encoding",
    "not a number",
    "an unknown key in a step",
}
"""What a schema cannot say, or what another reader of YAML takes for something else."""


@functools.cache
def validator():
    made = schema.schema()
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def test_the_shipped_schema_is_current():
    told = "python -m brim.settings.schema writes it"
    assert Path(schema.PATH).read_text(encoding="utf-8") == schema.text(), told


def test_every_setting_is_in_the_schema_with_its_sentence():
    groups = schema.schema()["$defs"]
    for key, setting in SETTINGS.items():
        first, *rest = key.split(".")
        at = groups[f"group_{first}"] if rest else schema.schema()["properties"][first]
        for part in rest:
            at = at["additionalProperties"] if part == "*" else at["properties"][part]
        assert at["description"] == setting.doc
        default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
        assert at["default"] == default
        jsonschema.validate(default, {key: value for key, value in at.items() if key != "$ref"})


@pytest.mark.parametrize("name", sorted(set(CASES) - BY_BRIM_ALONE))
def test_what_brim_refuses_the_schema_refuses(name):
    content = CASES[name][0]
    try:
        values = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        return
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(json.loads(json.dumps(values)))


def test_what_brim_takes_the_schema_takes():
    text = """
        profile: flow
        model: null
        budgets: {preset: lean, context_budget_chars: 5}
        window:
        prompt: {separator: "", total: 5}
        sections: {plan: {priority: 3, ceiling: 20%, keep: code, weight: 0.5}, "*": {floor: 1}}
        history: {selection: priority+relevance, classes: {low: [a]}}
        profiles: {deep: {extends: flow, budget_overrides: {preset: heavy}, curator_enabled: false}}
        flows:
          build:
            steps:
              - {id: 0, agent: a, prompt: Do it., teaching_notes: {inputs: [a], outputs: b}, artifacts: [x]}
              - {prompt: {total: 5}}
              - {id: null, agents: [a, b], role: null, teaching_notes: null}
    """
    validator().validate(yaml.safe_load(text))
    for name in SHIPPED:
        profile = yaml.safe_load(Path(shipped(name)).read_text(encoding="utf-8"))
        validator().validate({"profiles": {name: profile}})


def test_sections_have_every_setting_that_a_section_takes():
    fields = {
        name for name in Section.__dataclass_fields__ if name not in ("name", "content", "forms", "ids", "scores")
    }
    named = {key.rpartition(".")[2] for key in SETTINGS if key.startswith("sections.*.")}
    assert named == fields | {"page"}  # The page is that of a request.
