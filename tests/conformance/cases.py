"""The cases. Each was written for something that a trimmer in use gets wrong, or that its users ask for.

The inputs are our own. A budget that is a fraction is a share of the history's size by the judge.
"""

from __future__ import annotations

import base64

from .adapter import Message
from .case import Case
from .kept_cases import KEPT
from .reader_cases import READABLE
from .script import (
    GOAL,
    assistant,
    calling,
    chat,
    dense,
    east,
    joined,
    loop,
    pair,
    prose,
    result,
    system,
    user,
)

_SPECIAL = "<|endoftext|><|im_start|>system<|im_end|><|fim_prefix|>"
_KEPT = ("system", "newest")


def _parallel() -> list[Message]:
    """Return rounds of five calls at once, answered in another order."""
    made = [system(), user(GOAL)]
    for i in range(12):
        ids = [f"call_{i}_{j}" for j in range(5)]
        made += [calling(*ids, text=prose(12, i)), *(result(call, prose(30, 7 * i)) for call in reversed(ids))]
    return made


def _reused_ids() -> list[Message]:
    """Return a loop whose ids begin again with every call, as those of local models do."""
    return [system(), user(GOAL), *joined(pair("call_0", prose(40, i)) for i in range(60))]


def _service() -> list[Message]:
    """Return a talk with calls between the user's messages, some with words beside them."""
    made = [system()]
    for i in range(20):
        made += [user(prose(15, i)), *pair(f"a{i}", prose(50, i)), *pair(f"b{i}", prose(20, i), saying=prose(9, i))]
        made.append(assistant(prose(25, 3 * i)))
    return [*made, user("Please book the second one.")]


def _text_protocol() -> list[Message]:
    """Return a coding agent that has no tool calls: what its commands print comes back as user messages."""
    made = [system(), user(GOAL)]
    for i in range(40):
        made += [
            assistant(f"I look further.\n```bash\ncat part_{i}.txt\n```"),
            user(f"<output>\n{prose(60, i)}\n</output>"),
        ]
    return made


def _broken() -> list[Message]:
    """Return a history that is illegal as it comes: a result without its call, and calls without their results."""
    made = [system(), result("gone", prose(30, 1)), user(GOAL)]
    for i in range(30):
        made += pair(f"call_{i}", prose(40, i))
    made.insert(20, calling("never", text="I try something else."))
    return [*made, assistant("Done so far."), user("Go on.")]


def _pictured() -> list[Message]:
    """Return a talk that ends with an image of 300 kB, which costs some hundred tokens by every provider's rule."""
    address = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 900).decode()
    image = {"type": "image_url", "image_url": {"url": address, "detail": "low"}}
    return [*chat(4, 30)[:-1], {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}]


def _extra() -> list[Message]:
    """Return a loop whose messages have names and fields that no trimmer knows."""
    made = loop(40)
    made[1] |= {"name": "harbour_master"}
    return [message | {"metadata": {"step": i}} for i, message in enumerate(made)]


def _hollow() -> list[Message]:
    """Return a loop with empty and absent contents."""
    made = [system(), user(GOAL)]
    for i in range(40):
        made += pair(f"call_{i}", "" if i % 2 else prose(60, i))
        made += [assistant("")] if i % 5 == 4 else []
    return [*made, *pair("last", "")]


LOOPS = (
    Case(
        name="one task, then 200 tool pairs, in a quarter of the room",
        why="Trimmers that cut at user messages find none: they lose all, keep all, or lose the task.",
        messages=lambda: loop(200),
        budget=0.25,
        expects=(*_KEPT, "newest whole"),
    ),
    Case(
        name="the same in half of the room",
        why="Some budgets end in the middle of a pair.",
        messages=lambda: loop(60, 30),
        budget=0.5,
        expects=(*_KEPT, "newest whole"),
    ),
    Case(
        name="the task of a long loop",
        why="The first user message says what all the rest is for, and is the oldest: it goes first.",
        messages=lambda: loop(100),
        budget=0.25,
        expects=("task",),
    ),
    Case(
        name="a third of the budget at least is used",
        why="Own counts that are too high, or cuts at user messages only, leave most of the room empty.",
        messages=lambda: loop(100),
        budget=0.5,
        expects=("full",),
    ),
    *(
        Case(
            name=f"no budget orphans a result: {budget} units",
            why="Whether a result is orphaned depends on where the budget happens to end.",
            messages=lambda: loop(40, 30),
            budget=budget,
            expects=(*_KEPT, "newest whole"),
        )
        for budget in (301, 322, 343, 364)
    ),
    Case(
        name="five calls at once, answered in another order",
        why="A batch of calls is one turn: half of it is refused.",
        messages=_parallel,
        budget=0.3,
        expects=_KEPT,
    ),
    Case(
        name="call ids that begin again with each turn",
        why="Pairs found by id alone are the wrong pairs when a model reuses its ids.",
        messages=_reused_ids,
        budget=0.3,
        expects=_KEPT,
    ),
    Case(
        name="a service talk with calls between the user's messages",
        why="The start of what is kept must be neither a result nor an unanswered call.",
        messages=_service,
        budget=0.3,
        expects=("system", "newest whole"),
    ),
    Case(
        name="a coding agent that works by text",
        why="Every tool output is a user message here, and the newest of them is what counts.",
        messages=_text_protocol,
        budget=0.25,
        expects=(*_KEPT, "newest whole"),
    ),
    Case(
        name="the task of a coding agent that works by text",
        why="Where every tool output is a user message, the first of them is still the task.",
        messages=_text_protocol,
        budget=0.25,
        expects=("task",),
    ),
    Case(
        name="a history that is already illegal",
        why="An orphan that comes in must not go out.",
        messages=_broken,
        budget=0.4,
        expects=("newest",),
        refusal="may",
    ),
    Case(
        name="illegal, and small enough to stay as it is",
        why="A trimmer that returns early sends what will be refused.",
        messages=_broken,
        budget=50_000,
        expects=("newest",),
        refusal="may",
    ),
    Case(
        name="its own output, extended and fitted 40 times",
        why="In a session the last result is the next input: notes pile up, the task goes, nothing gets smaller.",
        messages=lambda: loop(120, 60),
        budget=2_000,
        expects=(*_KEPT, "task"),
        steps=40,
    ),
    Case(
        name="empty and absent contents",
        why="A call has no content, and a tool may print nothing.",
        messages=_hollow,
        budget=0.4,
        expects=_KEPT,
    ),
)

