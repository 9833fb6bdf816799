"""Whole requests: sections, a history and tools under one budget."""

import json
from dataclasses import replace

import pytest

import brim
import joint_requests
import traffic
from brim.meter.adapters import UpperBound
from brim.meter.estimate import SLACK

M = brim.meter("o200k_base")
CHATS = {
    "openai": lambda role, text: {"role": role, "content": text},
    "anthropic": lambda role, text: {"role": role, "content": [{"type": "text", "text": text}]},
    "responses": lambda role, text: {
        "type": "message",
        "role": role,
        "content": [{"type": "input_text" if role == "user" else "output_text", "text": text}],
    },
}


def chat(format="openai", turns=30):
    """Return a conversation about nothing in particular."""
    say = CHATS[format]
    messages = []
    for i in range(turns):
        messages += [say("user", f"question {i} " + "why so " * 12), say("assistant", f"answer {i} " + "because " * 20)]
    return messages


def agent_run(steps):
    """Return a task and the calls of tools that an agent makes, some files being read twice."""
    messages = [{"role": "user", "content": "Find why tests/test_parser.py fails, and repair src/parser.py."}]
    for i in range(steps):
        path = f"src/module_{i % 5}/file_{i % 5}.py"
        arguments = json.dumps({"path": path, "note": f'step {i} looks at "{path}" ' * 4})
        call = {"id": f"call_{i}", "type": "function", "function": {"name": "read", "arguments": arguments}}
        lines = [f"{n} def function_{n}_of_{i % 5}(value): return value + {n}" for n in range(12 + 5 * (i % 4))]
        messages += [
            {
                "role": "assistant",
                "content": f"Next is {path}, since function_{i}_of_{i % 5} is used.",
                "tool_calls": [call],
            },
            {"role": "tool", "tool_call_id": f"call_{i}", "content": "\n".join(lines)},
        ]
    return messages


def documents(count=20):
    return [f"document {i}: " + f"fact {i} " * 30 for i in range(count)]


def rag(budget, format="openai", **options):
    """Fit the request of a chat over documents."""
    return brim.fit_request(
        system=[
            brim.Section("rules", "Answer from the documents. " * 4, priority="required"),
            brim.Section("memory", [f"memory {i} " * 8 for i in range(20)], keep="newest", ceiling="15%"),
        ],
        messages=chat(format),
        user=[
            brim.Section("documents", documents(), keep="best", scores=[i % 7 for i in range(20)], floor="20%"),
            brim.Section("question", "What is fact 13?", priority="required"),
        ],
        budget=budget,
        model="gpt-4o",
        format=format,
        **options,
    )


@pytest.mark.parametrize("budget", [700, 2_000, 3_500])
def test_a_request_that_was_fitted_before_is_the_same_as_one_that_was_not(budget):
    """A history that grows, the same sections each time, in one arm everything new in each round."""
    documents_ = [f"document {i}: " + f"the fact number {i} is told here " * (3 + i % 9) for i in range(30)]
    calls = agent_run(steps=14)
    sections = {
        "system": [brim.Section("rules", "Answer from the documents. " * 4, priority="required")],
        "user": [brim.Section("documents", documents_, keep="best", scores=[i % 7 for i in range(30)], floor="20%")],
    }
    warm = brim.History(model="gpt-4o")
    for at, message in enumerate(calls):
        warm.extend([message])
        if at < 4:
            continue
        grown = brim.fit_request(**sections, messages=warm, budget=budget, model="gpt-4o")
        meter = brim.meter("gpt-4o")
        meter.memo.clear()
        cold = brim.fit_request(
            system=[brim.Section("rules", "Answer from the documents. " * 4, priority="required")],
            messages=[dict(each) for each in calls[: at + 1]],
            user=[replace(sections["user"][0], content=[f"{text} "[:-1] for text in documents_])],
            budget=budget,
            model="gpt-4o",
        )
        assert grown.body == cold.body
        assert grown.receipt.to_dict()["parts"] == cold.receipt.to_dict()["parts"]
        assert (grown.used, grown.receipt.losses) == (cold.used, cold.receipt.losses)


