"""S0: prioritised sections under a hard budget."""

import pytest

import brim
from brim import Section

FORGE = {"meter": "chars/4+1", "order": "priority", "policy": "truncate_then_stop"}
MARKER = "\n[... truncated for budget ...]"


def forge(rows, budget, **options):
    """Assemble (priority, label, content) rows as the harness does."""
    sections = [Section(label, content, priority=number, floor=101, marker=MARKER) for number, label, content in rows]
    return brim.fit(sections, budget, **{**FORGE, **options})


@pytest.mark.requirement("S0.1")
@pytest.mark.parametrize("budget", [50, 200, 500, 1000, 5000])
def test_nothing_exceeds_the_budget_separators_and_markers_included(budget):
    rows = [(i % 7, f"s{i}", f"section {i} " * (i * 13 % 90)) for i in range(40)]
    prompt = forge(rows, budget)
    assert min(budget - 102, 4_300) <= len(prompt.text) // 4 + 1 <= budget
    assert prompt.text.startswith("section 7 ")
    assert brim.meter("chars/4+1").count(prompt.text) == prompt.receipt.used <= budget


@pytest.mark.requirement("S0.1")
def test_two_sections_of_99_characters_do_not_make_51_of_50():
    """The sketch forgot its separators: two 99-char sections at 50 gave 51."""
    prompt = brim.fit([Section("a", "a" * 99), Section("b", "b" * 99)], 50, meter="chars/4+1")
    assert 48 <= brim.meter("chars/4+1").count(prompt.text) <= 50
    assert prompt.text.startswith("a" * 99 + "\n\n" + "b" * 60)


@pytest.mark.requirement("S0.2")
@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("abcd", 2), ("x" * 400, 101)])
def test_the_estimator_is_a_quarter_of_the_characters_and_one(text, count):
    assert brim.meter("chars/4+1").count(text) == count


@pytest.mark.requirement("S0.3")
def test_the_body_is_in_priority_order_ties_in_input_order_labels_not_printed():
    rows = [(2, "third", "C"), (0, "first", "A"), (1, "second", "B"), (1, "tie", "B2")]
    assert forge(rows, 100).text == "A\n\nB\n\nB2\n\nC"


@pytest.mark.requirement("S0.4")
def test_a_section_is_whole_when_it_fits_exactly():
    meter = brim.meter("chars/4+1")
    text = "x" * 400 + "\n\n" + "y" * 200
    rows = [(0, "a", "x" * 400), (1, "b", "y" * 200)]
    assert forge(rows, meter.count(text)).text == text
    assert forge(rows, meter.count(text) - 1).receipt.truncated


@pytest.mark.requirement("S0.6")
def test_the_sketch_stops_after_the_first_overflow_and_the_default_goes_on():
    """The sketch lost a 5-token directive although 99 tokens were free."""
    rows = [(0, "a", "x" * 400), (1, "b", "y" * 9000), (2, "directive", "z" * 16)]
    assert forge(rows, 150).receipt.part("directive").state == "dropped"
    assert forge(rows, 150, policy="stop").receipt.part("directive").state == "dropped"
    assert forge(rows, 150, policy="truncate_then_continue").receipt.part("directive").state == "whole"


@pytest.mark.requirement("S0.8")
def test_preflight_allows_16384_and_refuses_16385():
    window = brim.Window(16_384)
    meter = brim.meter("chars")
    assert brim.fit([Section("a", "x" * 16_384, required=True)], window, meter=meter).receipt.used == 16_384
    with pytest.raises(brim.DoesNotFit) as refused:
        brim.fit([Section("a", "x" * 16_385, required=True)], window, meter=meter)
    assert (refused.value.needed, refused.value.available, refused.value.short) == (16_385, 16_384, 1)
    assert "16,385" in str(refused.value)


@pytest.mark.requirement("S0.12")
def test_a_selector_takes_the_first_n_characters_and_the_receipt_says_so():
    """A text was cut at its 400th character, and the receipt said `whole`."""
    plan = Section("plan", "p" * 1000, ceiling=431, marker=MARKER)
    prompt = brim.fit([plan], 10_000, meter="chars")
    assert prompt.text == "p" * 400 + MARKER
    assert (prompt.receipt.part("plan").state, prompt.receipt.part("plan").size) == ("cut", 1000)


LESSONS = "Attempt 1: edited the file.\nAttempt 2: restarted it,\nwhich took long.\nAttempt 3: read the log."