SIZES = (
    Case(
        name="a system message of most of the budget",
        why="The system message is returned over the limit, or goes.",
        messages=lambda: [system(prose(1_200)), *loop(30)[1:]],
        budget=2_200,
        expects=_KEPT,
    ),
    Case(
        name="a system message that alone is over",
        why="No prompt is right here: over the budget, without the rules, or with no message at all.",
        messages=lambda: [system(prose(3_000)), *loop(5)[1:]],
        budget=1_000,
        refusal="must",
    ),
    Case(
        name="a budget of ten units",
        why="Nothing can be kept, and an empty prompt is no answer.",
        messages=lambda: loop(5),
        budget=10,
        refusal="must",
    ),
    Case(
        name="the newest tool result is 60 times the budget",
        why="One huge result bricks the session: the prompt is over, or loses what was just asked for.",
        messages=lambda: [*loop(6), *pair("last", prose(48_000))],
        budget=1_000,
        expects=("system", "newest", "clean"),
    ),
    Case(
        name="the newest user message is huge",
        why="To make room for it, the system message is deleted.",
        messages=lambda: [*chat(6), user(prose(20_000, 5))],
        budget=1_000,
        expects=("system", "newest"),
    ),
    Case(
        name="twenty newest results at once, each over the budget",
        why="All of them must be there, so each must be cut.",
        messages=lambda: [
            *loop(3),
            calling(*(f"p{i}" for i in range(20))),
            *(result(f"p{i}", prose(3_000, i)) for i in range(20)),
        ],
        budget=2_500,
        expects=("system", "newest"),
    ),
    Case(
        name="one huge result in the middle of ten messages",
        why="A trimmer that counts messages sees nothing to do.",
        messages=lambda: [*loop(2), *pair("big", prose(9_000)), *joined(pair(f"c{i}", prose(30, i)) for i in range(2))],
        budget=1_500,
        expects=(*_KEPT, "newest whole"),
    ),
    Case(
        name="a single message, too long",
        why="There is nothing to drop, only something to cut.",
        messages=lambda: [user(prose(5_000))],
        budget=400,
        expects=("newest",),
    ),
    Case(
        name="huge arguments of an old call",
        why="The arguments of calls are counted as nothing.",
        messages=lambda: [
            *loop(4),
            *pair("write", "ok", arguments='{"text":"' + prose(9_000) + '"}'),
            *joined(pair(f"c{i}", prose(30, i)) for i in range(4)),
        ],
        budget=2_000,
        expects=(*_KEPT, "newest whole"),
    ),
    Case(
        name="huge arguments of the newest call",
        why="A call cannot be cut like a text: serve it or say so, but never over.",
        messages=lambda: [*loop(4), *pair("write", "ok", arguments='{"text":"' + prose(9_000) + '"}')],
        budget=2_000,
        expects=("system", "newest"),
        refusal="may",
    ),
    Case(
        name="a task that does not fit beside the newest result",
        why="The task is dropped whole where it could be cut.",
        messages=lambda: [*loop(3, goal=GOAL + " " + prose(2_500)), *pair("last", prose(300))],
        budget=1_200,
        expects=(*_KEPT, "task"),
    ),
    Case(
        name="one unit too many",
        why="To save one unit, most of the history is thrown away.",
        messages=lambda: chat(60, 20),
        budget=0.999,
        expects=("system", "newest whole", "full"),
    ),
    Case(
        name="4,000 tiny messages",
        why="Work that grows with the square of the messages takes minutes.",
        messages=lambda: [system(), *(user(f"{i}") if i % 2 else assistant("ok") for i in range(4_001))],
        budget=0.5,
        expects=("system", "newest whole"),
    ),
    Case(
        name="10,000 messages of tool calls",
        why="A long run must not end in the trimmer.",
        messages=lambda: loop(5_000, 20),
        budget=8_000,
        expects=(*_KEPT, "newest whole"),
    ),
)

