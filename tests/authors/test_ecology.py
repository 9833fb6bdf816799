"""The ecology document, as its author would check it: its budget object, its strategies, its page, its criteria.

`_count_tokens`, `_truncate_section` and `build_prompt` are the author's methods; `Agent` has them as thin adapters.
Each acceptance criterion is named in `tests/authors/ecology.md`.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import brim

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "tests" / "authors" / "ecology.md"

BUDGET = {
    "context_budget": {
        "total_tokens": 4000,
        "allocations": {
            "system_prompt": {"max_tokens": 500, "priority": "required"},
            "working_memory": {"max_tokens": 800, "priority": "high"},
            "rag_memories": {"max_tokens": 600, "priority": "medium"},
            "action_history": {"max_tokens": 400, "priority": "medium"},
            "recent_events": {"max_tokens": 300, "priority": "low"},
            "subscribed_artifacts": {"max_tokens": 400, "priority": "medium"},
        },
        "overflow_policy": "truncate_low_priority",
    }
}
"""The document's own object, to the letter."""

LIMITS = {name: row["max_tokens"] for name, row in BUDGET["context_budget"]["allocations"].items()}


class Agent:
    """The author's agent, with the methods that the plan adds."""

    def __init__(self, folder, budget=BUDGET, **more):
        (folder / "brim.yaml").write_text(json.dumps({**budget, **more}))
        self.settings = brim.load_config(folder, environ={}).resolve()

    def _count_tokens(self, text):
        return self.settings.meter().count(text)

    def _get_section_budget(self, section):
        return self.settings.value(f"sections.{section}.ceiling")

    def _truncate_section(self, content, max_tokens, section_type):
        name = f"sections.{section_type}"
        keep, marker = self.settings.value(f"{name}.keep"), self.settings.value(f"{name}.marker")
        return brim.cut(content, max_tokens, self.settings.meter(), keep=keep, marker=marker).text

    def build_prompt(self, sections, **options):
        return self.settings.fit(sections, **options)


@pytest.fixture
def agent(tmp_path):
    return Agent(tmp_path)


def lines(count, word="entry"):
    return "\n".join(f"{word} {i}" for i in range(count))


def test_criterion_1_the_document_s_object_sets_the_budget_of_each_section(agent):
    assert {name: agent._get_section_budget(name) for name in LIMITS} == LIMITS
    prompt = agent.build_prompt(dict.fromkeys(LIMITS, lines(900)), budget=4_000)
    for name, limit in LIMITS.items():
        part = prompt.receipt.part(name)
        assert (part.state, part.ceiling) == ("cut", limit)
        assert limit - 12 <= agent._count_tokens(prompt.texts[name]) <= limit


def test_criterion_1_the_same_object_on_the_agents_own_page_is_a_budget_too(agent, caplog):
    own = json.loads(json.dumps(BUDGET))
    own["context_budget"]["allocations"]["rag_memories"] = {"max_tokens": 50, "truncation_strategy": "start"}
    prompt = agent.build_prompt({"working_memory": json.dumps(own), "rag_memories": lines(300)})
    assert caplog.text == ""
    assert prompt.receipt.part("rag_memories").ceiling == 50
    assert prompt.texts["rag_memories"].endswith("entry 299")


def test_criterion_2_required_first_then_high_then_the_rest(agent):
    """Steps 1 to 5 of the enforcement, at totals that leave less and less."""
    sections = {name: lines(900) for name in LIMITS}
    order = ["recent_events", "subscribed_artifacts", "action_history", "rag_memories", "working_memory"]
    lost = []
    for total in range(3_000, 500, -50):
        receipt = agent.build_prompt(sections, budget=total).receipt
        assert total - 25 <= receipt.used <= total or receipt.used > 2_900
        assert receipt.part("system_prompt").used > 480
        for name in order:
            if receipt.part(name).used < LIMITS[name] - 40 and name not in lost:
                lost.append(name)
    assert lost == order


STRATEGIES = {
    "action_history": ("[...older entries truncated]", "start"),
    "failure_history": ("[...older entries truncated]", "start"),
    "rag_memories": ("[...lower relevance truncated]", "end"),
    "working_memory": ("[...truncated]", "end"),
}


@pytest.mark.parametrize("section", STRATEGIES)
def test_criterion_3_each_type_of_section_is_truncated_in_its_way(agent, section):
    marker, side = STRATEGIES[section]
    text = lines(400)
    assert agent._truncate_section("short", 100, section) == "short"
    cut = agent._truncate_section(text, 100, section)
    assert 88 <= agent._count_tokens(cut) <= 100
    if side == "start":
        assert cut.startswith(marker + "\n")
        assert text.endswith(cut.removeprefix(marker))
    else:
        assert cut.endswith("\n" + marker)
        assert text.startswith(cut.removesuffix("\n" + marker))


@pytest.mark.parametrize("section", STRATEGIES)
def test_criterion_3_one_entry_that_is_too_big_is_not_the_end_of_the_others(agent, section):
    """Their loop removes lines until one is left, and returns it at any size."""
    entries = [f"entry {i}: watered the beds" for i in range(6)]
    for at in (0, 3, 6):
        told = [*entries[:at], "the almanac " * 900, *entries[at:]]
        text = agent.build_prompt({section: told}, budget=150).text
        assert agent._count_tokens(text) <= 150
        assert all(entry in text for entry in entries)
        assert "the almanac the almanac" in text