def test_sections_of_the_same_text_in_other_entries_are_told_apart():
    """The joined text is the same, so a cache that looks at no more would return the wrong entries."""
    texts = [f"line {i} of the list with some more words in it" for i in range(60)]
    pairs = ["\n".join(texts[i : i + 2]) for i in range(0, 60, 2)]
    kept = {}
    for name, entries in (("lines", texts), ("pairs", pairs), ("lines again", texts)):
        request = brim.fit_request(user=[brim.Section("list", entries, keep="best")], budget=300, model="gpt-4o")
        kept[name] = request.receipt.part("list").kept
        assert request.messages[0]["content"].startswith("\n".join(entries[: len(kept[name])]))
    assert kept["lines"] == kept["lines again"]
    assert len(kept["pairs"]) < len(kept["lines"])


@pytest.mark.parametrize("block", range(2))
def test_the_promise_holds_for_generated_requests(block):
    ends = [
        joint_requests.check(joint_requests.Case.of(seed, traffic.ALL_FORMATS))
        for seed in range(block * 12, block * 12 + 12)
    ]
    assert "cut" in ends


@pytest.mark.parametrize("seed", [9102, 10770, 15687])
def test_requests_that_broke_the_promise_once(seed):
    """Turns that make thinking unusable can take less than it did: they still stay, as in `fit_messages`."""
    joint_requests.check(joint_requests.Case.of(seed))


def test_a_result_that_is_an_object_is_counted_as_it_is_sent():
    """Gemini's `{"[2 fields omitted]": null}` has no space when it is sent: a history counted one character more."""
    joint_requests.check(joint_requests.Case.of(30763, traffic.ALL_FORMATS))


def test_a_cap_on_the_newest_turn_leaves_its_room_to_sections():
    """It bid for what it had before it was cut: of a budget of 94 tokens 51 stayed free, and every section was dropped."""
    joint_requests.check(joint_requests.Case.of(20066, traffic.ALL_FORMATS))
    messages = [{"role": "user", "content": "the task"}, {"role": "user", "content": "a long instruction " * 60}]
    section = brim.Section("facts", "fact " * 300, priority="low")
    request = brim.fit_request(system=[section], messages=messages, budget=200, meter="o200k_base", recent=40)
    assert request.used > 180
    assert request.receipt.part("facts").used > 80


@pytest.mark.parametrize("format", CHATS)
@pytest.mark.parametrize("budget", [300, 900, 2_000, 5_000, 50_000])
def test_a_chat_over_documents_fits_and_fills_its_budget(budget, format):
    request = rag(budget, format)
    body = request.body
    messages = body["input"] if format == "responses" else body["messages"]
    apart = {"anthropic": "system", "responses": "instructions"}.get(format)
    told = [{"role": "system", "content": body[apart]}] if apart else []
    counted = traffic.size([*told, *messages], format, "gpt-4o")
    assert counted == request.used == request.receipt.used <= budget
    if request.receipt.truncated and budget >= 900:
        assert request.used >= 0.9 * budget
    assert body["model"] == "gpt-4o"
    assert request.system.startswith("Answer from the documents.")
    assert "What is fact 13?" in str(messages[-1])


def test_the_receipt_has_the_priority_of_the_history_for_the_turns_that_may_be_dropped():
    request = brim.fit_request(messages=chat(turns=4), user="Why?", budget=4_000, history_priority="high", meter=M)
    turns = [part for part in request.receipt.parts if part.name.startswith("messages")]
    high = brim.Section("a", "x", priority="high").rank
    assert {(part.required, part.priority) for part in turns} == {(True, 0), (False, high)}


def test_what_the_history_does_not_use_goes_to_the_documents():
    short, long = (
        brim.fit_request(
            messages=chat(turns=turns),
            user=[brim.Section("documents", documents(200)), brim.Section("question", "Why?", priority="required")],
            budget=4_000,
            meter=M,
        )
        for turns in (2, 150)
    )
    used = [request.receipt.part("documents").used for request in (short, long)]
    assert used[0] > 3_500
    assert used[1] < 800
    assert min(short.used, long.used) > 3_800


def test_entries_are_reported_by_index_and_id_in_the_order_given():
    section = brim.Section(
        "documents", documents(6), keep="best", scores=[1, 5, 3, 9, 0, 2], ids=["a", "b", "c", "d", "e", "f"]
    )
    request = brim.fit_request(user=[section], budget=240, meter=M)
    part = request.receipt.part("documents")
    assert part.entry_states == ("dropped", "whole", "dropped", "whole", "dropped", "dropped")
    assert [(entry.index, entry.id) for entry in part.kept] == [(1, "b"), (3, "d")]
    assert request.texts["documents"].index("document 1:") < request.texts["documents"].index("document 3:")
    back = brim.Receipt.from_json(request.receipt.to_json())
    assert back.part("documents").kept == part.kept


