"""Bodies of requests in every provider's format, with each field that the providers document, and texts put into them.

Nothing here is brim's: the bodies are written from the providers' references, so that they know fields that brim may not.
"""

import json
from copy import deepcopy
from random import Random

LONG = " ".join(f"word{number} of a text that nobody expects;" for number in range(60))
"""A text that is longer than any label."""
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WORDS = ["read", "the", "file", "and", "say", "which", "test", "fails", "before", "the", "next", "run", "starts"]


def body(format, random):
    """Return a body in a format."""
    return deepcopy(_BODIES[format](random))


def placed(body, random, text=LONG):
    """Return a body with a text somewhere in it, the path to the text, and how it was put there."""
    made = deepcopy(body)
    places = list(_places(made, ()))
    path, holder = random.choice(places)
    way = random.choice(("field", "nested", "name") if isinstance(holder, dict) else ("item", "part"))
    if random.random() < 0.6 and (keys := [key for key, value in _pairs(holder) if isinstance(value, str)]):
        key = random.choice(keys)
        holder[key] = text
        return made, (*path, key), "value"
    if way in ("item", "part"):
        at = random.randrange(len(holder) + 1)
        holder.insert(at, text if way == "item" else {"type": "brand_new", "text": text})
        return made, (*path, at), way
    key = text if way == "name" else random.choice(("brand_new", "x_vendor", "extras", "hint"))
    holder[key] = {"field": text, "nested": {"inner": [{"words": text}]}, "name": 1}[way]
    return made, (*path, key), way


def _places(value, path):
    if isinstance(value, dict | list):
        yield path, value
        for key, each in _pairs(value):
            yield from _places(each, (*path, key))


def _pairs(holder):
    return list(holder.items()) if isinstance(holder, dict) else list(enumerate(holder))


def _said(random):
    return " ".join(random.choices(_WORDS, k=random.randrange(1, 12)))


def _some(random, *choices):
    return random.sample(choices, random.randrange(1, len(choices) + 1))


def _maybe(random, **fields):
    return {key: value for key, value in fields.items() if random.random() < 0.4}


def _schema(random):
    return {
        "type": "object",
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {
            "path": {"type": "string", "description": _said(random)},
            "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        },
        "required": ["path"],
        "additionalProperties": False,
        "$defs": {"item": {"type": "object", "title": "Item", "properties": {"name": {"type": "string"}}}},
    }


def _chat(random):
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
    custom = {"id": "call_2", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    parts = _some(
        random,
        {"type": "text", "text": _said(random), **_maybe(random, cache_control={"type": "ephemeral"})},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PNG}", "detail": "high"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:text/plain;base64,aGVsbG8=", "filename": "a.txt"}},
        {"type": "file", "file": {"file_id": "file-123"}},
    )
    thoughts = _maybe(
        random,
        reasoning_content=_said(random),
        reasoning_details=[{"type": "reasoning.text", "text": _said(random), "signature": "c2ln", "format": "a-v1"}],
        thinking_blocks=[{"type": "thinking", "thinking": _said(random), "signature": "c2ln"}],
        refusal=_said(random),
        annotations=[{"type": "url_citation", "url_citation": {"url": "https://a.example", "title": _said(random)}}],
        audio={"id": "audio_1"},
        name="helper",
    )
    results = [
        {"role": "tool", "tool_call_id": "call_1", "content": random.choice((_said(random), [parts[0]]))},
        {"role": "tool", "tool_call_id": "call_2", "content": _said(random), **_maybe(random, name="shell")},
    ]
    return {
        "model": "gpt-4o",
        "messages": [
            {"role": random.choice(("system", "developer")), "content": _said(random)},
            {"role": "user", "content": random.choice((_said(random), parts)), **_maybe(random, name="anna")},
            {
                "role": "assistant",
                "content": random.choice((None, _said(random))),
                "tool_calls": [call, custom],
                **thoughts,
            },
            *results,
            {"role": "assistant", "content": [{"type": "text", "text": _said(random)}]},
            {"role": "user", "content": _said(random)},
        ],
        "tools": _chat_tools(random),
        **_maybe(
            random,
            response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": _schema(random)}},
            tool_choice={"type": "function", "function": {"name": "read"}},
            metadata={"run": _said(random)},
            user="anna",
            stop=["END"],
            prediction={"type": "content", "content": _said(random)},
            web_search_options={"user_location": {"type": "approximate", "approximate": {"city": "Berlin"}}},
            reasoning_effort="low",
            stream_options={"include_usage": True},
            logit_bias={"50256": -100},
            functions=[{"name": "old", "description": _said(random), "parameters": _schema(random)}],
        ),
    }


def _chat_tools(random):
    return _some(
        random,
        {
            "type": "function",
            "function": {"name": "read", "description": _said(random), "parameters": _schema(random), "strict": True},
        },
        {"type": "custom", "custom": {"name": "shell", "description": _said(random), "format": {"type": "text"}}},
        {"type": "web_search", "filters": {"allowed_domains": ["a.example"]}},
    )


