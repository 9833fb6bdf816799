"""What a person types while an agent works, and what a subagent answers, stays as other words of people do."""

import json
import random

import pytest

import brim
from brim.history.envelopes import has_person
from talk import answer, gives, says, text, use, user

NAMES = ("socket", "retry", "commit", "lease", "shard", "vacuum", "index", "replica", "quorum", "latency")
SAID = "One more rule: the new port must stay below 50000 and cfg/secret.env is off limits."
ANSWER = "The lock is held by pay_worker.py in line 212, which waits for the ledger."
TYPED = (
    f"<system-reminder>\nThe user sent a new message while you were working:\n{SAID}\n\nIMPORTANT: After completing your "
    "current task, you MUST address the user's message above. Do not ignore it.\n</system-reminder>"
)
NOTICE = (
    f"<task-notification>\n<task-id>a17</task-id>\n<status>completed</status>\n<result>{ANSWER}</result>\n"
    "</task-notification>"
)


def printed(seed, lines=80):
    chance = random.Random(seed)
    return "\n".join(
        f"10:{seed % 60:02d}:{i:02d} " + " ".join(f"{chance.choice(NAMES)}{chance.randrange(99)}" for _ in range(9))
        for i in range(lines)
    )


def in_text(i, envelope):
    return [gives(answer(f"c{i}", f"{printed(i)}\n\n{envelope}"))]


def in_block(i, envelope):
    return [gives(answer(f"c{i}", [text(printed(i)), text(envelope)]))]


def beside(i, envelope):
    return [gives(answer(f"c{i}", printed(i)), text(envelope))]


def as_system(i, envelope):
    return [gives(answer(f"c{i}", printed(i))), {"role": "system", "content": envelope}]


def steps(count, shape):
    """Return a history as Claude Code sends it: two things come by the way, in the steps 8 and 11."""
    messages = [gives(text("<system-reminder>\nBe brief.\n</system-reminder>"), text("Fix the worker."))]
    for i in range(count):
        messages.append(says(text(f"I look at part {i}."), use(f"c{i}", command=f"cat logs/{i}.log")))
        came = {8: TYPED, 11: NOTICE}.get(i)
        messages += shape(i, came) if came else [gives(answer(f"c{i}", printed(i)))]
    return messages


@pytest.mark.parametrize(
    ("shape", "window"), [(in_text, 36_000), (in_block, 60_000), (beside, 100_000), (as_system, 36_000)]
)
def test_what_came_by_the_way_is_in_every_later_prompt(shape, window):
    """Claude Code: "What a person types while it works comes inside a `tool_result` ... All gone at the first cut"."""
    conversations = brim.Conversations(brim.Window(window, reserve=8_000), model="claude-sonnet-4-5")
    history, shortest = steps(60, shape), 1.0
    for end in range(27, len(history) + 1):
        if history[end - 1]["role"] == "assistant" or (history[end : end + 1] and history[end]["role"] == "system"):
            continue
        sent = conversations.request(history[:end], model="claude-sonnet-4-5", system="You write code. " * 800).messages
        shown = json.dumps(sent)
        assert SAID in shown
        assert ANSWER in shown
        shortest = min(shortest, len(shown) / len(json.dumps(history[:end])))
    assert shortest < 0.9, "some of it was cut"


@pytest.mark.parametrize("tool", ["Task", "task"])
def test_the_start_and_the_end_of_a_subagents_answer_stay(tool):
    long = "\n\n".join(f"Paragraph {i}: {printed(i, 3)}" for i in range(60))
    for said, shown in ((ANSWER, ANSWER), (f"{ANSWER}\n\n{long}\n\nSo restart pay_worker.", "So restart pay_worker.")):
        history = [user("Go."), says({**use("c0"), "name": tool}), gives(answer("c0", said))]
        for i in range(1, 40):
            history += [says(use(f"c{i}")), gives(answer(f"c{i}", printed(i)))]
        fitted = brim.fit_messages(history, 8_000, model="gpt-5", format="anthropic")
        text = json.dumps(fitted.messages[2])
        assert shown in text
        assert ANSWER in text
        assert said == ANSWER or len(text) < len(said)


def test_a_result_ends_before_what_a_program_added_to_it():
    """Claude Code tells after each result how many tokens are left: that is neither its end nor a name to remember."""
    history = [user("Go.")]
    for i in range(40):
        ended = "changed\n" if i == 3 else f"{printed(i)}\n{i} files checked\n"
        left = f"\n<system-reminder>\n<total_tokens>{15_000_000 - i * 3_999} tokens left</total_tokens>\n</system-reminder>"
        history += [says(use(f"c{i}")), gives(answer(f"c{i}", ended + left))]
    shown = json.dumps(brim.fit_messages(history, 9_000, model="gpt-5", format="anthropic").messages)
    assert "changed" in shown
    assert shown.count("files checked") >= 25
    assert shown.count("tokens left") < 12


def test_the_same_result_twice_shows_once_whatever_a_program_added_to_it():
    same = printed(1)
    history = [user("Go.")]
    for i in range(12):
        history += [says(use(f"c{i}")), gives(answer(f"c{i}", f"{same}\n<system-reminder>{i}</system-reminder>"))]
    history += [says(use("x")), gives(answer("x", printed(7, 300)))]
    shown = json.dumps(brim.fit_messages(history, 12_000, model="gpt-5", format="anthropic").messages)
    assert shown.count("[the same result as in a later step]") > 5


@pytest.mark.parametrize(
    ("said", "person"),
    [
        ("Fix the worker.", True),
        ("<system-reminder>\nBe brief.\n</system-reminder>", False),
        ("<system-reminder>\nBe brief.\n</system-reminder>\nFix it.", True),
        (TYPED, True),
        (NOTICE, False),
        (f"<system-reminder>{NOTICE}</system-reminder>", False),
        ("<environment_details>\n# Time\n</environment_details>", False),
        ("The user doesn't want to proceed. To tell you how to proceed, the user said:\nUse yarn.", True),
        (
            "<system-reminder>\nThe user sent the following message:\nUse yarn.\n\nPlease address this message and "
            "continue with your tasks.\n</system-reminder>",
            True,
        ),
    ],
)
def test_a_person_is_told_from_a_program(said, person):
    assert has_person(said) is person


@pytest.mark.parametrize(
    "context",
    [
        "<environment_context>\n  <cwd>/srv/worker</cwd>\n  <shell>bash</shell>\n</environment_context>",
        "<session_context>\nThis is the Gemini CLI. Today is Wednesday.\n</session_context>",
    ],
)
def test_the_task_is_what_a_person_says_first_not_the_context_that_a_program_sends_before(context):
    config = "\n".join([*(f"limit_{i} = {i * 7919 % 997}" for i in range(200)), "listen_port = 38461"])
    config += "\n" + "\n".join(f"limit_{i} = {i * 7919 % 997}" for i in range(200, 400))
    messages = [
        user(context),
        user("Tell me on which port the worker listens."),
        says(use("c", command="cat worker.toml")),
    ]
    messages.append(gives(answer("c", config)))
    for i in range(20):
        messages += [says(use(f"c{i}", command=f"cat logs/{i}.log")), gives(answer(f"c{i}", printed(i)))]
    fitted = brim.fit_messages(messages, budget=12_000, model="gpt-5")
    assert "listen_port = 38461" in json.dumps(fitted.messages)
    assert "on which port the worker listens" in json.dumps(fitted.messages)
