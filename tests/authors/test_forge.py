"""The forge document, as its author would check it: its functions, its tables, its lesson, its event and its three tests.

The document's own `assemble_prompt` is given as rows of (priority, label, content); `assemble` is the adapter that its
harness would write. Each acceptance criterion is named in `tests/authors/forge.md`.
"""

import re
from pathlib import Path

import pytest

import brim
from brim.sessions.memory import EpisodicMemory, distilled
from brim.testing import Scripted

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "tests" / "authors" / "forge.md"
CUT = "\n[... truncated for budget ...]"


def est_tokens(text):
    """The document's estimator: an oracle that shares nothing with the meter under test."""
    return len(text) // 4 + 1


def assemble(rows, budget, log=None, **about):
    """Return the prompt of rows, as the harness would after the change."""
    sections = [
        brim.Section(label, content, priority=priority, floor=101, marker=CUT) for priority, label, content in rows
    ]
    prompt = brim.fit(sections, budget, meter="chars/4+1", order="priority", policy="truncate_then_stop")
    if log is not None:
        log.append(prompt.receipt.event("Worker", **about))
    return prompt.text


def sketch(rows, budget):
    """The document's function, statement by statement: what ours must agree with where it keeps its own promise."""
    included, used = [], 0
    for row in sorted(rows, key=lambda row: row[0]):
        size = est_tokens(row[2])
        if used + size <= budget:
            included.append(row[2])
            used += size
            continue
        remaining = budget - used
        if remaining > 100:
            included.append(row[2][: remaining * 4 - 50] + CUT)
        break
    return "\n\n".join(included)


TABLES = {
    "forge": """
        0 rule       Current rule id + title                                        100
        1 directive  Directive: "call apply_fix once and return"                    200
        2 plan       Architect's plan (first 400 chars)                             400
        3 lessons    Last 3 distilled lessons from episodic memory (this rule)      600
        4 banned     Top 5 banned patterns from semantic memory                     500
        5 preferred  Top 3 preferred approaches from semantic memory                400
        6 strategic  Last 2 strategic lessons from semantic memory                  300""",
    "forge-architect": """
        0 counts     Current run summary: fixed/escalated/skipped counts            0
        1 failing    Top 10 remaining failing rules                                 0
        2 banned     Top 5 banned patterns                                          0
        3 lessons    Top 3 lessons                                                  0
        4 remediated Last 5 remediated rules (for pattern reference)                0
        5 escalated  Full escalated rules list                                      0
        6 remaining  Full remaining rules list (beyond top 10)                      0""",
    "forge-reflector": """
        0 rule       Current rule id + title                                        0
        1 attempt    Latest attempt's approach + result (truncated)                 0
        2 lessons    Prior 3 attempts' distilled lessons                            0
        3 directive  Directive: structured output format                            0
        4 history    Full episodic history (if space allows)                        0""",
}
ROW = re.compile(r"(\d) (\w+) +(.+?) +(\d+)$")


def table(profile):
    return [ROW.fullmatch(line.strip()).groups() for line in TABLES[profile].strip().splitlines()]


def settings(profile, **flags):
    return brim.load_config(environ={}, flags={"model": "gpt-5", **flags}).resolve(profile=profile)


@pytest.mark.parametrize("profile", TABLES)
def test_phase_3_each_row_of_the_tables_is_in_its_place_and_takes_what_it_says(profile):
    """Twelve entries go into every list; the words of the row say how many come out, and from which side."""
    rows = table(profile)
    contents = {name: [f"{name} {i}" for i in range(12)] for _, name, _, _ in reversed(rows)}
    texts = settings(profile).fit(contents).text.split("\n\n")
    assert len(texts) == len(rows)
    for (_, name, words, _), text in zip(rows, texts, strict=True):
        count = re.search(r"(Last|Top|Prior) (\d+)", words)
        kept = contents[name]
        if count and count[1] != "Top":
            kept = kept[-int(count[2]) :]
        elif count:
            kept = kept[: int(count[2])]
        assert text.split("\n") == kept, words


@pytest.mark.parametrize("profile", ["forge", "forge-literal"])
def test_phase_3_the_workers_typical_sizes_come_to_2500_characters_and_625_tokens(profile):
    typical = {name: int(size) for _, name, _, size in table("forge")}
    assert sum(typical.values()) == 2_500
    contents = {name: ("fix it " * 100)[:size] for name, size in typical.items()}
    prompt = settings(profile).fit(contents)
    assert not prompt.receipt.truncated
    assert 625 <= est_tokens(prompt.text) <= 630


@pytest.mark.parametrize(
    ("profile", "system", "total"),
    [("forge", 1_500, 8_000), ("forge-architect", 2_000, 7_000), ("forge-reflector", 1_500, 5_000)],
)
def test_phase_3_the_target_budgets_are_those_of_the_whole_turn(profile, system, total):
    meter = brim.meter("gpt-5")
    told = "word " * (system - 10)
    prompt = settings(profile).fit({"notes": "word " * 20_000}, system=told)
    sent = [{"role": "system", "content": told}, {"role": "user", "content": prompt.text}]
    margin = 2_000 if profile != "forge-reflector" else 1_500
    assert total - margin - 12 <= meter.count_messages(sent) <= total - margin


@pytest.mark.parametrize(("text", "count"), [("a", 1), ("abcd", 2), ("x" * 400, 101)])
def test_phase_1_the_estimator(text, count):
    assert brim.meter("chars/4+1").count(text) == est_tokens(text) == count