def _responses(random):
    text = {"type": "output_text", "text": _said(random), "annotations": [], "logprobs": []}
    cited = {
        "type": "url_citation",
        "url": "https://a.example",
        "title": _said(random),
        "start_index": 0,
        "end_index": 3,
    }
    parts = _some(
        random,
        {"type": "input_text", "text": _said(random)},
        {"type": "input_image", "image_url": f"data:image/png;base64,{_PNG}", "detail": "auto"},
        {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8="},
        {"type": "input_audio", "data": "UklGRg==", "format": "wav"},
    )
    call = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
    items = [
        {"role": "user", "content": random.choice((_said(random), parts))},
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": _said(random)}],
            **_maybe(
                random, encrypted_content="gAAAA" * 9, content=[{"type": "reasoning_text", "text": _said(random)}]
            ),
        },
        {**call, **_maybe(random, id="fc_1", status="completed", namespace="files")},
        {"type": "function_call_output", "call_id": "call_1", "output": random.choice((_said(random), [parts[0]]))},
        {"type": "custom_tool_call", "call_id": "call_2", "name": "shell", "input": "ls", **_maybe(random, id="ctc_1")},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": _said(random)},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "a"}},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": _PNG},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [{**text, "annotations": [cited]}]},
        {"type": "message", "role": "assistant", "content": [text]},
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "a",
            "name": "b",
            "arguments": "{}",
            "output": _said(random),
            **_maybe(random, error={"type": "http_error", "code": 500, "message": _said(random)}),
        },
        {"type": "shell_call", "call_id": "call_3", "action": {"commands": [_said(random)]}},
        {
            "type": "shell_call_output",
            "call_id": "call_3",
            "output": [{"stdout": _said(random), "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
        },
        {
            "type": "file_search_call",
            "id": "fs_1",
            "queries": [_said(random)],
            "status": "completed",
            "results": [{"file_id": "file_1", "filename": "a.txt", "score": 0.5, "text": _said(random)}],
        },
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "code": _said(random),
            "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": _said(random)}],
            "status": "completed",
        },
        {"role": "user", "content": _said(random)},
    ]
    return {
        "model": "gpt-5",
        "input": items,
        **_maybe(
            random,
            instructions=_said(random),
            tools=[
                {"type": "function", "name": "read", "description": _said(random), "parameters": _schema(random)},
                {"type": "mcp", "server_label": "docs", "server_url": "https://a.example", "headers": {"A": "b"}},
            ],
            text={"format": {"type": "json_schema", "name": "answer", "schema": _schema(random)}, "verbosity": "low"},
            reasoning={"effort": "low", "summary": "auto"},
            include=["reasoning.encrypted_content"],
            metadata={"run": _said(random)},
            tool_choice="auto",
            truncation="disabled",
            safety_identifier="anna",
            prompt_cache_key="run-1",
        ),
    }


def _anthropic(random):
    mark = _maybe(random, cache_control={"type": "ephemeral", "ttl": "5m"})
    cited = {"type": "char_location", "cited_text": "abc", "document_index": 0, "document_title": "T"}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}}
    page = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": _said(random)},
        **_maybe(random, title=_said(random), context=_said(random)),
        **mark,
    }
    blocks = _some(
        random,
        {"type": "text", "text": _said(random), **mark},
        image,
        {
            "type": "document",
            "source": {"type": "url", "url": "https://a.example/a.pdf"},
            **_maybe(random, title=_said(random), context=_said(random), citations={"enabled": True}),
        },
        page,
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a", **mark}, image]}},
        {
            "type": "search_result",
            "source": "https://a.example",
            "title": "A",
            "content": [{"type": "text", "text": "b"}],
        },
    )
    answer = [
        {"type": "thinking", "thinking": _said(random), "signature": "c2lnbmF0dXJl"},
        {"type": "redacted_thinking", "data": "c2VhbGVk"},
        {"type": "text", "text": _said(random), **_maybe(random, citations=[cited])},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": _said(random)}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "zz"}
            ],
        },
        {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_fetch", "input": {"url": _said(random)}},
        {
            "type": "web_fetch_tool_result",
            "tool_use_id": "srvtoolu_2",
            "content": {"type": "web_fetch_result", "url": "https://a.example", "content": page},
        },
        {"type": "server_tool_use", "id": "srvtoolu_3", "name": "bash_code_execution", "input": {"command": "ls"}},
        {
            "type": "bash_code_execution_tool_result",
            "tool_use_id": "srvtoolu_3",
            "content": {
                "type": "bash_code_execution_result",
                "stdout": _said(random),
                "stderr": "",
                "return_code": 0,
                "content": [],
            },
        },
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": _said(random)}, **mark},
    ]
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": random.choice((_said(random), [{"type": "text", "text": _said(random)}, image], [page])),
        **_maybe(random, is_error=True),
        **mark,
    }
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1024,
        "messages": [
            {"role": "user", "content": random.choice((_said(random), blocks))},
            {"role": "assistant", "content": answer},
            {"role": "user", "content": [result, {"type": "text", "text": _said(random)}]},
        ],
        **_maybe(
            random,
            system=random.choice((_said(random), [{"type": "text", "text": _said(random), **mark}])),
            tools=[
                {"name": "read", "description": _said(random), "input_schema": _schema(random), **mark},
                {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a.example"]},
            ],
            tool_choice={"type": "tool", "name": "read"},
            metadata={"user_id": "anna"},
            stop_sequences=["END"],
            thinking={"type": "enabled", "budget_tokens": 1024},
            output_format={"type": "json_schema", "schema": _schema(random)},
            mcp_servers=[{"type": "url", "url": "https://a.example", "name": "a", "authorization_token": "t"}],
        ),
    }