@pytest.mark.requirement("S0.12")
@pytest.mark.parametrize(
    ("keep", "most", "kept"),
    [
        pytest.param("newest", 1, "Attempt 3: read the log.", id="the last"),
        pytest.param("newest", 2, "Attempt 2: restarted it,\nwhich took long.\nAttempt 3: read the log.", id="wrapped"),
        pytest.param("best", 2, "Attempt 1: edited the file.\nAttempt 2: restarted it,\nwhich took long.", id="first"),
        pytest.param("newest", 3, LESSONS, id="all"),
    ],
)
def test_a_selector_on_a_text_takes_its_entries_and_what_it_leaves_is_a_loss(keep, most, kept):
    """`lessons` as one text became `": c"`: its last three characters."""
    prompt = brim.fit([Section("lessons", LESSONS, keep=keep, most=most)], 10_000, meter="chars")
    part = prompt.receipt.part("lessons")
    assert prompt.text == kept
    assert (part.state, part.size) == (("cut" if most < 3 else "whole"), len(LESSONS))
    assert [loss.name for loss in prompt.receipt.losses] == (["lessons"] if most < 3 else [])


def settings(profile, **flags):
    """Return what holds for one of the harness's agents."""
    return brim.load_config(environ={}, flags=flags).resolve(profile=profile)


WORKER_TABLE = {
    "rule": (0, None, 100),
    "directive": (1, None, 200),
    "plan": (2, None, 400),
    "lessons": (3, 3, 600),
    "banned": (4, 5, 500),
    "preferred": (5, 3, 400),
    "strategic": (6, 2, 300),
}
"""The worker's sections: how essential each is, how many entries of it are looked at, its typical characters."""


def worker(attempts=20):
    return {
        "rule": "V-2301: the audit database must exist",
        "directive": "Call apply_fix once and return.",
        "plan": "Back up the file. " * 60,
        "lessons": [f"Attempt {i + 1}: lesson" for i in range(attempts)],
        "banned": [f"banned {i}" for i in range(9)],
        "preferred": [f"preferred {i}" for i in range(9)],
        "strategic": [f"strategic {i}" for i in range(9)],
    }


@pytest.mark.requirement("S0.2")
def test_the_empty_text_counts_nothing_unless_the_sketch_itself_is_given_as_a_meter():
    def strict(text):
        return len(text) // 4 + 1

    empty = [Section("a", "")]
    assert settings("forge-literal").meter().count("") == brim.fit(empty, 10, meter="chars/4+1").receipt.used == 0
    assert brim.fit(empty, 10, meter=strict).receipt.used == 1


@pytest.mark.requirement("S0.5", "S0.6")
def test_the_literal_profile_is_the_sketch_and_the_usual_one_loses_no_small_section():
    """99 tokens were free and a directive of 5 was dropped."""
    contents = {"plan": "x" * 396, "lessons": ["y" * 4000], "strategic": ["z" * 16]}
    literal = settings("forge-literal").fit(contents, budget=201)
    assert literal.text == "x" * 396
    usual = settings("forge", meter="chars/4+1").fit(contents, budget=201)
    assert usual.text == "x" * 396 + "\n\n" + "z" * 16


@pytest.mark.requirement("S0.5")
@pytest.mark.parametrize("profile", ["forge", "forge-literal"])
@pytest.mark.parametrize(("left", "state"), [(100, "dropped"), (101, "cut")])
def test_the_profile_cuts_from_101_units_on_and_drops_below(profile, left, state):
    meter = brim.meter("chars/4+1")
    contents = {"plan": "x" * 400, "notes": "y" * 9000}
    budget = meter.count("x" * 400) + meter.count("\n\n") + left
    part = settings(profile, meter="chars/4+1").fit(contents, budget=budget).receipt.part("notes")
    assert part.state == state


@pytest.mark.requirement("S0.1")
@pytest.mark.parametrize("budget", [20, 50, 100, 126])
def test_an_essential_section_that_is_too_big_is_cut_and_not_lost(budget):
    """At a budget of 100 one section of 126 tokens gave an empty prompt."""
    prompt = settings("forge", **{"sections.rule.most": 9999}).fit({"rule": "word " * 500}, budget=budget)
    assert prompt.text.endswith(MARKER)
    assert budget - 3 <= prompt.receipt.used <= budget


@pytest.mark.requirement("S0.9")
def test_the_workers_table_is_in_the_profile():
    held = settings("forge")
    for name, (priority, most, _) in WORKER_TABLE.items():
        assert (held.value(f"sections.{name}.priority"), held.value(f"sections.{name}.most")) == (priority, most)
    assert (held.value("prompt.total"), held.window().size) == (8_000, 16_384)