def test_an_entry_that_is_too_long_is_reported_as_shortened():
    section = brim.Section("notes", ["short", "long " * 200, "tiny"], keep="best")
    part = brim.fit([section], 60, meter=M).receipt.part("notes")
    assert part.entry_states == ("whole", "shortened", "dropped")
    assert [entry.index for entry in part.kept] == [0, 1]


@pytest.mark.parametrize(("budget", "kept"), [(340, ["e3", "e4", "e5", "e6", "e7"]), (200, ["e3", "e4", "e5"])])
def test_stages_keep_the_indexes_of_entries(budget, kept):
    entries = [f"entry {i} " * 20 for i in range(8)]
    section = brim.Section("log", entries, keep="newest", ids=[f"e{i}" for i in range(8)])
    stages = [{"section": "log", "last": 5}, {"section": "log", "first": 3}]
    part = brim.fit([section], budget, meter=M, stages=stages).receipt.part("log")
    assert [entry.id for entry in part.kept] == kept


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"scores": [1]}, "the number of scores must be 2, one for each entry, not 1"),
        ({"scores": ["a", "b"]}, "scores[0] must be a finite number"),
        ({"scores": [1, float("nan")]}, "scores[1] must be a finite number"),
        ({"ids": ["a", "a"]}, "ids must be different"),
        ({"ids": "ab"}, "ids must be a list"),
    ],
)
def test_labels_are_one_for_each_entry(arguments, told):
    with pytest.raises(brim.InvalidValue, match=told.replace("[", r"\[")):
        brim.Section("a", ["x", "y"], **arguments)


def tool(name, about):
    return {"type": "function", "function": {"name": name, "description": about, "parameters": {"type": "object"}}}


def test_tools_that_the_history_calls_stay_and_the_best_for_the_question():
    tools = [tool(f"tool_{i}", f"does thing number {i} with " + "many words " * 20) for i in range(60)]
    tools[40] = tool("get_weather", "Return the weather forecast of a city. " + "many words " * 20)
    call = {"id": "c1", "type": "function", "function": {"name": "tool_7", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    request = brim.fit_request(
        messages=messages,
        user="What will the weather be in Rome?",
        tools=tools,
        keep_tools="relevant",
        budget=800,
        meter=M,
    )
    names = [each["function"]["name"] for each in request.tools]
    assert {"tool_7", "get_weather"} <= set(names)
    assert 4 < len(names) < 60
    assert [entry.id for entry in request.receipt.part("tools").kept] == names
    assert request.used == M.count_messages(request.messages, request.tools) <= 800
    assert request.receipt.part("tools").reason == f"the {len(names)} of 60 tools that are called or the most relevant"
    two = brim.fit_request(messages=messages, tools=tools, budget=147, keep_tools="relevant", meter=M)
    assert (len(two.tools), two.used) == (2, 147)
    called = brim.fit_request(messages=messages, tools=tools, budget=146, keep_tools="relevant", meter=M)
    assert len(called.tools) == 1
    assert called.receipt.part("tools").reason == "it needs at least 58 tokens, and fewer were left"
    for priority, behind in (("high", 0), ("low", 1)):  # A fifth of the budget is for tools, called ones included.
        given = {"messages": [*chat(), *messages[1:]], "tools": tools, "keep_tools": "relevant", "meter": M}
        part = brim.fit_request(**given, budget=1_000, history_priority=priority).receipt.part("tools")
        assert part.priority == brim.Section("a", "x", priority="low").rank + behind
        assert 140 < part.used <= 200
    everything = brim.fit_request(messages=messages, tools=tools, budget=800_000, keep_tools="relevant", meter=M)
    assert everything.tools == tools
    assert [entry.id for entry in everything.receipt.part("tools").kept] == [each["function"]["name"] for each in tools]


def test_a_request_that_cannot_fit_is_refused_with_every_number():
    with pytest.raises(brim.DoesNotFit) as caught:
        brim.fit_request(system="rule " * 300, messages=chat(), user="why " * 300, budget=500, meter=M)
    error = caught.value
    assert error.needed > error.available == 500
    assert {"system", "user", "messages that always stay", "framing"} <= set(error.parts)
    fitted = brim.fit_request(system="rule " * 300, messages=chat(), user="why " * 300, budget=error.needed, meter=M)
    assert fitted.used <= error.needed


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"keep_tools": "some"}, "keep_tools"),
        ({"history_priority": "x"}, "history_priority"),
        ({"system": [1]}, "system"),
        ({"user": 7}, "user"),
        ({"format": "x"}, "format"),
        ({"system": [brim.Section("a", "x")], "user": [brim.Section("a", "x")]}, "name"),
    ],
)
def test_invalid_arguments_are_named(arguments, place):
    with pytest.raises(brim.InvalidValue, match=place):
        brim.fit_request(budget=100, meter=M, **arguments)


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"tool_{i}",
            "description": "Does something.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string", "description": "where"}}},
        },
    }
    for i in range(3)
]


