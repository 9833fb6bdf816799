"""Models by name: the rules that lead from a name to a row, the shipped table, and the files over it."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import InvalidType, SourceError, UnknownName
from brim.meter.catalogue import (
    Framing,
    find,
    fold,
    known_names,
    lookup,
    models,
    spellings,
)

TEXT = files("brim.meter").joinpath("models.json").read_bytes().decode("ascii")
ROWS = json.loads(TEXT)["models"]
IDS = [row["id"] for row in ROWS]
FOLDED = {fold(name) for name in known_names()}


@pytest.fixture(autouse=True)
def _nowhere(tmp_path, monkeypatch):
    """No test sees the file of whoever runs it."""
    monkeypatch.chdir(tmp_path)


def project(text):
    Path("brim.models.yaml").write_text(text, encoding="utf-8")


# Names


NAMES = {
    "gpt-5": "gpt-5 GPT-5 openai/gpt-5-2025-08-07 gpt-5-20250807 openai:gpt-5",
    "gpt-4o": "azure/gpt-4o azure/eu/gpt-4o-2024-08-06 gpt-4o:latest ft:gpt-4o-2024-08-06:org::id ft:gpt-4o",
    "gpt-4o-2024-05-13": "openai/gpt-4o-2024-05-13",
    "gpt-4": "gpt-4-0613",
    "gpt-3.5-turbo": "azure/gpt-35-turbo",
    "gpt-5-chat": "gpt-5-chat-latest",
    "gpt-5.6-sol": "gpt-5.6 gpt-5-6-sol",
    "gpt-oss-120b": "openai.gpt-oss-120b-1:0 groq/openai/gpt-oss-120b",
    "claude-sonnet-4-5": """claude-sonnet-4-5-20250929 claude-sonnet-4-5@20250929 anthropic/claude-sonnet-4.5
        anthropic.claude-sonnet-4-5-20250929-v1:0 us.anthropic.claude-sonnet-4-5-20250929-v1:0
        bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0 claude-4.5-sonnet""",
    "claude-opus-4": "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-20250514-v1:0",
    "claude-opus-4-1": "vertex_ai/claude-opus-4-1@20250805",
    "claude-opus-4-6": "bedrock/us-gov-west-1/anthropic.claude-opus-4-6-v1",
    "claude-opus-4-8": "openrouter/anthropic/claude-opus-4.8",
    "claude-opus-5": "bedrock/converse/global.anthropic.claude-opus-5",
    "claude-3-5-sonnet": "anthropic/claude-3.5-sonnet:beta claude-3-5-sonnet-latest",
    "gemini-2.0-flash": "publishers/google/models/gemini-2.0-flash@001",
    "gemini-2.5-flash": "vertex_ai/gemini-2.5-flash google-gla:gemini-2.5-flash",
    "gemini-2.5-pro": "models/gemini-2.5-pro projects/p/locations/us-central1/publishers/google/models/gemini-2.5-pro",
    "gemini-3.8-flash": "gemini/gemini-3.8-flash gemini-flash-latest",
    "llama-3.1-8b-instruct": """meta-llama/Llama-3.1-8B-Instruct meta-llama/Meta-Llama-3.1-8B-Instruct
        us.meta.llama3-1-8b-instruct-v1:0 ollama/llama3.1:8b""",
    "llama-3.3-70b-instruct": "accounts/fireworks/models/llama-3.3-70b-instruct",
    "llama-4-scout-17b-16e-instruct": "vertex_ai/meta/llama-4-scout-17b-16e-instruct-maas",
    "qwen3-32b": "together_ai/Qwen/Qwen3-32B",
    "deepseek-r1": "deepseek.r1-v1:0 deepseek/deepseek-r1:free",
    "grok-4": "xai/grok-4-latest",
    "kimi-k2-instruct-0905": "moonshotai/Kimi-K2-Instruct-0905",
    "glm-4.6": "zai-org/GLM-4.6",
    "minimax-m2.7": "minimax/MiniMax-M2.7",
    "mistral-large-2512": "mistral/mistral-large-latest",
    "command-a-03-2025": "cohere/command-a",
    "nova-2-lite": "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-2-lite-v1:0",
}

UNKNOWN = """gpt gpt-5-something-new gpt-5-turbo gpt-5-20251399 gpt-5-0807 gpt-55 mygpt-5 acme/gpt-5 acme:gpt-5
    acme.claude-sonnet-4-5 claude-sonnet-4-5:0 claude-sonnet-4-7 claude-sonnet-4-5-v2
    anthropic.claude-3-haiku-20240307-v1:0:48k mistral-large-2407 qwen-plus-2025-07-28
    gpt-4o-audio-preview-2024-12-17 openai/ ft: / gpt-5-٢٠٢٥-08-07"""


def row_of(name):
    """Return the row of a name, or `None` if the name is refused."""
    try:
        return find(name).id
    except UnknownName:
        return None


def test_a_name_leads_to_its_row():
    found = {name: (row, row_of(name), row_of(f"  {name}\n")) for row, names in NAMES.items() for name in names.split()}
    assert {name: rows for name, rows in found.items() if len(set(rows)) > 1} == {}


def test_what_no_rule_leads_to_a_row_is_refused():
    found = {name: row_of(name) for name in UNKNOWN.split()}
    assert {name: row for name, row in found.items() if row is not None} == {}


@pytest.mark.parametrize("name", ["", "g" * 100_000, "openai/" * 50_000 + "gpt-5"], ids=["empty", "long", "deep"])
def test_a_name_of_any_length_is_refused_in_no_time(name):
    with pytest.raises(UnknownName):
        find(name)


def test_the_refusal_names_the_nearest_and_says_how_to_declare_one():
    with pytest.raises(UnknownName) as refused:
        find("gpt-5-minni")
    assert "gpt-5-mini" in refused.value.nearest
    assert str(refused.value).endswith(
        "Declare it in brim.models.yaml: models: {name: {window: 32768}}, with its vocabulary if it is known"
    )


def test_a_name_is_a_text():
    with pytest.raises(InvalidType):
        find(5)


fronts = st.sampled_from(["", "openai/", "us.", "anthropic.", "bedrock/", "ft:", "arn:aws:bedrock:", "models/", "x/"])
ends = st.sampled_from(["", "-v1:0", "-2025-08-07", "@20250929", ":free", "-latest", ":::", "-v9", "\u0660", "/"])
anything = st.one_of(
    st.text(max_size=60),
    st.builds("{}{}{}{}{}".format, fronts, fronts, st.sampled_from(IDS) | st.text(max_size=9), ends, ends),
)


@given(anything)
def test_any_text_finds_a_row_or_none(name):
    model = lookup(name)
    if model is None:
        return
    assert find(model.id) is model
    own_names = {fold(each) for each in (model.id, *model.aliases)}
    assert own_names & {fold(spelling) for spelling in spellings(name)}


@given(st.sampled_from(IDS), st.from_regex(r"[a-z]{3,8}", fullmatch=True), st.sampled_from("-_."))
def test_a_longer_name_is_another_model(model, word, joint):
    name = f"{model}{joint}{word}"
    if word in ("latest", "maas") or fold(name) in FOLDED:
        return
    with pytest.raises(UnknownName):
        find(name)


# The shipped table


def test_the_table_is_sorted_one_model_a_line_and_says_only_what_is_known():
    lines = TEXT.splitlines()
    assert sorted(IDS) == IDS
    assert len(lines) == len(ROWS) + 2
    assert TEXT.endswith("\n]}\n")
    assert len(TEXT) < 150_000
    for line, row in zip(lines[1:-1], ROWS, strict=True):
        assert line.rstrip(",") == json.dumps(row, separators=(",", ":"))
        assert None not in row.values()


def test_no_two_rows_share_a_name():
    names = [fold(name) for row in ROWS for name in (row["id"], *row.get("aliases", ()))]
    assert len(names) == len(set(names))


def test_neither_the_table_nor_its_builder_names_a_host_or_a_machine():
    builder = Path(__file__).parents[2].joinpath("scripts", "catalogue.py").read_text("utf-8")
    for text in (TEXT, builder):
        assert not [word for word in ("http", "/tmp", "/home", "/work", "/opt", "/root") if word in text]


def faults(name):
    """Yield what is wrong with a row."""
    model = find(name)
    cache, tiers = model.cache, [above for above, _ in model.prices.tiers] if model.prices else []
    rules = {
        "id": model.id == name == name.lower(),
        "aliases": all(find(alias) is model for alias in model.aliases),
        "source": model.source != "" and model.date == "2026-11-15",
        "window": bool(model.window),
        "vocabulary": model.vocabulary is None or bool(model.vocabulary.strip()),
        "limits": 0 not in (model.max_input, model.max_output),
        "max_input": (model.max_input or 0) <= model.window,
        "max_output": (model.max_output or 0) < model.window,
        "shared": model.shared is not False or model.max_input + model.max_output <= model.window,
        "cache.ttl": not cache or list(cache.ttl) == sorted(cache.ttl),
        "tiers": tiers == sorted(set(tiers)),
    }
    yield from (rule for rule, holds in rules.items() if not holds)


def test_each_row_holds_together():
    assert {name: wrong for name in IDS if (wrong := list(faults(name)))} == {}
    assert len(IDS) > 100


FACTS = [
    ("claude-sonnet-4-5", {"window": 200_000, "max_output": 64_000, "shared": True, "vocabulary": "claude-4.5"}),
    ("claude-opus-4-6", {"window": 1_000_000, "vocabulary": "claude-4.5"}),
    ("claude-opus-4-7", {"window": 1_000_000, "vocabulary": "claude-5"}),
    ("claude-fable-5", {"window": 1_000_000, "max_output": 128_000, "vocabulary": "claude-5"}),
    ("gpt-5", {"window": 400_000, "max_input": 272_000, "max_output": 128_000, "shared": False}),
    ("gpt-5.1-codex", {"window": 400_000, "max_input": 272_000, "max_output": 128_000, "shared": False}),
    ("gpt-6-sol", {"window": 1_050_000, "max_input": 922_000, "vocabulary": "o200k_base"}),
    ("gpt-4o", {"window": 128_000, "shared": True, "vocabulary": "o200k_base"}),
    ("gpt-4", {"window": 8_192, "vocabulary": "cl100k_base"}),
    ("gpt-4.1", {"window": 1_047_576, "vocabulary": "o200k_base"}),
    ("gpt-oss-20b", {"window": 131_072, "vocabulary": "o200k_harmony", "prices": None}),
    ("gemini-2.5-pro", {"window": 1_048_576, "max_output": 65_536, "shared": None, "vocabulary": "gemini"}),
    ("gemini-3.8-flash", {"window": 1_048_576, "vocabulary": "gemini"}),
    ("gemini-4-argon", {"window": 1_048_576, "vocabulary": "gemini", "max_output": None}),
    ("qwen3-32b", {"window": 40_960, "vocabulary": "qwen3"}),
    ("qwen3.5-27b", {"vocabulary": "qwen3.5"}),
    ("grok-4.7", {"window": 500_000, "vocabulary": None, "shared": True}),
    ("gpt-4o-mini", {"framing": Framing(per_message=3, per_name=1, reply=3)}),
    ("gpt-5-mini", {"framing": None}),
    ("claude-opus-5", {"framing": None}),
    ("gpt-4-32k", {"cache": None}),
]


def test_the_facts_are_those_of_the_makers():
    found = [(name, {key: getattr(find(name), key) for key in facts}) for name, facts in FACTS]
    assert [row for row, published in zip(found, FACTS, strict=True) if row != published] == []


def test_importing_reads_nothing_and_finding_reads_the_table_alone():
    script = """
