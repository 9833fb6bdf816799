"""The broker document, as its author would check it: its own test file through an adapter of a few lines, its stages, its rules.

The adapter has the names that the document gives: `count_tokens`, `TokenBudget`, `truncate_to_budget` and a builder with
`format_prompt`. Each criterion is named in `tests/authors/broker.md`.
"""

import logging
import re
from pathlib import Path

import pytest

import brim

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "tests" / "authors" / "broker.md"


# The adapter.


def settings(profile="broker", **flags):
    return brim.load_config(environ={}, flags={key: value for key, value in flags.items() if value}).resolve(
        profile=profile
    )


def count_tokens(text, model=None):
    return settings("broker", model=model).meter().count(text) if model else brim.meter("chars/4").count(text)


class TokenBudget:
    def __init__(self, total=16384, **shares):
        given = {"prompt_pct": 0.40, "memory_pct": 0.25, "social_pct": 0.15, "institutional_pct": 0.10}
        self.__dict__.update({"total": total, **given, "reserve_pct": 0.10, **shares})

    def section_budget(self, name):
        share = vars(self).get(f"{name}_pct", self.reserve_pct)
        return brim.Shares(self.total, {"it": share, "reserve": 1 - share}).of("it")

    def __getattr__(self, name):
        return self.section_budget(name.removesuffix("_budget"))


def truncate_to_budget(text, max_tokens, model=None):
    return brim.cut(text, max_tokens, "chars/4", keep="lines", marker="\n... (truncated)").text


class TieredContextBuilder:
    profile = "broker"

    def __init__(self, prompt_templates, max_prompt_tokens=16384, **flags):
        self.prompt_templates, self.max_prompt_tokens = prompt_templates, max_prompt_tokens
        self.settings = settings(self.profile, **flags)

    def format_prompt(self, context):
        contents = {name: value for name, value in context.items() if isinstance(value, str | list)}
        template = self.prompt_templates[context["agent_type"]]
        asked = {"template": template, "budget": self.max_prompt_tokens, "agent": context["agent_id"]}
        return self.settings.fit(contents, **asked).text


class BaseAgentContextBuilder(TieredContextBuilder):
    profile = "broker-base"


# The document's own tests, by their names.


class TestCountTokens:
    def test_empty_string(self):
        assert count_tokens("") == 0

    def test_simple_string(self):
        assert count_tokens("Hello world") > 0

    def test_len_div4_fallback(self):
        assert count_tokens("a" * 100) == 25

    def test_model_none_uses_fallback(self):
        text = "Hello world, this is a test"
        assert count_tokens(text, model=None) == len(text) // 4


class TestTokenBudget:
    def test_default_budget(self):
        budget = TokenBudget()
        found = (budget.total, budget.prompt_budget, budget.memory_budget)
        assert found == (16384, 6553, 4096)
        assert (budget.social_budget, budget.institutional_budget) == (2457, 1638)

    def test_custom_budget(self):
        """It contradicts `test_percentages_sum_to_one`: these shares are 125 percent in all. `Shares` refuses them."""
        assert TokenBudget(total=8192, memory_pct=0.50).memory_budget == 4096
        with pytest.raises(brim.InvalidValue, match=r"100% in all \(prompt 40%, memory 50%, .*\), not '125%'"):
            brim.Shares(8192, {"prompt": 0.4, "memory": 0.5, "social": 0.15, "institutional": 0.1, "reserve": 0.1})

    def test_section_budget_lookup(self):
        budget = TokenBudget(total=10000)
        assert budget.section_budget("memory") == 2500
        assert budget.section_budget("unknown") == budget.reserve_budget == 1000

    def test_percentages_sum_to_one(self):
        budget = TokenBudget()
        names = ("prompt", "memory", "social", "institutional", "reserve")
        assert abs(sum(getattr(budget, f"{name}_pct") for name in names) - 1.0) < 0.001


