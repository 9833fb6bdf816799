"""What a loop hands over to a fresh context: findings in plain words, calls, results, and what nobody has read yet."""

import random

import pytest

import brim
from brim.errors import ModelError
from brim.history.compact.continuation import continuation
from brim.sessions.loop.brief import said_and_rest
from brim.testing import Scripted
from talk import answer, calling, gives, model, result, says, text, use, user

FINDINGS = [
    "The backup of the northern office runs on a machine that Teresa bought in Lisbon.",
    "Customers from Norway pay with an old card reader that cannot print receipts.",
    "The staging database was copied from production in March and never refreshed.",
    "Nobody has touched the scheduler since the team from Krakow left the company.",
    "Invoices above nine thousand euros wait for a signature on paper.",
    "The mobile team ships from its own branch called harbour.",
    "Warehouse four sends its stock list by fax every second Tuesday.",
    "Our certificate is held by a lawyer in Vienna.",
    "Refunds are booked by hand in a spreadsheet that only Amara can open.",
    "The search index is rebuilt at night by a script on Jonas's laptop.",
]
FILLER = "The parser reads a token and returns a node of the tree for it, as it did before. "


def loop_of(steps, **more):
    """Return a loop that makes the given steps, and the prompts that it was given."""
    prompts = []

    def act(tick):
        prompts.append(tick.messages)
        return steps(tick, len(prompts) - 1)

    options = {"window": brim.Window(20_000), "meter": "chars/4", "tick_cap": 0.15, "max_sub_ticks": 1_000, **more}
    return brim.Loop("Look into the shop.", act, **options), prompts


def said(tick_number, words):
    call = f"c{tick_number}"
    return [calling(call, arguments=f'{{"path": "src/part_{tick_number}.py"}}'), result(call, FILLER * 4), model(words)]


@pytest.mark.requirement("S3.7", "S3.8")
def test_ten_plain_findings_are_in_the_next_context():
    def steps(tick, number):
        words = FINDINGS[number] if number < 10 else FILLER
        return brim.Step(messages=said(number, words), end="goal" if tick.sub_tick else "continue")

    loop, prompts = loop_of(steps)
    assert loop.run().sub_ticks == 1
    first = prompts[-1][0]["content"]
    assert [finding for finding in FINDINGS if finding not in first] == []
    assert prompts[-1][0]["content"].startswith("Look into the shop.\n\n[CONTINUATION]")


@pytest.mark.requirement("S3.7")
def test_a_hand_over_fills_its_room_with_calls_and_what_came_of_them():
    def steps(tick, number):
        outcome = f"src/part_{number}.py line {number}: the lock is held by worker {number}\n" + FILLER * 30
        call = calling(f"c{number}", arguments=f'{{"path": "src/part_{number}.py"}}')
        return brim.Step(messages=[call, result(f"c{number}", outcome), model(f"Part {number} is read.")],
                         end="goal" if tick.sub_tick else "continue")  # fmt: skip

    loop, prompts = loop_of(steps)
    loop.run()
    first = prompts[-1][0]["content"]
    calls = loop.progress.steps - 1
    assert all(f'f {{"path": "src/part_{number}.py"}}' in first for number in range(calls))
    assert "the lock is held by worker" in first
    limit = loop.session.budget // 4
    assert 0.6 * limit < len(first) / 4 <= limit + len("Look into the shop.")


@pytest.mark.requirement("S3.8")
def test_more_than_five_results_are_in_the_next_context():
    def steps(tick, number):
        ended = "goal" if tick.sub_tick else "iteration"
        return brim.Step(messages=[model(FILLER * 8)], result={"module": number, "state": "ported"}, end=ended)

    loop, prompts = loop_of(steps, max_iterations=50)
    outcome = loop.run()
    first = prompts[-1][0]["content"]
    known = len(outcome.results) - 1
    assert known > 8
    assert f"Results so far: {known}\n" in first
    assert all(f'{{"module": {number}, "state": "ported"}}' in first for number in range(known))