import sys
seen = []
sys.addaudithook(lambda event, args: seen.append((event, str(args and args[0]))))
from brim.meter import catalogue
opened = lambda: [path for event, path in seen if event == "open" and path.endswith(("json", "yaml"))]
assert not opened()
catalogue.find("gpt-5"), catalogue.find("claude-opus-5")
assert [path.endswith("models.json") for path in opened()] == [True]
assert "yaml" not in sys.modules
assert not [event for event, _ in seen if event.startswith("socket.")]
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# Files over the table


def test_a_file_adds_a_model():
    project("models:\n  our-model: {window: 32_768, vocabulary: o200k_base, max_output: 4096}\n")
    model = find("Our-Model")
    assert (model.id, model.window, model.vocabulary, model.shared) == ("our-model", 32_768, "o200k_base", None)
    assert (model.source, model.date) == (str(Path("brim.models.yaml").absolute()), None)
    assert find("openai/our-model:latest") == model
    assert model in models()
    assert "our-model" in known_names()


def test_the_project_is_over_the_table_field_by_field():
    shipped = find("gpt-4o")
    project("models: {GPT-4o: {window: 32000}}")
    model = find("openai/gpt-4o-2024-08-06")
    assert (model.id, model.window, model.vocabulary) == ("gpt-4o", 32_000, "o200k_base")
    assert (model.max_output, model.prices) == (shipped.max_output, shipped.prices)
    assert model.max_input is None, "the row's own limit is beyond the declared window"
    assert model.source == f"{Path('brim.models.yaml').absolute()}, over genai-prices 0.2.1; litellm 1.108.4"
    assert [each for each in models() if each.id == "gpt-4o"] == [model]