@pytest.mark.parametrize(("policy", "state"), [("truncate_low_priority", "cut"), ("drop_low_priority", "dropped")])
def test_criterion_4_the_overflow_policy_counts_when_the_total_is_short(tmp_path, policy, state):
    budget = {"context_budget": {**BUDGET["context_budget"], "overflow_policy": policy, "total_tokens": 1_000}}
    agent = Agent(tmp_path, budget)
    told = {"system_prompt": lines(80), "working_memory": lines(120), "recent_events": lines(100)}
    receipt = agent.build_prompt(told).receipt
    assert receipt.part("system_prompt").state == receipt.part("working_memory").state == "whole"
    assert receipt.part("recent_events").state == state
    free = agent.build_prompt({"recent_events": lines(900)}).receipt
    assert free.part("recent_events").state == "cut", "700 tokens are free"


def test_criterion_5_the_prompt_shows_the_use_as_the_document_prints_it(tmp_path):
    budget = {"context_budget": {**BUDGET["context_budget"], "show_budget_usage": True}}
    agent = Agent(tmp_path, budget, meter="chars")
    sizes = {"system_prompt": 450, "working_memory": 780, "rag_memories": 400}
    text = agent.build_prompt({name: "x" * size for name, size in sizes.items()}).text
    assert text.split("\n\n")[-1] == (
        f"## Context Budget\nUsing {len(text)}/4000 chars ({len(text) * 100 // 4000}%)\n"
        "- system_prompt: 450/500\n- working_memory: 780/800 (near limit!)\n- rag_memories: 400/600"
    )
    assert "## Context Budget" not in Agent(tmp_path).build_prompt({"system_prompt": "x"}).text


def test_criterion_6_required_sections_are_whole_or_an_error_with_numbers(agent):
    told = {"recent_events": lines(9_000), "working_memory": lines(9_000), "system_prompt": lines(100)}
    for total in (4_000, 1_000, 420):
        assert lines(100) in agent.build_prompt(told, budget=total).text
    with pytest.raises(brim.DoesNotFit, match=r"system_prompt [\d,]+\)"):
        agent.build_prompt(told, budget=200)


TICK = """
import sys
from pathlib import Path
import brim

settings = brim.load_config(Path(sys.argv[1]), environ={"BRIM_TRUST": sys.argv[1]}).resolve()
with settings.store() as store:
    if len(sys.argv) > 2:
        saved = store.load("artifact", "agent-7/working_memory")
        store.save("artifact", "agent-7/working_memory", {"content": sys.argv[2]}, version=saved.version if saved else 0)
    page = store.load("artifact", "agent-7/working_memory").body["content"]
memories = "\\n".join(f"memory {i}" for i in range(300))
prompt = settings.fit({"system_prompt": "You tend a garden.", "working_memory": page, "rag_memories": memories})
print(prompt.receipt.part("rag_memories").ceiling, prompt.receipt.budget, prompt.text)
"""


def test_criterion_7_the_agents_budget_survives_a_restart_with_its_artifact_in_a_store(tmp_path):
    """Three processes and one SQLite file: what one wrote on its page, the next has as its budget."""
    (tmp_path / "brim.yaml").write_text(json.dumps({**BUDGET, "store": {"url": f"sqlite:///{tmp_path / 'world.db'}"}}))

    def tick(*page):
        done = subprocess.run(
            [sys.executable, "-c", TICK, str(tmp_path), *page], capture_output=True, text=True, check=True
        )
        return done.stdout

    own = "Memories are dear.\n```yaml\ncontext_budget: {total_tokens: 900, sections: {rag_memories: 70}}\n```\n"
    first = tick(own)
    assert first.startswith("70 900 ")
    assert tick() == first
    assert tick(own + "```yaml\ncontext_budget: {total_tokens: 5}\n```\n").startswith("70 900 ")
    assert "leaves no room" in tick()


def test_token_counting_falls_back_for_an_unknown_model_with_a_warning(tmp_path, caplog):
    agent = Agent(tmp_path, model="a-lab/its-new-model")
    assert 5 <= agent._count_tokens("The tomatoes need water.") <= 10  # 5 of o200k_base, and the bound of any model.
    assert "is not in the catalogue" in caplog.text


def test_the_total_is_derived_from_the_model_where_it_is_left_out(tmp_path):
    rest = {key: value for key, value in BUDGET["context_budget"].items() if key != "total_tokens"}
    agent = Agent(tmp_path, {"context_budget": {**rest, "output_reserve": 192}}, model="gpt-4")
    assert agent.build_prompt({"system_prompt": "x"}).receipt.budget == 8_000


def test_no_action_type_is_added_and_sections_that_are_off_use_nothing(agent):
    page = "```yaml\ncontext_budget: {sections: {recent_events: {enabled: false}}}\n```\n"
    receipt = agent.build_prompt({"working_memory": page, "recent_events": lines(50)}).receipt
    assert (receipt.part("recent_events").state, receipt.part("recent_events").used) == ("disabled", 0)


def test_every_criterion_of_the_document_is_on_the_page_with_its_test():
    page = PAGE.read_text(encoding="utf-8")
    here = {name for name in globals() if name.startswith("test_")} - {
        "test_every_criterion_of_the_document_is_on_the_page_with_its_test"
    }
    assert here <= set(re.findall(r"`(test_\w+)`", page))