@pytest.mark.parametrize(("words", "newest"), [(20, 6), (200, 2)], ids=["short", "long"])
def test_results_take_a_quarter_of_the_hand_over_and_the_newest_are_named(words, newest):
    def steps(tick, number):
        ended = "goal" if tick.sub_tick else "iteration"
        return brim.Step(messages=[model(FILLER * 8)], result=f"{number}: " + "word " * words, end=ended)

    loop, prompts = loop_of(steps, max_iterations=50)
    known = len(loop.run().results) - 1
    first = prompts[-1][0]["content"]
    told = first[first.index("Results so far") :].splitlines()
    assert told[0] == f"Results so far: {known}, the newest {newest}"
    assert [line.split(":")[0] for line in told[1:]] == [f"- {at}" for at in range(known - newest, known)]
    assert all(line.endswith("word …") and 290 < len(line) <= 304 for line in told[1:]) is (words == 200)
    limit = loop.session.budget // 4 // 4
    assert 0.8 * limit < len("\n".join(told)) / 4 <= limit


class TestSummariser:
    def run(self, summarise):
        def steps(tick, number):
            words = FINDINGS[number] if number < 10 else FILLER
            return brim.Step(messages=said(number, words), end="goal" if tick.sub_tick else "continue")

        loop, prompts = loop_of(steps, summarise=summarise)
        loop.run()
        return prompts[-1][0]["content"]

    def test_what_a_model_says_stands_before_the_lines_and_its_facts_are_completed(self):
        client = Scripted(["<think>hm</think>\nThe backup runs on a machine of the northern office."])
        first = self.run(client)
        assert "Goal: as above\nSummary: The backup runs on a machine of the northern office.\n" in first
        assert all(finding in first for finding in FINDINGS)

    def test_a_function_gets_the_text_and_a_limit(self):
        given = []

        def summarise(text, limit):
            given.append((text, limit))
            return "Nobody touched the scheduler."

        first = self.run(summarise)
        assert "Summary: Nobody touched the scheduler.\n" in first
        text, limit = given[0]
        assert FINDINGS[0] in text
        assert limit == 20_000 * 15 // 100 // 4 // 2

    @pytest.mark.parametrize(
        "bad",
        ["", "I'm sorry, I cannot help with that.", "lib/a1.py lib/b2.py lib/c3.py lib/d4.py are broken.",
         ModelError("busy", status=503)],
        ids=["empty", "refusal", "invented", "error"],
    )  # fmt: skip
    def test_an_answer_that_cannot_be_used_is_left_out(self, bad, caplog):
        first = self.run(Scripted([bad]))
        assert "Summary:" not in first
        assert all(finding in first for finding in FINDINGS)
        assert "the summariser failed" in caplog.text


SHAPES = {
    "openai": lambda n, words: [calling(f"c{n}"), result(f"c{n}", words)],
    "anthropic": lambda n, words: [says(text("Let me see."), use(f"c{n}")), gives(answer(f"c{n}", words))],
    "responses": lambda n, words: [
        {"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{n}", "output": words},
    ],
}


@pytest.mark.requirement("S3.7", "S3.10")
@pytest.mark.parametrize("format", SHAPES)
def test_every_result_is_in_the_prompt_after_it(format):
    """ "In 60 steps results 22 and 44 were in no prompt": a context ended between a result and the model reading it."""
    rng = random.Random(7)
    unread = []

    def steps(tick, number):
        if number and f"RESULT-{number - 1}." not in str(tick.messages):
            unread.append(number - 1)
        messages = SHAPES[format](number, f"RESULT-{number}. " + "a line of code. " * rng.randrange(1, 120))
        return brim.Step(messages=messages, end="goal" if number == 120 else "continue")

    loop, _ = loop_of(steps, window=brim.Window(8_000), format=format)
    outcome = loop.run()
    assert (outcome.ended, unread) == ("goal", [])
    assert outcome.sub_ticks > 5