def test_an_override_by_alias_is_one_of_the_row():
    project("models: {gpt-35-turbo: {window: 4096}}")
    assert find("gpt-3.5-turbo") == find("gpt-35-turbo")
    assert find("gpt-3.5-turbo").window == 4096


def test_an_override_for_one_host_leaves_the_others_alone():
    project("models: {azure/gpt-4o: {window: 64000}}")
    assert (find("azure/gpt-4o-2024-08-06").window, find("openai/gpt-4o").window) == (64_000, 128_000)
    assert (find("azure/gpt-4o").id, find("azure/gpt-4o").vocabulary) == ("azure/gpt-4o", "o200k_base")


def test_a_model_may_be_like_one_of_the_table():
    project("models:\n  a: {like: openai/gpt-5, window: 1000}\n  b: {like: openai/gpt-5, max_output: 500}\n")
    a, b = find("a"), find("b")
    assert (a.vocabulary, a.window, a.max_output, a.max_input, a.shared) == ("o200k_base", 1_000, None, None, None)
    assert (b.window, b.max_input, b.max_output, b.shared, b.aliases) == (400_000, 272_000, 500, False, ())


def test_null_makes_a_fact_unknown():
    project("models:\n  gpt-4o: {max_output: null, vocabulary: null}\n  c: {vocabulary: o200k_base}\n")
    assert (find("gpt-4o").max_output, find("gpt-4o").vocabulary) == (None, None)
    assert [find(name).window_text for name in ("gpt-4o", "c")] == ["128,000", "unknown"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "models:\n", "models: {}\n", "models: {gpt-5: }\n"])
