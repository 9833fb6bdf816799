"""Before each prompt the whole is counted; what comes out fits, and the status says what it is made of."""

import pytest

import brim
from brim.errors import InvalidValue
from sessions.talking import SYSTEM, TURNS, Seen, session, turn, window

TOOLS = [
    {"type": "function", "function": {"name": "read", "description": "Read a file", "parameters": {"type": "object"}}}
]
M = brim.meter("o200k_base")


@pytest.mark.requirement("S3.1")
def test_the_cap_and_the_warning_are_shares_of_the_window():
    told = brim.Session(window=brim.Window(1_000_000, cap=0.20, warn=0.15)).status()
    assert (told.budget, told.warning, told.window) == (200_000, 150_000, 1_000_000)
    with pytest.raises(InvalidValue, match="warn"):
        brim.Session(window=brim.Window(1_000_000, cap=0.10, warn=0.15))


@pytest.mark.requirement("S3.2", "S3.3")
@pytest.mark.parametrize(("format", "stable"), [*zip(TURNS, (True, False, True), strict=True)])
def test_every_prompt_fits_and_counts_system_conversation_memory_and_tool_output(format, stable):
    talk = session(stable=stable, format=format)
    tools = TOOLS if format == "openai" else None
    for i in range(40):
        for message in TURNS[format](i):
            talk.add(message)
            fitted = talk.prompt(system=SYSTEM, tools=tools, memory=["likes tea", f"asked {i} times"])
            assert fitted.used <= fitted.budget == 2_000
            sent = fitted.messages
            if format != "openai":
                sent = [{"role": "system", "content": SYSTEM}, *sent]
            assert fitted.used == M.count_messages(sent, tools, format=format)
            status = talk.status()
            assert sum(status.categories.values()) == status.used == fitted.used
    assert talk.status().compactions > 1 or not stable
    assert {"memory", "tool results", "user", "assistant"} <= set(talk.status().categories)
    assert talk.status().peak <= 2_000


@pytest.mark.requirement("S3.13", "X7")
def test_memory_is_bounded_and_what_is_pinned_is_served_first():
    talk = session(memory_limit=100)
    talk.add(turn(1))
    recalled = [f"recalled {i} " * 10 for i in range(20)]
    fitted = talk.prompt(memory={"recalled": recalled, "pinned": ["pinned 1", "pinned 2"]})
    text = fitted.messages[-1]["content"]
    assert text.startswith("## Memory\n\npinned 1\npinned 2\n\nrecalled 0")
    assert "recalled 19" not in text
    assert talk.status().categories["memory"] <= 100
    part = fitted.receipt.part("memory")
    assert (part.state, part.used) == ("cut", talk.status().categories["memory"])
    assert fitted.receipt.used == fitted.used


@pytest.mark.requirement("S3.13")
def test_memory_may_take_fifty_thousand_tokens_and_no_more_than_a_quarter_of_the_budget():
    assert brim.Session(window=brim.Window(1_000_000, cap=0.20)).settings.most_memory == 50_000
    assert brim.Session(window=brim.Window(1_000_000)).settings.most_memory == 50_000
    assert session().settings.most_memory == 500


def test_the_upper_bound_of_an_estimate_includes_the_history():
    """With memory, it was the estimate of the history."""
    talk = brim.Session(brim.Window(2_000), meter=brim.meter("claude-sonnet-4-5"))
    talk.add({"role": "user", "content": "hi " * 300})
    plain, remembered = talk.prompt().receipt, talk.prompt(memory="tea").receipt
    assert plain.upper > plain.used
    assert remembered.upper - remembered.used == plain.upper - plain.used


@pytest.mark.parametrize("memory", [7, {"other": "x"}, [1], {"pinned": 3}])
def test_memory_that_cannot_be_is_refused(memory):
    talk = session()
    talk.add(turn(1))
    with pytest.raises(InvalidValue, match="memory"):
        talk.prompt(memory=memory)


def test_memory_at_the_end_moves_nothing_that_the_cache_holds():
    talk = session()
    talk.add(turn(1))
    first = talk.prompt(system=SYSTEM, memory="it rains")
    talk.add(turn(2))
    second = talk.prompt(system=SYSTEM, memory="the sun shines")
    kept = len(first.messages) - 1
    assert second.messages[:kept] == first.messages[:kept]
    assert second.stable_prefix > 0


@pytest.mark.requirement("S3.15")
def test_the_line_is_crossed_once_until_the_use_falls_below_it_again():
    seen = Seen()
    talk = session(observers=[seen], compact_at="never")
    added = 0
    while talk.status().used < 1_200:
        talk.add(turn(added))
        talk.prompt()
        added += 1
    for more in range(3):
        talk.add(turn(added + more))
        talk.prompt()
    assert talk.status().warnings == 1
    assert len(seen.of("warning")) == 1
    assert seen.of("warning")[0]["warning_tokens"] == 1_200
    talk.restart([{"role": "user", "content": "anew"}])
    talk.prompt()
    assert talk.status().warnings == 1


def test_a_message_that_cannot_be_is_refused_and_nothing_is_added():
    talk = session()
    talk.add(turn(1))
    with pytest.raises(InvalidValue, match="role"):
        talk.add([{"role": "user", "content": "ok"}, {"role": "nobody", "content": "x"}])
    assert len(talk.messages) == 4
    assert talk.status().messages == 4