@pytest.mark.requirement("S0.9")
@pytest.mark.parametrize("profile", ["forge", "forge-literal"])
def test_a_prompt_of_the_tables_typical_sizes_has_625_tokens_and_nothing_of_it_is_lost(profile):
    """A directive of 278 characters lost its last sentence."""
    words = "word " * 500
    contents = {
        name: words[:size] if most is None else [words[: size // most]] * most
        for name, (_, most, size) in WORKER_TABLE.items()
    }
    prompt = settings(profile).fit(contents)
    assert not prompt.receipt.truncated
    assert 2_500 <= len(prompt.text) <= 2_500 + 2 * 6 + 2 + 4 + 2 + 1
    assert 625 <= brim.meter("chars/4+1").count(prompt.text) <= 632
    longer = settings(profile).fit({**contents, "rule": words[:160], "directive": words[:274] + "End."})
    assert longer.text.split("\n\n")[:2] == [words[:160], words[:274] + "End."]


@pytest.mark.requirement("S0.9", "S0.12")
def test_of_what_the_worker_is_given_just_the_table_reaches_its_prompt():
    prompt = settings("forge-literal").fit(worker())
    parts = prompt.text.split("\n\n")
    assert parts[2] == worker()["plan"][:399] + MARKER
    assert parts[3].split("\n") == [f"Attempt {i}: lesson" for i in (18, 19, 20)]
    assert parts[4].split("\n") == [f"banned {i}" for i in range(5)]
    assert parts[5].split("\n") == [f"preferred {i}" for i in range(3)]
    assert parts[6].split("\n") == ["strategic 7", "strategic 8"]
    assert [loss.name for loss in prompt.receipt.losses] == ["plan"]


@pytest.mark.requirement("S0.10")
@pytest.mark.parametrize("budget", [3_000, 1_000, 400, 60, 20])
def test_with_a_thousand_rules_the_counts_survive_and_the_remaining_rules_go_first(budget):
    rules = [f"V-{i}: a rule about the audit of files" for i in range(1000)]
    contents = {
        "counts": "fixed 3, escalated 200, skipped 1",
        "failing": rules[:10],
        "banned": [f"banned pattern {i}" for i in range(9)],
        "lessons": [f"lesson {i}" for i in range(9)],
        "remediated": rules[:40],
        "escalated": rules[:200],
        "remaining": rules[10:],
    }
    receipt = settings("forge-architect").fit(contents, budget=budget).receipt
    assert 0.9 * budget <= receipt.used <= budget or budget == 20
    assert receipt.part("counts").state == "whole"
    lost = [loss.name for loss in receipt.losses]
    assert "remaining" in lost
    assert lost == ["remaining"] or receipt.part("remaining").state == "dropped"
    assert (receipt.part("failing").state == "whole") == (budget >= 400)
    listed = [part.name for part in receipt.parts]
    assert listed == ["counts", "failing", "banned", "lessons", "remediated", "escalated", "remaining"]


def numbered(name, count):
    return [f"{name} {i}" for i in range(count)]


@pytest.mark.requirement("S0.10")
def test_the_architect_sees_just_its_table_each_list_from_its_own_side():
    """Top is the first, last the newest: no list is switched off, shortened to five or turned around."""
    sizes = {"failing": 30, "banned": 9, "lessons": 9, "remediated": 40, "escalated": 20, "remaining": 50}
    contents = {"counts": "fixed 3, escalated 20, skipped 1", **{name: numbered(name, n) for name, n in sizes.items()}}
    prompt = settings("forge-architect").fit(contents)
    assert prompt.text.split("\n\n") == [
        "fixed 3, escalated 20, skipped 1",
        "\n".join(numbered("failing", 10)),
        "\n".join(numbered("banned", 5)),
        "\n".join(numbered("lessons", 3)),
        "\n".join(numbered("remediated", 40)[-5:]),
        "\n".join(numbered("escalated", 20)),
        "\n".join(numbered("remaining", 50)),
    ]
    assert not prompt.receipt.truncated


@pytest.mark.requirement("S0.11")
def test_the_reflector_sees_just_its_table_in_its_order():
    contents = {
        "history": numbered("history", 12),
        "directive": "Answer with CAUSE.",
        "lessons": numbered("lessons", 90),
        "attempt": "edited the file",
        "rule": "V-2301: a rule",
    }
    assert settings("forge-reflector").fit(contents).text.split("\n\n") == [
        "V-2301: a rule",
        "edited the file",
        "\n".join(numbered("lessons", 90)[-3:]),
        "Answer with CAUSE.",
        "\n".join(numbered("history", 12)),
    ]


@pytest.mark.requirement("S0.10", "S0.11")
@pytest.mark.parametrize(
    ("profile", "total", "system", "user"),
    [("forge-architect", 7_000, 2_000, 3_000), ("forge-reflector", 5_000, 1_500, 2_000)],
)
def test_the_other_agents_have_their_totals_for_a_system_prompt_of_that_size(profile, total, system, user):
    held = settings(profile, model="gpt-5")
    assert held.value("prompt.total") == total
    prompt = held.fit({"lessons": ["l"], "notes": "word " * 9_000}, system="word " * (system - 6))
    assert user - 510 <= prompt.receipt.used <= prompt.receipt.budget <= user
    assert prompt.receipt.used > prompt.receipt.budget - 4


@pytest.mark.requirement("S0.11")
@pytest.mark.parametrize("budget", [2_000, 500, 120])
def test_the_reflectors_directive_survives_ninety_attempts(budget):
    """The output format was lost behind 90 attempts of history."""
    directive = "Answer with CAUSE, BANNED and DISTILLED_LESSON."
    contents = {
        "rule": "V-2301: a rule",
        "attempt": "\n".join(["edited the file"] * 200),
        "lessons": [f"Attempt {i}: lesson" for i in range(90)],
        "directive": directive,
        "history": [f"Attempt {i}: " + "raw text " * 40 for i in range(90)],
    }
    prompt = settings("forge-reflector").fit(contents, budget=budget)
    parts = prompt.text.split("\n\n")
    assert parts[0] == "V-2301: a rule"
    assert directive in parts
    assert "edited the file" in prompt.text
    assert "\n".join(contents["lessons"][-3:]) in parts
    assert prompt.receipt.used <= budget
    assert 0.9 * budget < prompt.receipt.used or budget == 120


@pytest.mark.requirement("S0.11")
@pytest.mark.parametrize("big", [0, 4, 8])
def test_the_reflectors_history_is_there_although_one_attempt_is_bigger_than_what_is_left(big):
    """It was gone in 108 of 120 prompts with over 400 tokens free."""
    attempts = [f"Attempt {i}: edited the file, and it failed." for i in range(9)]
    attempts[big] += " The log:" + " word" * 3_000
    contents = {"rule": "V-2301", "attempt": "edited", "directive": "Answer.", "history": attempts}
    prompt = settings("forge-reflector").fit(contents, budget=500)
    assert all(f"Attempt {i}: edited the file, and it failed." in prompt.text for i in range(9))
    assert 450 < prompt.receipt.used <= 500
    assert prompt.receipt.part("history").state == "cut"


@pytest.mark.requirement("S0.17")
def test_every_assembly_emits_its_event_with_the_agent_and_the_rule():
    log = []
    held = settings("forge")
    for i in range(3):
        contents = {**worker(), "plan": "p", "notes": "n" * 90_000}
        prompt = held.fit(contents, agent="worker", emit=log.append, about={"rule_id": i})
    event = log[-1]
    assert (len(log), event["event"], event["agent"], event["rule_id"]) == (3, "prompt_assembled", "worker", 2)
    assert event["used_tokens"] == held.meter().count(prompt.text) <= event["budget_tokens"]
    named = event["sections_included"] + event["sections_truncated"] + event["sections_dropped"]
    assert sorted(named) == sorted([*worker(), "notes"])
    assert event["sections_truncated"] == ["notes"]


@pytest.mark.requirement("S0.17")
def test_a_request_within_a_turn_emits_its_event_too():
    held, log, turn = settings("forge", model="gpt-5"), [], [{"role": "user", "content": "Fix V-2301."}]
    for i in range(4):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "apply_fix", "arguments": "{}"}}
        turn += [
            {"role": "assistant", "content": f"Step {i}", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": f"line {i}\n" * 1_500},
        ]
        told = {"agent": "worker", "emit": log.append, "about": {"rule_id": "V-2301"}}
        fitted = held.fit_messages(turn, tools=TOOLS, budget=8_000, **told)
    assert [(event["event"], event["agent"], event["rule_id"]) for event in log] == [
        ("prompt_assembled", "worker", "V-2301")
    ] * 4
    assert log[-1]["used_tokens"] == brim.meter("gpt-5").count_messages(fitted.messages, TOOLS) <= 8_000
    assert (log[0]["sections_truncated"], log[0]["sections_dropped"]) == ([], [])
    assert log[-1]["sections_truncated"] + log[-1]["sections_dropped"] != []


@pytest.mark.requirement("S0.8", "S0.23")
def test_a_budget_above_the_window_is_that_of_the_window_and_a_turn_leaves_room_for_the_answer():
    held = settings("forge", model="gpt-5")
    assert held.fit({"notes": "word " * 30_000}, budget=90_000).receipt.budget == 16_384
    turn = [{"role": "user", "content": "Fix it."}, *[{"role": "assistant", "content": "word " * 900}] * 30]
    assert 14_336 <= held.fit_messages(turn, budget=90_000).receipt.budget <= 16_384
    free = held.fit_messages(turn)
    assert free.receipt.budget == 16_384 - 2_048
    assert 12_000 < brim.meter("gpt-5").count_messages(free.messages) <= 16_384 - 2_048
    reserved = settings("forge", model="gpt-5", **{"window.reserve": 500}).fit_messages(turn)
    assert reserved.receipt.budget == 15_884


@pytest.mark.requirement("S0.20", "S0.7")
@pytest.mark.parametrize("profile", ["forge", "forge-literal"])
def test_thirty_attempts_at_8k_are_cut_the_same_way_each_time_and_stay_under(profile):
    attempts = [f"Attempt {i}: " + "edited /etc/aide.conf and ran the check again " * 40 for i in range(30)]
    contents = {**worker(), "lessons": ["none"], "history": attempts, "raw": "\n".join(attempts)}
    made = [settings(profile).fit(contents) for _ in range(2)]
    assert made[0].text == made[1].text
    assert made[0].receipt.to_json() == made[1].receipt.to_json()
    assert made[0].receipt.truncated
    assert len(made[0].text) // 4 + 1 <= 8_000
    assert made[0].receipt.budget - 500 <= made[0].receipt.used <= made[0].receipt.budget <= 8_000
    assert made[0].receipt.budget >= 6_000


@pytest.mark.requirement("S0.1", "S0.8")
@pytest.mark.parametrize("text", ["漢字" * 40_000, "0f9a3c" * 20_000, "🧠" * 20_000], ids=["Chinese", "hex", "emoji"])
def test_an_estimate_does_not_carry_a_prompt_over_the_true_window(text):
    """A budget of 8,000 admitted 44,461 tokens of Chinese for a window of 16,384."""
    prompt = settings("forge-literal").fit({"plan": "p", "notes": text})
    assert brim.meter("o200k_base").count(prompt.text) <= 16_384
    assert prompt.receipt.budget - 2 <= prompt.receipt.used <= 8_000
    assert text[:1_000] in prompt.text


TOOLS = [{"type": "function", "function": {"name": "apply_fix", "description": "Fix. " * 200, "parameters": {}}}]


@pytest.mark.requirement("S0.23")
def test_the_budget_covers_the_system_prompt_the_tools_and_what_follows_within_the_turn():
    held = settings("forge", model="gpt-5")
    meter = brim.meter("gpt-5")
    sizes = []
    for words in range(300, 312):
        system = "You are the Worker. " * words
        prompt = held.fit({"notes": "word " * 9_000}, system=system, tools=TOOLS)
        sent = [{"role": "system", "content": system}, {"role": "user", "content": prompt.text}]
        sizes.append(meter.count_messages(sent, TOOLS))
    assert max(sizes) <= 8_000 - 2_000, "to the last token, those around the message included"
    assert min(sizes) > 6_000 - 4, "and what is left is used"
    prompt = held.fit({**worker(), "notes": "n " * 90_000}, system=system, tools=TOOLS)
    sent = [{"role": "system", "content": system}, {"role": "user", "content": prompt.text}]
    assert 6_000 - 12 < meter.count_messages(sent, TOOLS) <= 6_000


@pytest.mark.requirement("S0.23")
def test_a_system_prompt_that_takes_the_whole_budget_is_refused_with_its_numbers():
    with pytest.raises(
        brim.DoesNotFit, match=r"the system prompt and the tools have [\d,]+ tokens and the budget is 6,000"
    ):
        settings("forge").fit(worker(), system="word " * 7_000)


@pytest.mark.requirement("S0.24")
def test_new_sections_can_be_added_and_go_before_those_of_the_table():
    contents = {"run_context": "new " * 3_000, **worker(), "tips": ["tip " * 900] * 9}
    for budget in (4_000, 1_000, 700, 400):
        receipt = settings("forge").fit(contents, budget=budget).receipt
        assert min(0.9 * budget, 3_200) < receipt.used <= budget
        assert all(receipt.part(name).state == "whole" for name in WORKER_TABLE if name != "plan")
        assert receipt.part("plan").used > 100
        assert receipt.part("tips").state != "whole"