@pytest.mark.requirement("S3.10")
def test_parallel_results_go_over_together_with_their_calls():
    def steps(tick, number):
        if tick.sub_tick:
            return brim.Step(messages=[model("Read.")], end="goal")
        ids = [f"c{number}-{i}" for i in range(3)]
        return brim.Step(messages=[calling(*ids), *(result(each, f"{each}: " + "word " * 60) for each in ids)])

    loop, prompts = loop_of(steps)
    loop.run()
    opening, call, *results = prompts[-1]
    assert opening["role"] == "user"
    assert [each["id"] for each in call["tool_calls"]] == [each["tool_call_id"] for each in results]
    last = loop.progress.steps - 2
    assert [each["content"].split(":")[0] for each in results] == [f"c{last}-{i}" for i in range(3)]


def test_words_of_the_user_that_nobody_answered_stand_in_the_first_message():
    unread = [user("Go on."), user("Leave the tests alone."), calling("c"), result("c")]
    assert said_and_rest(unread, "openai") == ("Leave the tests alone.", [calling("c"), result("c")])
    assert said_and_rest([user("Iteration 2 of at most 20: go on towards the goal.")], "openai") == ("", [])


def test_words_of_the_user_that_a_context_began_with_are_in_the_next_hand_over():
    """The first message of a context was taken for the hand-over, with what the user had said at its end."""
    rule = "Leave the ledger of the northern office alone."

    def steps(tick, number):
        end = "goal" if tick.sub_tick > 3 else "continue"
        more = [user(rule)] if tick.sub_tick == 0 and tick.used > 2_000 else []
        return brim.Step(messages=[model(f"Part {number} is read. " + FILLER * 20), *more], end=end)

    loop, prompts = loop_of(steps)
    loop.run()
    openings = [prompt[0]["content"] for prompt in prompts if len(prompt) == 1][1:]
    assert len(openings) > 3
    assert [rule in opening for opening in openings] == [True] * len(openings)
    assert openings[0].endswith(f"\n\n{rule}")
    assert rule in loop.progress.continuation.constraints


@pytest.mark.requirement("S3.7")
def test_the_output_of_a_command_is_no_word_of_the_user():
    """An agent without tool calls gets its outputs as messages of the user."""
    said = [
        user("Never touch the tests."),
        model("I look at the rules.\n```bash\ncat rules.py\n```"),
        user("<output>\nThe name must be a text.\nKaren from Oslo keeps the old ledger in a green box.\n</output>"),
    ]
    made = continuation(said, goal="Go.")
    assert made.constraints == ("Never touch the tests.",)
    assert not [text for text in made.findings if "Karen" in text]
    (call,) = [line for line in made.lines if line.kind == "call"]
    assert call.text == "cat rules.py"
    assert "Karen from Oslo" in call.outcome


@pytest.mark.requirement("S3.7")
@pytest.mark.parametrize(("window", "more", "most"), [
    (1_000_000, {}, 5_000),
    (60_000, {}, 2_250),
    (1_000_000, {"handoff_tokens": 12_000}, 12_000),
])  # fmt: skip
def test_a_hand_over_is_a_share_of_the_window_of_at_most_five_thousand_tokens(window, more, most):
    """By default, a hand-over took 35,936 tokens of a large window."""

    def steps(tick, number):
        chance = random.Random(number)
        rows = [" ".join("".join(chance.choices("abcdefghij", k=7)) for _ in range(25)) for _ in range(window // 3_000)]
        words = "\n".join(f"The keeper of office {number} is {row}." for row in rows)
        return brim.Step(messages=[model(words)], end="goal" if tick.sub_tick else "continue")

    loop, prompts = loop_of(steps, window=brim.Window(window), **more)
    loop.run()
    assert 0.8 * most < loop.session.meter.count(prompts[-1][0]["content"]) <= most + 10