@pytest.mark.requirement("X1")
def test_a_result_that_is_too_long_is_cut_by_its_shape_and_comes_back_whole():
    talk = session(tool_limit=200)
    whole = "\n".join(f"row {i}: value {i * 3}" for i in range(2_000))
    messages = turn(1)
    messages[2] = {**messages[2], "content": whole}
    talk.add(messages)
    sent = talk.messages[2]["content"]
    assert 180 <= M.count(sent) <= 200
    assert sent.startswith("row 0: value 0\n")
    name = sent.rpartition("the whole is ")[2].rstrip("]")
    assert talk.recall(name) == whole
    assert talk.recall(name[:11]) == whole
    assert messages[2]["content"] == whole


@pytest.mark.requirement("X1")
def test_in_a_turn_of_many_calls_no_prompt_is_over_and_calls_keep_their_results():
    talk = session(window=window(16_384, cap=None, warn=None, reserve=2_000))
    talk.add({"role": "user", "content": "Find the fault."})
    for i in range(60):
        talk.add(turn(i, lines=400)[1:3])
        fitted = talk.prompt(system=SYSTEM, tools=TOOLS)
        assert 14_384 * (0.15 if i > 20 else 0) < fitted.used <= 14_384
        answered = {message["tool_call_id"] for message in fitted.messages if message["role"] == "tool"}
        called = {call["id"] for message in fitted.messages for call in message.get("tool_calls") or ()}
        assert called == answered
        assert f"c{i}" in called


def test_an_event_holds_numbers_and_no_text_of_the_prompt():
    seen = Seen()
    talk = session(observers=[seen], window=window())
    for i in range(20):
        talk.add(turn(i))
        talk.prompt(system=SYSTEM, memory="likes tea")
    assert {"prompt_assembled", "compacted", "warning"} == set(seen.names())
    told = str([event.to_dict() for event in seen.events])
    for text in ("careful engineer", "likes tea", "build", "queue"):
        assert text not in told
    last = seen.of("prompt_assembled")[-1]
    assert last["used_tokens"] == talk.status().used
    assert last["budget_tokens"] == 2_000
    assert seen.events[-1].session == talk.id


def test_memory_gives_way_to_what_has_to_stay():
    """`what has to stay takes 5,013 tokens and the budget is 4,916`: a quarter had been set aside for memory."""
    session = brim.Session(window=brim.Window(8_192, reserve=1_639), model="gpt-4o")
    session.add({"role": "user", "content": "What is the next step?"})
    fitted = session.prompt(system="word " * 5_000, memory=["fact " * 100 for _ in range(640)])
    parts = {part.name: part for part in fitted.receipt.parts}
    assert [parts[name].state for name in ("system", "messages[0]", "memory")] == ["whole", "whole", "cut"]
    assert 6_300 < fitted.used <= 6_553
    assert session.prompt(system="word " * 6_000, memory="fact " * 3_000).used == 6_553, "to the last token"
    tight = session.prompt(system="word " * 6_530, memory="fact " * 1_000)
    assert "memory" not in {part.name for part in tight.receipt.parts if part.present}


def test_memory_leaves_room_for_the_newest_result():
    talk = session(window=2_000)
    talk.add([*turn(1)[:2], {**turn(1)[2], "content": "".join(f"row {i} of the log\n" for i in range(900))}])
    talk.prompt(system="word " * 1_500, memory=["fact " * 20 for _ in range(90)])
    sizes = talk.status().categories
    assert 120 < sizes["tool results"] <= 200 < sizes["memory"]


def test_what_is_sent_is_what_was_counted_whoever_changes_a_message():
    """A client that streams into one dictionary: 50,013 tokens were sent, and the receipt said 12."""
    meter, long = brim.meter("gpt-4o"), "word " * 50_000

    def changed(message):
        message["content"] = long

    session = brim.Session(window=brim.Window(8_000), model="gpt-4o")
    message = {"role": "user", "content": "hello"}
    session.add(message)
    changed(message)
    fitted = session.prompt()
    assert [each["content"] for each in fitted.messages] == ["hello"]
    changed(fitted.messages[0])
    again = session.prompt()
    assert again.used == meter.count_messages(again.messages) <= 8_000

    history, message = brim.History(model="gpt-4o"), {"role": "user", "content": "hello"}
    history.extend([message, {"role": "assistant", "content": "well"}])
    assert history.fit(8_000).messages[0] is message
    changed(message)
    fitted = history.fit(8_000)
    assert fitted.used == meter.count_messages(fitted.messages) <= 8_000
    request = brim.fit_request(system="Be brief.", messages=history, user="Go on.", budget=8_000)
    assert request.used == meter.count_messages(request.messages) <= 8_000

    conversations = brim.Conversations(brim.Window(8_000), model="gpt-4o")
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}]
    conversations.request([*messages, {"role": "user", "content": "go on"}])
    messages[1]["content"][0]["text"] = long
    sent = conversations.request([*messages, {"role": "user", "content": "go on"}])
    assert sent.receipt.used == meter.count_messages(sent.messages) <= 8_000