@pytest.mark.parametrize("budget", range(130, 330, 4))
def test_tools_count_as_they_are_sent_where_every_system_section_was_dropped(budget):
    """OpenAI puts tools into the system message, or into one of their own: 61 tokens for a budget of 60."""
    system = [brim.Section("rules", "Be brief and kind to everyone. " * 9, overflow="drop", priority="low")]
    try:
        request = brim.fit_request(
            system=system, user="Go.", tools=TOOLS, messages=chat(turns=4), model="gpt-4o", budget=budget
        )
    except brim.DoesNotFit:
        return
    sent = brim.meter("gpt-4o").count_messages(request.body["messages"], request.body["tools"])
    assert sent == request.used <= budget


def test_a_model_without_a_budget_leaves_room_for_the_answer():
    messages = chat(turns=900)
    window = 8_192
    for fitted in (
        brim.fit_messages(messages, model="gpt-4"),
        brim.fit_request(messages=messages, model="gpt-4"),
        brim.fit([brim.Section("a", "word " * 20_000)], model="gpt-4").receipt,
    ):
        assert fitted.used <= fitted.budget == window - window // 8


def test_a_history_of_one_model_is_not_fitted_for_another():
    history = brim.History(model="gpt-4o")
    history.extend(chat(turns=3))
    with pytest.raises(brim.InvalidValue, match="model must be 'gpt-4o', or omitted"):
        brim.fit_request(messages=history, model="claude-sonnet-4-5", budget=2_500)
    assert brim.fit_request(messages=history, budget=2_500).body["model"] == "gpt-4o"
    counted = brim.History(meter="o200k_base")
    with pytest.raises(brim.InvalidValue, match="passed to the History"):
        brim.fit_request(messages=counted, model="gpt-4o", budget=2_500)


@pytest.mark.parametrize(
    ("model", "key"),
    [("gemini-2.5-pro", "contents"), ("anthropic.claude-sonnet-4-5-20250929-v1:0", "modelId"), ("gpt-5", "messages")],
)
def test_a_request_without_messages_has_the_format_of_its_model(model, key):
    assert key in brim.fit_request(system="Be brief.", user="Go.", model=model, budget=500).body


@pytest.mark.parametrize(
    "empty",
    [{"role": "user"}, {"role": "user", "content": None}, {"role": "assistant", "content": []},
     {"role": "user", "content": [{"cachePoint": {"type": "default"}}]}],
)  # fmt: skip
def test_a_message_without_content_is_left_out_and_told(empty):
    format = "bedrock" if "cachePoint" in str(empty) else "openai"
    say = (lambda text: [{"text": text}]) if format == "bedrock" else str
    messages = [{"role": "user", "content": say("Hello")}, empty]
    fitted = brim.fit_messages(messages, 500, format=format)
    assert fitted.messages == messages[:1]
    assert [repair["reason"] for repair in fitted.receipt.history["repairs"]] == ["it has no content"]


def test_a_replay_at_another_budget_is_the_fit_at_that_budget():
    request = rag(1_000, capture=True)
    again = brim.replay(request.receipt.to_json(), budget=2_500)
    assert again.body == rag(2_500).body
    assert brim.replay(request).body == request.body


SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"description": "an answer " * 300}}}


def test_other_fields_of_the_body_are_counted_and_sent():
    """A `response_format` of 600 tokens went beside the budget."""
    given = {"messages": chat(), "budget": 2_000, "model": "gpt-4o"}
    plain = brim.fit_request(**given)
    request = brim.fit_request(**given, fields={"response_format": SCHEMA, "temperature": 0.2})
    assert request.body["response_format"] == SCHEMA
    assert request.body["temperature"] == 0.2
    assert len(request.messages) < len(plain.messages)
    fitted = brim.fit_messages(chat(), 2_000, model="gpt-4o", fields={"response_format": SCHEMA})
    assert request.messages == fitted.messages
    assert request.used == fitted.used
    assert not request.receipt.exact
    assert request.receipt.part("fields").used > 600
    again = brim.replay(brim.fit_request(**given, fields={"response_format": SCHEMA}, capture=True).receipt.to_json())
    assert again.body["response_format"] == SCHEMA
    assert again.used == request.used