TEXTS = (
    Case(
        name="Chinese, Japanese, Korean and emoji",
        why="Four characters to a token is wrong by a factor of four and more.",
        messages=lambda: chat(40, 120, make=east),
        budget=0.3,
        expects=("system", "newest whole", "clean"),
    ),
    Case(
        name="base64, digits and JSON without a space",
        why="Estimates by characters are low by up to 90 %.",
        messages=lambda: loop(60, 400, make=dense),
        budget=0.3,
        expects=_KEPT,
    ),
    Case(
        name="a cut through emoji and scripts without spaces",
        why="A cut between tokens can split a character, which comes out as U+FFFD and counts more.",
        messages=lambda: [*chat(2), user(east(30_000))],
        budget=777,
        expects=("system", "newest", "clean"),
    ),
    Case(
        name="special tokens are text",
        why="The tokenizer raises on them, or takes them for control.",
        messages=lambda: [*loop(20), *pair("odd", _SPECIAL + prose(40)), user(f"What is {_SPECIAL}?")],
        budget=0.5,
        expects=("system", "newest whole"),
    ),
    Case(
        name="special tokens are counted as text",
        why="Counted as one token each they are six times too many.",
        messages=lambda: [system(), *(user(_SPECIAL * 12) if i % 2 else assistant(_SPECIAL * 12) for i in range(61))],
        budget=0.25,
        expects=("system", "newest whole"),
    ),
    Case(
        name="a million spaces",
        why="tiktoken panics on them, with what is no Exception.",
        messages=lambda: [*loop(5), *pair("spaces", " " * 1_000_000)],
        budget=1_500,
        expects=("system", "newest"),
    ),
    Case(
        name="fifty thousand characters of no width",
        why="A break pattern that matches nothing never ends.",
        messages=lambda: [*loop(5), user("\u200b" * 50_000)],
        budget=1_500,
        expects=("system", "newest"),
    ),
    Case(
        name="halves of characters",
        why="A lone surrogate cannot be encoded, and the exception leaves the trimmer.",
        messages=lambda: [*loop(20), *pair("half", "before \ud83d after " + prose(30))],
        budget=0.5,
        expects=("system", "newest"),
    ),
    Case(
        name="an image of 300 kB in the newest message",
        why="Counted as text the image is worth a hundred pages, and goes.",
        messages=_pictured,
        budget=4_000,
        expects=("system", "newest whole", "newest image"),
    ),
)

PROMISES = (
    Case(
        name="what fits comes back as it was",
        why="Own counts that are too high cut where nothing needs cutting.",
        messages=lambda: loop(40),
        budget=1.25,
        expects=("unchanged",),
    ),
    Case(
        name="a talk that fits comes back as it was",
        why="The same without any tool.",
        messages=lambda: chat(30),
        budget=1.25,
        expects=("unchanged",),
    ),
    Case(
        name="only a system message and a question",
        why="The smallest prompt there is must go through.",
        messages=lambda: [system(), user("Is the ferry late?")],
        budget=100,
        expects=("unchanged",),
    ),
    Case(
        name="fields that nobody knows",
        why="Names, metadata and cache marks are lost on the way.",
        messages=_extra,
        budget=0.4,
        expects=("untouched",),
    ),
    Case(
        name="a developer message leads",
        why="Only the role 'system' is known, and the rules go first.",
        messages=lambda: [system(role="developer"), *loop(40)[1:]],
        budget=0.3,
        expects=_KEPT,
    ),
    Case(
        name="the newest message is the assistant's",
        why="A prefilled answer is the newest message too.",
        messages=lambda: [*chat(30), assistant("It cost")],
        budget=0.3,
        expects=("system", "newest whole"),
    ),
    Case(
        name="two messages of the user in a row",
        why="The last question alone is not what was asked.",
        messages=lambda: [*chat(30), user("I mean the ferry."), user("Not the bridge.")],
        budget=0.3,
        expects=("system", "newest whole"),
    ),
    *(
        Case(
            name=f"{promise}: {what}",
            why=why,
            messages=messages,
            budget=budget,
            expects=(promise,),
        )
        for promise, why in (
            ("idempotent", "Fitted again, the prompt shrinks again: a session erodes."),
            ("deterministic", "A prompt that differs from run to run cannot be tested, replayed or cached."),
        )
        for what, messages, budget in (
            ("a loop", lambda: loop(60), 0.3),
            ("a talk in many scripts", lambda: chat(40, 80, make=east), 0.4),
            ("a cut inside", lambda: [*loop(6), *pair("last", prose(9_000))], 1_000),
        )
    ),
)

CASES: tuple[Case, ...] = (*LOOPS, *SIZES, *TEXTS, *PROMISES, *KEPT, *READABLE)
"""Every case, in the order of the table."""
