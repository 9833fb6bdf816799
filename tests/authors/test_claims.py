"""Sentences of the five pages under `docs/authors` that no criterion covers, run with the documents' own names and words.

Each test opens with the sentences of the page that it holds.
"""

import json
import logging
import subprocess
import sys

import pytest

import brim


def resolved(profile=None, **flags):
    return brim.load_config(environ={}, flags=flags).resolve(profile=profile)


# --- broker


def test_broker_a_list_says_how_many_of_its_entries_were_left_out():
    """ "in a list, `... (truncated) [14 older entries omitted]` where a stage or a ceiling left entries out"."""
    memories = [f"In year {i} the water came to step {i} of the house." for i in range(30)]
    for settings, budget in ((resolved("broker"), 200), (resolved("broker", **{"sections.memory.ceiling": 150}), None)):
        text = settings.fit({"memory": memories, "options": "1. Do nothing"}, budget=budget).texts["memory"]
        mark, *kept = text.split("\n")
        assert mark == f"... (truncated) [{30 - len(kept)} older entries omitted]"
        assert kept == memories[-len(kept) :]
        assert len(kept) >= 8


def test_broker_what_a_stage_removes_is_a_loss_and_the_total_is_prompt_total_or_budget():
    """ "What a stage removes is a loss like any other: the receipt has its size, its reason and its handle"."""
    gossip = "\n".join(f"Neighbour {i} saw the river rise." for i in range(900))
    for settings, budget in ((resolved("broker"), 500), (resolved("broker", **{"prompt.total": 500}), None)):
        receipt = settings.fit({"social_gossip": gossip, "prompt": "You are a household."}, budget=budget).receipt
        (loss,) = receipt.losses
        assert receipt.budget == 500
        assert loss.units > 5_000
        assert "its last 3 of 900 lines" in loss.reason
        assert loss.handle


# --- ecology


def test_ecology_the_profile_has_the_limits_of_the_table_and_4000_without_a_model():
    """ "without it, the window of the model; without a model, 4,000", and the table of sections."""
    made = resolved("ecology")
    limits = {
        "system_prompt": (500, "required"),
        "working_memory": (800, "high"),
        "rag_memories": (600, "medium"),
        "action_history": (400, "medium"),
        "failure_history": (200, "medium"),
        "recent_events": (300, "low"),
        "subscribed_artifacts": (400, "medium"),
        "diary": (500, "medium"),
    }
    receipt = made.fit(dict.fromkeys(limits, "One line.\n" * 900)).receipt
    assert receipt.budget == 4_000
    assert {part.name: part.ceiling for part in receipt.parts if part.name in limits} == {
        name: limit for name, (limit, _) in limits.items()
    }
    for name, (_, priority) in limits.items():
        key = name if name != "diary" else "*"
        assert made.value(f"sections.{key}.priority") == priority


def test_ecology_the_last_budget_counts_and_one_that_leaves_no_room_does_not(caplog):
    """ "Of several budgets on a page the last one counts. If it leaves no room for the page or for what is required, the
    one of the settings counts ... The first line of the page tells the agent what was left out, and the log has the same"."""
    caplog.set_level(logging.WARNING, "brim")

    def page(*budgets):
        return "".join(f"~~~yaml\ncontext_budget: {each}\n~~~\n" for each in budgets)

    events = {"recent_events": "Rain. " * 400, "system_prompt": "You tend a garden."}
    made = resolved("ecology")
    two = page("{sections: {recent_events: 90}}", "{sections: {recent_events: 50}}")
    assert made.fit({"working_memory": two, **events}).receipt.part("recent_events").ceiling == 50
    bad = page("{sections: {recent_events: 90}}", "{total_tokens: 5, sections: {recent_events: 50}}")
    prompt = made.fit({"working_memory": bad, **events})
    assert prompt.receipt.part("recent_events").ceiling == 300
    first = prompt.texts["working_memory"].split("\n")[0]
    assert "total_tokens" in first or "budget" in first
    assert first.strip("[]").split(": ", 1)[-1][:40] in caplog.text


def test_ecology_a_section_that_the_agent_calls_required_is_served_first():
    """ "A section that the agent itself calls `required` is served first, and truncated if it must be"."""
    page = "~~~yaml\ncontext_budget: {sections: {recent_events: {priority: required, max_tokens: 1000}}}\n~~~\n"
    contents = {"working_memory": page, "rag_memories": "m\n" * 900, "recent_events": "Rain. " * 9_000}
    receipt = resolved("ecology").fit(contents, budget=1_500).receipt
    assert receipt.part("recent_events").used > 900
    assert receipt.used <= 1_500


# --- forge


def test_forge_a_section_that_is_not_in_the_table_comes_after_it_and_entries_beyond_most_are_no_losses():
    """ "A section that is not in the table comes after it"; "entries beyond `most` are not counted as losses"."""
    lessons = [f"Attempt {i}: run aide --init." for i in range(20)]
    prompt = resolved("forge").fit({"weather": "It rains.", "rule": "V-2301", "lessons": lessons})
    assert prompt.text.split("\n\n")[-1] == "It rains."
    assert prompt.text.startswith("V-2301")
    assert prompt.receipt.losses == ()


def test_forge_room_is_left_for_the_answer_without_a_budget():
    """ "Without a budget, the window is the budget, and room is left for the answer (`window.reserve`, or an eighth of the
    window up to 4,096 tokens)"."""
    turn = [{"role": "user", "content": f"{i} " + "word " * 400} for i in range(90)]
    for flags, most in (({}, 16_384 - 2_048), ({"window.reserve": 5_000}, 11_384)):
        made = resolved("forge", model="gpt-5", **flags)
        used = brim.meter("gpt-5").count_messages(made.fit_messages(turn).messages)
        assert most - 1_500 < used <= most


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


@pytest.mark.slow
def test_ecology_the_agents_budget_survives_a_restart_with_its_artifact_in_a_store(tmp_path):
    """Three processes and one SQLite file: what one wrote on its page, the next has as its budget."""
    (tmp_path / "brim.yaml").write_text(
        json.dumps({"profile": "ecology", "store": {"url": f"sqlite:///{tmp_path / 'world.db'}"}})
    )

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