def test_fields_beside_the_tools_of_bedrock_are_kept():
    said = [{"role": "user", "content": [{"text": "hello"}]}]
    tools = [{"toolSpec": {"name": "look", "description": "looks", "inputSchema": {"json": {"type": "object"}}}}]
    request = brim.fit_request(
        messages=said, tools=tools, fields={"toolConfig": {"toolChoice": {"any": {}}}}, budget=900, meter=M
    )
    assert request.body["toolConfig"] == {"toolChoice": {"any": {}}, "tools": tools}


@pytest.mark.parametrize("name", ["messages", "tools", "model"])
def test_a_field_with_an_argument_of_its_own_is_refused(name):
    with pytest.raises(brim.InvalidValue, match=f"fields {name}"):
        brim.fit_request(messages=chat(), fields={name: []}, budget=900, meter=M)


@pytest.mark.parametrize("own", [{"format": "anthropic"}, {"meter": "chars"}])
def test_a_history_has_its_own_meter_and_format(own):
    with pytest.raises(brim.InvalidValue, match="the history has its own"):
        brim.fit_request(messages=brim.History(M), budget=900, **own)


@pytest.mark.parametrize("budget", [700, 50_000])
def test_the_text_of_the_user_joins_the_last_message_where_roles_alternate(budget):
    messages = chat("anthropic")[:-1]
    request = brim.fit_request(messages=messages, user="And what is fact 13?", budget=budget, model="claude-sonnet-4-5")
    assert traffic.alternates(request.messages)
    assert [part["text"] for part in request.messages[-1]["content"]][1:] == ["And what is fact 13?"]
    assert messages[-1]["content"] == CHATS["anthropic"]("user", "question 29 " + "why so " * 12)["content"]


@pytest.mark.parametrize("format", ["gemini", "bedrock"])
def test_a_captured_history_of_gemini_or_bedrock_is_replayed_from_json(format):
    """`receipt.capture.options.format must be one of openai, responses, anthropic, not 'gemini'`."""
    say = {"gemini": lambda text: {"role": "user", "parts": [{"text": text}]}}.get(
        format, lambda text: {"role": "user", "content": [{"text": text}]}
    )
    fitted = brim.fit_messages([say("a task"), say("and more")], 500, meter="o200k_base", format=format, capture=True)
    assert brim.replay(fitted.receipt.to_json()).messages == fitted.messages


def test_the_upper_bound_in_the_receipt_is_that_of_the_messages_as_sent():
    """The bound was that of the sections alone: 355 tokens of a request whose messages could have 365."""
    meter = brim.meter("claude-4.5")
    request = brim.fit_request(
        system="Be brief.", messages=chat(turns=2), user="Why? " * 80, tools=TOOLS, budget=900, meter=meter
    )
    bound = UpperBound(meter).count_messages(request.messages, request.tools)
    assert request.receipt.upper == bound > request.used + SLACK
    by_model = brim.fit_request(messages=chat(turns=2), budget=900, model="claude-sonnet-4-5")
    assert by_model.receipt.upper == by_model.used


def test_a_history_with_calls_is_an_estimate_for_a_model():
    """How calls are framed, and whether their ids count, is published for no model; a vocabulary counts by our own rule."""
    said = [{"role": "user", "content": "Look at the parser."}, {"role": "assistant", "content": "I will."}]
    assert brim.fit_messages(said, 5_000, model="gpt-4o").receipt.exact
    assert not brim.fit_messages(agent_run(2), 5_000, model="gpt-4o").receipt.exact
    assert brim.fit_messages(agent_run(2), 5_000, meter="o200k_base").receipt.exact


def test_a_history_whose_other_turns_do_not_fit_is_granted_what_those_that_stay_take():
    said = [("user", "w " * 10), ("assistant", "a " * 30)] * 2 + [("user", "now")]
    messages = [{"role": role, "content": text} for role, text in said]
    given = {"system": "Be brief.", "messages": messages, "model": "gpt-5", "note": False}
    history = brim.fit_request(budget=40, **given).receipt.history
    assert history["context_truncation"]["steps_included"] == 2, "the task and the last question"
    assert history["granted"] == history["context_truncation"]["tokens_used"] - 3, "the start of the answer is apart"
