"""Meters by name."""

import subprocess
import sys
from functools import partial

import pytest

import brim
from brim.meter import catalogue, memo, meter, meter_for, name_of
from brim.meter.base import Meter
from brim.meter.units import UNITS


@pytest.mark.parametrize(
    ("name", "told", "exact"),
    [
        ("gpt-5", "o200k_base", True),
        ("openai/gpt-5-2025-08-07", "o200k_base", True),
        ("gpt-4", "cl100k_base", True),
        ("gpt-oss-120b", "o200k_base", True),
        ("cl100k_base", "cl100k_base", True),
        ("llama-3.3-70b-instruct", "llama3", True),
        ("chars", "chars", True),
        ("chars/4", "chars/4", False),
        ("claude-sonnet-4-5", "claude-4.5 (estimate: cl100k_base x weights by character class)", False),
        ("models/gemini-2.5-pro", "gemini (estimate: o200k_base x weights by character class)", False),
        ("grok-4", "other (estimate: o200k_base)", False),
    ],
)
def test_names_of_models_vocabularies_and_units(name, told, exact):
    found = meter(name)
    assert (found.name, found.exact) == (told, exact)
    assert isinstance(found, Meter)
    assert found.upper("some text") >= found.count("some text") > 0 or name == "chars"


@pytest.mark.slow
def test_every_model_of_the_catalogue_can_be_counted():
    counts = {model.id: meter(model.id).count("The quick brown fox.") for model in catalogue.models()}
    assert len(counts) > 250
    assert all(4 <= count <= 9 for count in counts.values())


def test_models_share_the_counts_of_their_vocabulary():
    assert meter("gpt-5") is not meter("o200k_base")
    assert meter("gpt-5").memo is meter("gpt-4o").memo is meter("o200k_base").memo
    assert meter("gpt-4").memo is meter("cl100k_base").memo is not meter("gpt-5").memo
    text = "A text that one model's meter has counted. " * 9
    assert meter("gpt-5").count(text) == meter("o200k_base").memo.get(text) is not None


@pytest.mark.parametrize("name", ["gpt-5", "openai/gpt-5-2025-08-07", "claude-sonnet-4-5", "grok-4"])
def test_a_meter_by_a_model_s_name_is_that_model_s(name):
    assert (meter(name).model, meter_for(None, name).model) == (name, name)
    assert name_of(meter(name)) == name
    assert meter(name_of(meter(name))) is meter(name)


@pytest.mark.parametrize(
    ("name", "vocabulary"),
    [("gpt-5", "o200k_base"), ("claude-sonnet-4-5", "claude-4.5"), ("gemini-2.5-pro", "gemini"), ("grok-4", "other")],
)
def test_a_model_s_meter_counts_texts_as_its_vocabulary_does(name, vocabulary):
    own, shared = meter(name), meter(vocabulary)
    text = "Some words, ein paar Wörter, 你好. " * 20
    assert own is not shared
    assert (own.name, own.unit, own.exact) == (shared.name, shared.unit, shared.exact)
    for told in ("count", "upper", "load", "measure"):
        assert getattr(own, told)(text) == getattr(shared, told)(text)
    assert (own.head(text, 9), own.tail(text, 9)) == (shared.head(text, 9), shared.tail(text, 9))


def test_a_model_s_estimate_is_kept_to_its_upper_bound_and_a_meter_to_its_count():
    text = "A text of some length, to be counted. " * 40
    assert meter_for(None, "claude-sonnet-4-5").count(text) == meter("claude-sonnet-4-5").upper_load(text)
    assert meter_for("claude-4.5", None).count(text) == meter("claude-4.5").count(text)
    prompt = brim.fit([brim.Section("a", text * 5)], 600, model="claude-sonnet-4-5")
    assert meter("claude-sonnet-4-5").upper(prompt.text) == prompt.receipt.used <= 600
    assert not prompt.receipt.exact
    assert "upper bound" in prompt.receipt.meter