def test_a_file_may_say_nothing(text):
    project(text)
    assert find("gpt-5").date == "2026-11-15"


def test_a_file_is_read_again_when_it_changes():
    project("models: {a: {window: 1000}}")
    assert find("a").window == 1000
    project("models: {a: {window: 20000}}")
    assert find("a").window == 20_000
    Path("brim.models.yaml").unlink()
    with pytest.raises(UnknownName):
        find("a")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("models:\n  a:\n    windw: 1\n", 3, "models.a has no key 'windw'; did you mean 'window'?"),
        ("model:\n  a: {window: 1}\n", 1, "the file has no key 'model'; did you mean 'models'?"),
        ("models:\n  a:\n    window: many\n", 3, "window must be a whole number of at least 1, not 'many'"),
        ("models:\n  a: {window: true}\n", 2, "not True"),
        ("models:\n  a: {window: {x: 1}}\n", 2, "window must be a whole number"),
        ("models:\n  a: {vocabulary: /etc/own.json}\n", 2, "must be the name of a vocabulary; pass a tokenizer.json"),
        ("models:\n  a: {like: null}\n", 2, "models.a.like must be a text, not None"),
        ("models:\n  a: {window: 1}\n  A: {window: 2}\n", 3, "models.A is declared twice, first as a"),
        ("models:\n  ' ': {window: 1}\n", 2, "a key of models must be the name of a model, not ' '"),
        ("models:\n- a\n", 1, "models must be a mapping, not ['a']"),
        ("hello", 1, "the file must be a mapping with models, not 'hello'"),
        ("models: &m\n  a: *m\n", 2, "the alias *m is not supported"),
        ("models:\n  a: {like: gpt-55}\n", 2, "no model is called 'gpt-55'; did you mean 'gpt-5.5"),
        ("models:\n  a: {like: a}\n", 2, "no model is called 'a'"),
        ("models:\n  a: {window: 10, max_input: 11}\n", 2, "max_input must be at most the window of 10, not 11"),
    ],
)
def test_a_file_is_refused_with_its_line(text, line, problem):
    project(text)
    with pytest.raises(SourceError) as refused:
        find("a")
    assert (refused.value.path, refused.value.line) == (str(Path("brim.models.yaml").absolute()), line)
    assert problem in str(refused.value)


def test_lookup_returns_the_model_or_none(monkeypatch):
    """Each receipt for a model that is in no table took 11 ms: similar names were searched for an error nobody saw."""
    monkeypatch.setattr("brim.errors.nearest", lambda *_: pytest.fail("similar names were searched"))
    assert lookup("openai/gpt-5-2025-08-07").id == "gpt-5"
    assert lookup("no-such-model") is None
    assert lookup(None) is None