class TestTruncateToBudget:
    def test_short_text_unchanged(self):
        assert truncate_to_budget("Short text", max_tokens=100) == "Short text"

    def test_long_text_truncated(self):
        """The sketch returns 14 tokens for these 10."""
        text = "\n".join(f"Line {i}" for i in range(100))
        result = truncate_to_budget(text, max_tokens=10)
        assert len(result) < len(text)
        assert "truncated" in result
        assert 8 <= count_tokens(result) <= 10

    def test_empty_text(self):
        assert truncate_to_budget("", max_tokens=10) == ""

    def test_preserves_beginning(self):
        text = "IMPORTANT FIRST LINE\n" + "\n".join(f"line {i}" for i in range(50))
        assert truncate_to_budget(text, max_tokens=20).startswith("IMPORTANT FIRST LINE")


CONTEXT = {
    "agent_id": "a1",
    "agent_type": "default",
    "state": {},
    "perception": {},
    "objectives": {},
    "memory": ["Very long memory " * 100],
    "available_skills": [],
}


class TestGracefulTruncation:
    @pytest.mark.parametrize("builder", [BaseAgentContextBuilder, TieredContextBuilder])
    @pytest.mark.parametrize("limit", [10, 100, 300])
    def test_no_runtime_error_on_overflow(self, builder, limit):
        """The document only asks for a `str`: the start of the memory and a marker are asked for here."""
        result = builder({"default": "{memory}"}, limit, meter="chars/4").format_prompt(CONTEXT)
        assert isinstance(result, str)
        assert result.startswith("Very lo")
        assert "truncated)" in result
        assert limit - 6 <= len(result) // 4 <= limit


# What the document asks for beyond its tests.


@pytest.mark.parametrize("model", ["household:4b", "mistral-of-ours"])
def test_names_of_ollama_fall_back_to_a_quarter_of_the_characters(model, caplog):
    assert count_tokens("a" * 100, model) == 25
    assert f"the model '{model}' is not in the catalogue" in caplog.text


@pytest.mark.parametrize("model", ["gpt-4", "gpt-3.5-turbo", "o1", "o3"])
def test_the_models_of_openai_are_counted_by_their_own_vocabulary(model):
    assert count_tokens("漢字かな交じり文", model) > len("漢字かな交じり文") // 4


def lines(word, count):
    return "\n".join(f"{word} {i} of this year" for i in range(count))


TEMPLATE = """\
You are {agent_name}, a household near the river.
{personal_section}
Neighbours say:
{social_gossip}
News:
{global_news}
Policy:
{institutional_section}
Options:
{options}
"""
TIERS = {
    "agent_id": "household-7",
    "agent_type": "default",
    "personal_section": lines("memory", 20),
    "social_gossip": lines("gossip", 40),
    "global_news": lines("news", 40),
    "institutional_section": "The office grants subsidies to all who ask in time.\n" * 40,
    "options": "1. Do nothing\n2. Buy insurance",
}