@pytest.mark.parametrize("name", ["chars/4", "chars/4+1"])
@pytest.mark.parametrize("text", ["日本語の文章です。" * 50, "{}[]();" * 50, "A plain sentence of words. " * 20])
def test_a_rule_of_thumb_is_not_its_own_bound(name, text):
    """`chars/4` counted 112 tokens for 450 characters of Japanese, and called that the most that they can be."""
    found = meter(name)
    assert found.upper(text) == meter("other").upper(text) > found.count(text)
    assert found.upper(text) >= max(meter(real).count(text) for real in ("o200k_base", "cl100k_base", "llama2"))
    assert found.upper("") == 0
    assert brim.fit([brim.Section("a", text)], 10_000, meter=name).receipt.used == found.count(text)


@pytest.mark.parametrize("real", ["cl100k_base", "llama2", "mistral_v1", "gemma2", "qwen3"])
def test_an_unknown_model_keeps_to_its_bound(real, tmp_path):
    """A budget of 4,096 tokens was filled with 4,088 of o200k_base, which were 6,277 of the model's own."""
    said = "昨夜この街では激しい雨が降り、多くの道路が冠水したため、市民は歩いて家に帰らなければならなかった。"
    messages = [{"role": "user" if i % 2 == 0 else "assistant", "content": f"{i} {said * 2}"} for i in range(121)]
    truth = meter(real)
    for sent in (
        brim.Conversations(4_096).request(messages, model="somebody/new-model").messages,
        brim.fit_messages(messages, 4_096, meter="other").messages,
    ):
        assert 900 < truth.count_messages(sent) <= 4_096
    (tmp_path / "brim.yaml").write_text("model: somebody/new-model\nunknown_model: other\nprompt: {total: 4096}\n")
    settings = brim.load_config(tmp_path, environ={}).resolve()
    prompt = settings.fit({"notes": said * 400})
    assert 900 < truth.count(prompt.text) <= 4_096
    assert "upper bound" in prompt.receipt.meter


def test_what_is_remembered_is_bounded_and_the_newest_stays(monkeypatch):
    monkeypatch.setattr(memo, "_MOST_ENTRIES", 10)
    known = memo.Memo()
    for i in range(1000):
        known.put(f"text {i}", i)
        assert [known.get(f"text {j}") for j in range(max(0, i - 4), i + 1)] == [*range(max(0, i - 4), i + 1)]
        assert len(known) <= 10
    assert known.get("text 1") is None


def test_what_is_remembered_is_bounded_in_characters_too(monkeypatch):
    monkeypatch.setattr(memo, "_MOST_CHARS", 200)
    monkeypatch.setattr(memo, "_LONGEST", 100)
    known = memo.Memo()
    for i in range(100):
        known.put(f"{i:030}", i)
        assert len(known) <= 6
    known.put("x" * 101, 1)
    assert known.get("x" * 101) is None
    known.clear()
    for text in ("a" * 100, "b" * 100):
        known.put(text, 1)
    assert len(known) == 2


@pytest.mark.parametrize("no_meter", [[], ["o200k_base"], (), b"x", range(3), {}, 3.5, None])
def test_a_list_is_no_meter_although_it_has_a_count(no_meter):
    with pytest.raises(brim.InvalidType, match="meter must be the name of a model, vocabulary or unit"):
        brim.meter(no_meter)


@pytest.mark.parametrize("name", [*UNITS, "o200k_base", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro", "other", len])
@pytest.mark.parametrize("text", [None, 5, b"x", ["a"]])
def test_only_a_text_is_counted_and_cut(name, text):
    made = brim.meter(name)
    for call in (made.count, partial(made.head, limit=5), partial(made.tail, limit=5)):
        with pytest.raises(brim.InvalidType, match="text must be a str"):
            call(text)


def test_without_a_model_and_a_meter_the_count_is_an_estimate_and_a_warning_says_so_once():
    """ "No model and no meter counts with o200k and says exact." """
    code = (
        "import logging, brim; logging.basicConfig()\n"
        "hello = [{'role': 'user', 'content': 'Hello.'}]\n"
        "session = brim.Session(500); session.add(hello)\n"
        "made = [brim.fit([brim.Section('a', 'b')], budget=50), brim.fit_messages(hello, 50), session.prompt(),"
        " brim.fit_request(messages=hello, budget=50)]\n"
        "print(*(each.receipt.exact for each in made), session.status().exact, *{each.receipt.meter for each in made})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 5 + ["o200k_base"]
    assert done.stderr.count("no model and no meter") == 1
    assert brim.fit([brim.Section("a", "b")], budget=50, meter="o200k_base").receipt.exact
