"""The same short conversation as each program writes it down: two requests, a call and its result between them."""

import json
import random

from provider_formats import to_bedrock, to_gemini

SYSTEM = "You look things up, and you are brief about it."
TASK = "Which file defines the budget of a window?"
RESULT = "src/window.py: class Window\n" * 12
ARGUMENTS = '{"query": "budget"}'

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": ARGUMENTS}}
CHAT = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": TASK},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": RESULT},
    {"role": "assistant", "content": "window.py"},
]
BLOCKS = [
    {"role": "user", "content": [{"type": "text", "text": TASK}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"query": "budget"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": RESULT}]},
]
ITEMS = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": TASK}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": ARGUMENTS},
    {"type": "function_call_output", "call_id": "c1", "output": RESULT},
]
_PARTS = [
    {"role": "user", "parts": [{"type": "text", "content": TASK}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": ARGUMENTS}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": RESULT}]},
]


def openai_bodies():
    return [{"model": "gpt-4o", "messages": CHAT[:2]}, {"model": "gpt-4o", "messages": CHAT[:4]}]


def openai_log():
    usage = {"usage": {"prompt_tokens": 20, "prompt_tokens_details": {"cached_tokens": 5}}}
    return [{"request": body, "response": usage} for body in openai_bodies()]


def openai_text_log():
    """A log that keeps the bodies as texts."""
    return [{"request_body": json.dumps(body), "status": 200} for body in openai_bodies()]


def responses_bodies():
    shared = {"model": "gpt-4o", "instructions": SYSTEM}
    return [{**shared, "input": ITEMS[:1]}, {**shared, "input": ITEMS}]


def anthropic_bodies():
    shared = {"model": "claude-sonnet-4-5", "max_tokens": 500, "system": SYSTEM}
    return [{**shared, "messages": BLOCKS[:1]}, {**shared, "messages": BLOCKS}]


def gemini_log():
    contents = to_gemini(BLOCKS, random.Random(0))
    body = {"systemInstruction": {"parts": [{"text": SYSTEM}]}, "generationConfig": {"maxOutputTokens": 500}}
    usage = {"usageMetadata": {"promptTokenCount": 20}}
    told = {"model": "gemini-2.5-pro", "response": usage}
    return [
        {**told, "request": {**body, "contents": contents[:1]}},
        {**told, "request": {**body, "contents": contents}},
    ]


def bedrock_bodies():
    messages = to_bedrock(BLOCKS, random.Random(0))
    shared = {"modelId": "us.anthropic.claude-sonnet-4-5", "system": [{"text": SYSTEM}]}
    return [{**shared, "messages": messages[:1]}, {**shared, "messages": messages}]


def transcript():
    return [{"id": "t", "messages": CHAT}]