def test_the_stages_of_the_tiered_builder_by_the_documents_own_names(caplog):
    """Gossip to 3 lines, then news to 2, then the institution to 100 tokens, and no stage more than it takes."""
    builder = TieredContextBuilder({"default": TEMPLATE}, meter="chars/4")
    whole = builder.format_prompt(TIERS)
    assert TIERS["institutional_section"] in whole
    size, seen = len(whole) // 4, []
    for limit in range(size, 200, -20):
        builder.max_prompt_tokens = limit
        text = builder.format_prompt(TIERS)
        assert limit - 420 <= len(text) // 4 <= limit, "a stage takes the whole of what it takes"
        assert text.rstrip().endswith("2. Buy insurance")
        parts = re.split(r"\n(?:Neighbours say|News|Policy|Options):\n", text)
        counts = [len(part.split("\n")) for part in parts[1:3]] + [len(parts[3]) // 4 <= 100]
        if counts not in seen:
            seen.append(counts)
    assert seen[:4] == [[40, 40, False], [3, 40, False], [3, 2, False], [3, 2, True]]
    assert "gets the defaults" not in "".join(line for line in caplog.text.splitlines() if "agent_" not in line)


def test_nothing_raises_whatever_the_template_says():
    """A missing variable is [N/A]; a variable without a place, a place twice, a brace and a long template are no errors."""
    cases = {
        "{memory} {weather}": "wet cellar [N/A]",
        "{memory}, again: {memory}": "wet cellar, again: wet cellar",
        "{{json}} {memory}": "{json} wet cellar",
        "No place at all.": "No place at all.",
    }
    for template, text in cases.items():
        builder = TieredContextBuilder({"default": template})
        assert builder.format_prompt({**CONTEXT, "memory": ["wet cellar"], "unused": "text"}) == text
    for limit in (0, 1, 2, 5, 8, 20, 60):
        builder = TieredContextBuilder(
            {"default": "The rules of the house. " * 40 + "{memory}"}, limit, meter="chars/4"
        )
        text = builder.format_prompt({**CONTEXT, "memory": ["wet cellar"]})
        assert len(text) // 4 <= limit
        assert limit < 20 or text.startswith("The rules of the house. The")
        assert limit < 20 or "... (context truncated)" in text


def test_prompts_that_fit_are_the_same_bytes_as_before():
    variables = {name: value for name, value in TIERS.items() if not name.startswith("agent_")}
    text = TEMPLATE.format(agent_name="[N/A]", **variables)
    assert TieredContextBuilder({"default": TEMPLATE}).format_prompt(TIERS) == text
    assert BaseAgentContextBuilder({"default": TEMPLATE}).format_prompt(TIERS) == text


def test_memory_is_trimmed_from_its_oldest_entries_by_max_memory_tokens():
    memories = [f"In year {i} the water came to step {i}." for i in range(30)]
    prompt = settings("broker", meter="chars/4", **{"sections.memory.ceiling": 60}).fit({"memory": memories})
    kept = [line for line in prompt.text.split("\n") if line in memories]
    assert kept == memories[-len(kept) :]
    assert len(kept) >= 4
    assert len(prompt.text) // 4 <= 60


@pytest.mark.parametrize("at", [0, 2, 4])
def test_one_memory_of_17_000_tokens_does_not_empty_the_prompt(at):
    memories = [f"In year {i} the water came to step {i}." for i in range(4)]
    context = {**CONTEXT, "memory": [*memories[:at], "flood " * 17_000, *memories[at:]]}
    text = TieredContextBuilder({"default": "Rules.\n{memory}\nAct."}).format_prompt(context)
    assert all(memory in text for memory in memories)
    assert text.startswith("Rules.\n")
    assert text.endswith("\nAct.")
    assert 15_000 < brim.meter("o200k_base").count(text) <= 16_384


def test_the_log_has_the_documents_words(caplog):
    caplog.set_level(logging.WARNING, "brim")
    TieredContextBuilder({"default": TEMPLATE}, 400, meter="chars/4").format_prompt(TIERS)
    BaseAgentContextBuilder({"default": "{memory}"}, 10, meter="chars/4").format_prompt(CONTEXT)
    told = [record.getMessage() for record in caplog.records if "[Context:Budget]" in record.getMessage()]
    assert re.fullmatch(
        r"\[Context:Budget\] Prompt over budget for household-7: ~\d+ tokens \(limit 400\)\. Truncating sections\.",
        told[0],
    )
    assert told[-1] == "[Context:Budget] Prompt over budget for a1: ~425 tokens (limit 10). Hard truncating."


def test_every_criterion_of_the_document_is_on_the_page_with_its_test():
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:\w+::)?(test_\w+)`", page))
    here = {name for name in globals() if name.startswith("test_")}
    classes = (TestCountTokens, TestTokenBudget, TestTruncateToBudget, TestGracefulTruncation)
    here |= {name for each in classes for name in vars(each) if name.startswith("test_")}
    assert here - {"test_every_criterion_of_the_document_is_on_the_page_with_its_test"} <= named
