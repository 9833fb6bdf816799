import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("here")


def test_a_name_with_its_provider_and_date_leads_to_one_model(brim):
    told = brim("models", "openai/gpt-5-2025-08-07").out.splitlines()
    assert told[0].split() == ["model", "gpt-5"]
    assert "window                  400,000" in told
    assert "vocabulary              o200k_base" in told
    assert any(line.startswith("source") and "genai-prices" in line for line in told)


def test_a_part_of_names_lists_models(brim):
    told = brim("models", "gpt-5*").out
    assert "gpt-5-mini" in told
    assert "gpt-4o" not in told
    assert "US dollars per million tokens" in told


def test_all_models_are_listed_as_json(brim):
    models = json.loads(brim("models", "--json").out)["models"]
    assert len(models) > 100
    assert all(model["id"] for model in models)


def test_a_declared_model_is_listed_with_its_file(brim):
    Path("brim.models.yaml").write_text("models:\n  my-model: {window: 5000, vocabulary: o200k_base}\n")
    assert "5,000" in brim("models", "my-model").out
    assert "brim.models.yaml" in "".join(brim("models", "my-model").out.split())


def test_a_malformed_declaration_is_reported_with_its_line(brim):
    Path("brim.models.yaml").write_text("models:\n  my-model: {widow: 5000}\n")
    told = brim("models")
    assert told.code == 2
    assert "brim.models.yaml:2: " in told.err


@pytest.mark.parametrize("pattern", ["*smol*", "smol?"])
def test_a_pattern_without_a_match_is_not_a_name_to_declare(brim, pattern):
    told = brim("models", pattern)
    assert told.code == 2
    assert f"no model matches the pattern '{pattern}'" in told.err
    assert "Declare" not in told.err
    assert "Declare it" in brim("models", "smol").err