def otel_spans():
    """OTLP, the newest span first, with the conversation's id."""
    told = [_PARTS[:1], _PARTS]
    spans = []
    for at, said in enumerate(told):
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.conversation.id": "talk",
            "gen_ai.system_instructions": json.dumps([{"type": "text", "content": SYSTEM}]),
            "gen_ai.input.messages": json.dumps(said),
        }
        listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
        listed.append({"key": "gen_ai.usage.input_tokens", "value": {"intValue": "20"}})
        spans.insert(0, {"traceId": "t", "startTimeUnixNano": str((1_790_000_000 + at) * 10**9), "attributes": listed})
    tool = {"traceId": "t", "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}}]}
    return [{"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [*spans, tool]}]}]}]


def otel_flat():
    """Flat spans with numbered attributes, and with events."""
    numbered = {
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": SYSTEM,
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": TASK,
    }
    calls = json.dumps([CALL])
    events = [
        {"name": "gen_ai.system.message", "attributes": {"content": SYSTEM}},
        {"name": "gen_ai.user.message", "attributes": {"content": TASK}},
        {"name": "gen_ai.assistant.message", "attributes": {"tool_calls": calls}},
        {"name": "gen_ai.tool.message", "attributes": {"id": "c1", "content": RESULT}},
    ]
    shared = {"context": {"trace_id": "0xab"}, "name": "chat gpt-4o"}
    return [
        {**shared, "start_time": "2026-11-15T10:00:00Z", "attributes": numbered},
        {
            **shared,
            "start_time": "2026-11-15T10:00:09Z",
            "attributes": {"gen_ai.request.model": "gpt-4o"},
            "events": events,
        },
    ]


def _langchain(name, **kwargs):
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


def langsmith_runs():
    """Runs as they are listed, the newest first, with a chain around them."""
    said = [
        _langchain("SystemMessage", content=SYSTEM),
        _langchain("HumanMessage", content=TASK),
        _langchain("AIMessage", content="", tool_calls=[{"name": "look", "args": {"query": "budget"}, "id": "c1"}]),
        _langchain("ToolMessage", content=RESULT, tool_call_id="c1"),
    ]
    shared = {"run_type": "llm", "trace_id": "t", "extra": {"invocation_params": {"model": "gpt-4o"}}}
    return [
        {**shared, "id": "b", "start_time": "2026-11-15T10:00:09", "inputs": {"messages": [said]}, "outputs": {}},
        {**shared, "id": "a", "start_time": "2026-11-15T10:00:00", "inputs": {"messages": [said[:2]]}, "outputs": {}},
        {"id": "t", "run_type": "chain", "trace_id": "t", "inputs": {"input": TASK}},
    ]


def langfuse_observations():
    shared = {"traceId": "t", "type": "GENERATION", "model": "gpt-4o", "usageDetails": {"input": 20, "output": 4}}
    return [
        {**shared, "id": "b", "startTime": "2026-11-15T10:00:09.000Z", "input": {"messages": CHAT[:4]}},
        {**shared, "id": "a", "startTime": "2026-11-15T10:00:00.000Z", "input": CHAT[:2]},
        {"traceId": "t", "type": "SPAN", "id": "s", "input": {"question": TASK}},
    ]


def claude_code_session():
    """A session whose answer comes in two lines, with another agent's line between them."""
    shared = {"sessionId": "s", "isSidechain": False, "version": "2"}

    def line(kind, message, **more):
        return {**shared, "type": kind, "uuid": f"{len(str(message))}", "message": message, **more}

    def answer(named, block, **more):
        return {"id": named, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block]}

    usage = {"input_tokens": 4, "cache_creation_input_tokens": 6, "cache_read_input_tokens": 10}
    side = {"role": "user", "content": "look around"}
    return [
        {"type": "summary", "summary": "a title", "leafUuid": "1"},
        line("user", {"role": "user", "content": TASK}),
        line("assistant", {**answer("m1", {"type": "text", "text": "I look."}), "usage": usage}),
        line("user", side, isSidechain=True, agentId="a"),
        line("assistant", answer("m1", BLOCKS[1]["content"][0])),
        line("user", {"role": "user", "content": BLOCKS[2]["content"]}),
        line("assistant", answer("m2", {"type": "text", "text": "window.py"})),
        {"type": "file-history-snapshot", "messageId": "1", "snapshot": {}},
    ]


def codex_session():
    def item(payload):
        return {"timestamp": "2026-11-15T10:00:00Z", "type": "response_item", "payload": payload}

    told = {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 20, "cached_input_tokens": 5}}}
    return [
        {"type": "session_meta", "payload": {"id": "s", "instructions": SYSTEM}},
        {"type": "turn_context", "payload": {"model": "gpt-4o"}},
        item(ITEMS[0]),
        item({"type": "reasoning", "summary": [], "encrypted_content": "sealed thought"}),
        item(ITEMS[1]),
        {"type": "event_msg", "payload": told},
        item(ITEMS[2]),
        item({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "window.py"}]}),
    ]


ALL = {
    "bodies": (
        openai_bodies,
        openai_log,
        openai_text_log,
        responses_bodies,
        anthropic_bodies,
        gemini_log,
        bedrock_bodies,
        transcript,
    ),
    "opentelemetry": (otel_spans, otel_flat),
    "langsmith": (langsmith_runs,),
    "langfuse": (langfuse_observations,),
    "claude-code": (claude_code_session,),
    "codex": (codex_session,),
}


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)