def _gemini(random):
    call = {"functionCall": {"name": "read", "args": {"path": _said(random)}, **_maybe(random, id="c1")}}
    response = {"functionResponse": {"name": "read", "response": {"output": _said(random)}}}
    if "id" in call["functionCall"]:
        response["functionResponse"]["id"] = "c1"
    parts = _some(
        random,
        {"text": _said(random)},
        {"inlineData": {"mimeType": "image/png", "data": _PNG}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "https://a.example/a.pdf"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}, **_maybe(random, videoMetadata={"fps": 1})},
    )
    answer = [
        {"text": _said(random), "thought": True},
        {"executableCode": {"language": "PYTHON", "code": _said(random)}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": _said(random)}},
        {**call, **_maybe(random, thoughtSignature="c2ln")},
    ]
    return {
        "contents": [
            {"role": "user", "parts": parts},
            {"role": "model", "parts": answer},
            {"role": "user", "parts": [response]},
            {"role": "model", "parts": [{"text": _said(random)}]},
            {"role": "user", "parts": [{"text": _said(random)}]},
        ],
        **_maybe(
            random,
            systemInstruction={"parts": [{"text": _said(random)}]},
            tools=[
                {
                    "functionDeclarations": [
                        {"name": "read", "description": _said(random), "parameters": _schema(random)}
                    ]
                },
                {"googleSearch": {}},
            ],
            toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read"]}},
            generationConfig={
                "stopSequences": ["END"],
                "responseMimeType": "application/json",
                "responseSchema": _schema(random),
                "maxOutputTokens": 99,
            },
            safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            labels={"run": "a"},
        ),
    }


def _bedrock(random):
    blocks = _some(
        random,
        {"text": _said(random)},
        {"image": {"format": "png", "source": {"bytes": _PNG}}},
        {
            "document": {
                "format": "txt",
                "name": "notes",
                "source": {"bytes": "aGVsbG8="},
                **_maybe(random, context=_said(random)),
            }
        },
        {"document": {"format": "txt", "name": "a", "source": {"text": _said(random)}}},
        {"document": {"format": "txt", "name": "b", "source": {"content": [{"text": _said(random)}]}}},
        {"searchResult": {"source": "https://a.example", "title": "A", "content": [{"text": _said(random)}]}},
        {"guardContent": {"text": {"text": _said(random), "qualifiers": ["query"]}}},
        {"cachePoint": {"type": "default"}},
    )
    answer = [
        {"reasoningContent": {"reasoningText": {"text": _said(random), "signature": "c2ln"}}},
        {"text": _said(random)},
        {"toolUse": {"toolUseId": "tu_1", "name": "read", "input": {"path": _said(random)}}},
    ]
    result = {
        "toolUseId": "tu_1",
        "content": random.choice(([{"text": _said(random)}], [{"json": {"lines": [_said(random)]}}])),
        **_maybe(random, status="success"),
    }
    return {
        "modelId": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "messages": [
            {"role": "user", "content": [{"text": _said(random)}, *blocks]},
            {"role": "assistant", "content": answer},
            {"role": "user", "content": [{"toolResult": result}, {"text": _said(random)}]},
        ],
        **_maybe(
            random,
            system=[{"text": _said(random)}, {"cachePoint": {"type": "default"}}],
            toolConfig={
                "tools": [
                    {
                        "toolSpec": {
                            "name": "read",
                            "description": _said(random),
                            "inputSchema": {"json": _schema(random)},
                        }
                    },
                    {"cachePoint": {"type": "default"}},
                ],
                "toolChoice": {"tool": {"name": "read"}},
            },
            inferenceConfig={"maxTokens": 99, "stopSequences": ["END"]},
            additionalModelRequestFields={"top_k": 5, "hint": _said(random)},
            guardrailConfig={"guardrailIdentifier": "g", "guardrailVersion": "1"},
            requestMetadata={"run": "a"},
        ),
    }


_BODIES = {
    "openai": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
}


def text_of(body):
    """Return a body as JSON text."""
    return json.dumps(body, ensure_ascii=False)


def seeded(*parts):
    """Return a source of random numbers that is the same in every run."""
    return Random(repr(parts))