def test_phase_2_what_the_sketch_keeps_we_keep_but_for_the_separators_that_it_forgets():
    """The sketch counts no separators, so it is over its own budget at times; ours never is."""
    same = 0
    for case in range(300):
        rows = [(i * 7 % 5, f"s{i}", "plan the fix " * ((case * 31 + i * 17) % 60)) for i in range(1 + case % 9)]
        budget = 60 + case * 7 % 900
        ours, theirs = assemble(rows, budget), sketch(rows, budget)
        assert est_tokens(ours) <= budget
        if est_tokens(theirs) <= budget and CUT not in theirs and not any(text == "" for _, _, text in rows):
            assert ours == theirs or est_tokens(ours) >= est_tokens(theirs) - len(rows) - est_tokens(CUT)
            same += ours == theirs
    assert same > 60
    two = [(0, "a", "a" * 99), (1, "b", "b" * 99)]
    assert (est_tokens(sketch(two, 50)), est_tokens(assemble(two, 50))) == (51, 25)


LESSON = (
    "Tried to edit /etc/aide.conf directly; failed because the AIDE\n"
    "db needs --init after config changes. Reflector: use `aide --init --verbose`."
)


def test_phase_4_the_documents_own_lesson_wraps_over_two_lines_and_is_kept_whole():
    reply = f"The check failed again.\n\nDISTILLED_LESSON: {LESSON}\n"
    assert distilled(reply).text == LESSON.replace("\n", " ")
    memory = EpisodicMemory()
    for _ in range(3):
        memory, _event = memory.after(approach="edit", result="failed", reflection=reply)
    assert str(memory.attempts[-1]) == "Attempt 3: " + LESSON.replace("\n", " ")
    page = "\n".join(f"Attempt {i}: {LESSON}" for i in range(1, 8))
    kept = settings("forge").fit({"lessons": page})
    assert kept.text == "\n".join(f"Attempt {i}: {LESSON}" for i in (5, 6, 7))
    assert kept.receipt.part("lessons").state == "cut"


def test_phase_4_twenty_attempts_of_raw_text_become_a_twentieth_and_the_log_has_all_of_it():
    memory, log = EpisodicMemory(), []
    for i in range(20):
        approach, result = f"approach {i} ".ljust(200, "a"), f"result {i} ".ljust(80, "r")
        reflection = f"reflection {i} ".ljust(88, "f") + f"\nDISTILLED_LESSON: {'use aide --init, ' * 5}{i}."
        memory, event = memory.after(approach=approach, result=result, reflection=reflection)
        log.append(event)
        assert (event["approach"], event["result"], event["reflection"]) == (approach, result, reflection)
    raw = sum(len(event[name]) for event in log for name in ("approach", "result", "reflection"))
    shown = settings("forge").fit({"lessons": [str(attempt) for attempt in memory.attempts]}).text
    assert 6_000 <= raw <= 10_000
    assert len(shown) * 20 <= raw
    assert 60 <= est_tokens(shown) <= 90
    assert "approach" not in shown


def test_instrumentation_the_event_has_the_documents_fields_and_its_labels_partition_the_input():
    log = []
    rows = [(0, "rule", "V-2301"), (1, "plan", "step " * 900), (2, "tips", "tip " * 900), (3, "more", "m")]
    text = assemble(rows, 400, log, rule_id="V-2301")
    event = log[0]
    assert {"budget_tokens", "used_tokens", "sections_included", "sections_dropped", "rule_id"} <= event.keys()
    assert (event["event"], event["agent"], event["rule_id"]) == ("prompt_assembled", "Worker", "V-2301")
    assert event["used_tokens"] == est_tokens(text) <= event["budget_tokens"] == 400
    assert event["sections_included"] == ["rule"]
    assert event["sections_truncated"] == ["plan"]
    assert event["sections_dropped"] == ["tips", "more"]


@pytest.mark.parametrize(("strategy", "calls"), [("A", 1), ("B", 2)])
def test_open_question_both_answers_work_on_the_workers_table(strategy, calls):
    """Strategy B raised on the worker's table, which has lessons and no history."""
    lessons = [f"Attempt {i}: tried way {i}, and it failed." for i in range(1, 31)]
    model = Scripted(["Ways 1 to 27 all failed.", "done"] if strategy == "B" else ["done"])
    made = settings("forge", **{"history.strategy": strategy}).exchange({"rule": "V-2301", "lessons": lessons}, model)
    assert (made.calls, made.reply.text) == (calls, "done")
    shown = "\n".join(lessons[-3:])
    if strategy == "A":
        assert made.prompt.text == f"V-2301\n\n{shown}"
    else:
        assert lessons[0] in model.asked[0]
        assert lessons[26] in model.asked[0]
        assert lessons[27] not in model.asked[0]
        assert made.prompt.text == f"V-2301\n\nWays 1 to 27 all failed.\n{shown}"


def test_testing_1_thirty_attempts_at_8k_are_cut_the_same_way_each_time():
    attempts = [f"Attempt {i}: " + "edited /etc/aide.conf and ran the check again; " * 40 for i in range(30)]
    rows = [(0, "rule", "V-2301"), (1, "episodic", "\n".join(attempts)), (2, "semantic", "banned: x\n" * 300)]
    first, second = assemble(rows, 8_000), assemble(rows, 8_000)
    assert first == second
    assert 7_900 < est_tokens(first) <= 8_000
    assert first.endswith(CUT)


def test_every_criterion_of_the_document_is_on_the_page_with_its_test():
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    here = {name for name in globals() if name.startswith("test_")} - {
        "test_every_criterion_of_the_document_is_on_the_page_with_its_test"
    }
    assert here <= named
