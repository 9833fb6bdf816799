"""The texts of documents, shells and a provider's own tools are cut in place; all else of their parts stays and counts.

A history whose newest part is one long document was refused: "what has to stay takes 38,889 tokens ... and the budget
is 4,000". The text stood in a part that was counted as a whole and could not be shortened.
"""

import json
from typing import Any, NamedTuple

import pytest
from anthropic import types as claude
from anthropic.types import beta
from openai.types.responses import (
    ResponseCodeInterpreterToolCallParam,
    ResponseFileSearchToolCallParam,
    response_input_item_param,
)
from pydantic import TypeAdapter

import brim
from brim.wire import wire
from brim.wire.base import changed
from talk import answer, gives, model, says, text, use, user

METER = brim.meter("o200k_base")
BUDGET = 4_000
LINES = "\n".join(
    f"{i:05} the worker on node {i % 7} reports that queue {i * 31 % 97} is drained" for i in range(1_250)
)
"""About 20,000 tokens, as a log or a page has them."""
WORDS = LINES.replace("\n", " ")
"""The same without anything that JSON escapes."""
FEW = 12
"""Tokens by which a part in two counts may differ from the part in one: the seams between its JSON and the text."""


class Part(NamedTuple):
    """A part with one long text, and how it stands in a history."""

    format: str
    history: Any
    """Returns the messages with the part."""
    part: Any
    """Returns the part with a text."""
    at: tuple
    """The place of the part in the history."""
    inside: tuple
    """The place of the text in the part."""
    type: Any = None
    """The provider's own type of the part."""


def document(source, **fields):
    return {
        "type": "document",
        "source": source,
        "title": "The log of the workers",
        "context": "Of last night.",
        **fields,
    }


def plain_source(said):
    return {"type": "text", "media_type": "text/plain", "data": said}


def ran(kind, content, name, **fields):
    """Return how the provider called a tool of its own, and what came of it."""
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": {"of": "the log"}}
    return call, {"type": kind, "tool_use_id": "srvtoolu_1", "content": content, **fields}


def printed(kind, said):
    return {"type": kind, "stdout": said, "stderr": "warning: slow", "return_code": 3, "content": []}


def asked(part):
    return [gives(part, text("What does it say?"))]


def returned(part):
    return [user(), says(use("a")), gives(answer("a", [part]))]


def fetched(name, call="server_tool_use"):
    def history(part):
        made = {"type": call, "id": "srvtoolu_1", "name": name, "input": {"of": "the log"}}
        made |= {"server_name": "docs"} if call == "mcp_tool_use" else {}
        return [user(), says(made, part, text("It says so.")), user("And what else?")]

    return history


def item(part):
    return [user(), part, {"type": "message", **model("It says so.")}, user("And what else?")]


def run_in(call):
    return lambda part: [user(), call, part]


def converse(part):
    return [{"role": "user", "content": [part, {"text": "What does it say?"}]}]


def converse_result(part):
    call = {"toolUse": {"toolUseId": "a", "name": "read", "input": {}}}
    result = {"toolResult": {"toolUseId": "a", "content": [part]}}
    return [{"role": "user", "content": [{"text": "task"}]}, *({"role": role, "content": [block]} for role, block in
            (("assistant", call), ("user", result)))]  # fmt: skip


def bedrock_document(source):
    return {"document": {"format": "txt", "name": "log", "source": source, "context": "Of last night."}}


SHELL = {"type": "shell_call", "call_id": "c", "action": {"commands": ["cat log"]}}
LOCAL = {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "status": "completed"}
LOCAL["action"] = {"type": "exec", "command": ["cat", "log"], "env": {}}
PATCH = {"type": "apply_patch_call", "call_id": "c", "status": "completed"}
PATCH["operation"] = {"type": "delete_file", "path": "log"}
FIRST = (0, "content", 0)
SECOND = (1, "content", 1)

CUTTABLE = {
    "document": Part(
        "anthropic",
        asked,
        lambda said: document(plain_source(said)),
        FIRST,
        ("source", "data"),
        claude.DocumentBlockParam,
    ),
    "document of a text": Part(
        "anthropic",
        asked,
        lambda said: document({"type": "content", "content": said}),
        FIRST,
        ("source", "content"),
        claude.DocumentBlockParam,
    ),
    "document of blocks": Part(
        "anthropic",
        asked,
        lambda said: document({"type": "content", "content": [text("First."), text(said)]}),
        FIRST,
        ("source", "content", 1, "text"),
        claude.DocumentBlockParam,
    ),
    "document in a result": Part(
        "anthropic",
        returned,
        lambda said: document(plain_source(said), title="a page"),
        (2, "content", 0, "content", 0),
        ("source", "data"),
        claude.DocumentBlockParam,
    ),
    "search result": Part(
        "anthropic",
        asked,
        lambda said: {"type": "search_result", "source": "https://a.example", "title": "A", "content": [text(said)]},
        FIRST,
        ("content", 0, "text"),
        claude.SearchResultBlockParam,
    ),
    "web fetch": Part(
        "anthropic",
        fetched("web_fetch"),
        lambda said: ran(
            "web_fetch_tool_result",
            {"type": "web_fetch_result", "url": "https://a.example", "content": document(plain_source(said))},
            "web_fetch",
        )[1],
        SECOND,
        ("content", "content", "source", "data"),
        claude.WebFetchToolResultBlockParam,
    ),
    "code execution": Part(
        "anthropic",
        fetched("code_execution"),
        lambda said: ran("code_execution_tool_result", printed("code_execution_result", said), "code_execution")[1],
        SECOND,
        ("content", "stdout"),
        claude.CodeExecutionToolResultBlockParam,
    ),
    "bash execution": Part(
        "anthropic",
        fetched("bash_code_execution"),
        lambda said: ran("bash_code_execution_tool_result", printed("bash_code_execution_result", said), "bash")[1],
        SECOND,
        ("content", "stdout"),
        claude.BashCodeExecutionToolResultBlockParam,
    ),
    "file view": Part(
        "anthropic",
        fetched("text_editor_code_execution"),
        lambda said: ran(
            "text_editor_code_execution_tool_result",
            {"type": "text_editor_code_execution_view_result", "content": said, "file_type": "text", "num_lines": 9},
            "view",
        )[1],
        SECOND,
        ("content", "content"),
        claude.TextEditorCodeExecutionToolResultBlockParam,
    ),
    "mcp result": Part(
        "anthropic",
        fetched("read", "mcp_tool_use"),
        lambda said: ran("mcp_tool_result", [text(said)], "read", is_error=False)[1],
        SECOND,
        ("content", 0, "text"),
        beta.BetaRequestMCPToolResultBlockParam,
    ),
    "bedrock document": Part(
        "bedrock", converse, lambda said: bedrock_document({"text": said}), FIRST, ("document", "source", "text")
    ),
    "bedrock document of blocks": Part(
        "bedrock",
        converse,
        lambda said: bedrock_document({"content": [{"text": "First."}, {"text": said}]}),
        FIRST,
        ("document", "source", "content", 1, "text"),
    ),
    "bedrock document in a result": Part(
        "bedrock",
        converse_result,
        lambda said: bedrock_document({"text": said}),
        (2, "content", 0, "toolResult", "content", 0),
        ("document", "source", "text"),
    ),
    "bedrock search result": Part(
        "bedrock",
        converse,
        lambda said: {"searchResult": {"source": "https://a.example", "title": "A", "content": [{"text": said}]}},
        FIRST,
        ("searchResult", "content", 0, "text"),
    ),
    "shell": Part(
        "responses",
        run_in(SHELL),
        lambda said: {
            "type": "shell_call_output",
            "call_id": "c",
            "max_output_length": 200_000,
            "output": [
                {"stdout": "ready", "stderr": "", "outcome": {"type": "timeout"}},
                {"stdout": said, "stderr": "warning: slow", "outcome": {"type": "exit", "exit_code": 3}},
            ],
        },
        (2,),
        ("output", 1, "stdout"),
        response_input_item_param.ShellCallOutput,
    ),
    "file search": Part(
        "responses",
        item,
        lambda said: {
            "type": "file_search_call",
            "id": "fs_1",
            "queries": ["drained"],
            "status": "completed",
            "results": [{"file_id": "f", "filename": "log", "score": 0.5, "text": said, "attributes": {"night": 3}}],
        },
        (1,),
        ("results", 0, "text"),
        ResponseFileSearchToolCallParam,
    ),
    "code interpreter": Part(
        "responses",
        item,
        lambda said: {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "code": "print(open('log').read())",
            "container_id": "cntr_1",
            "outputs": [{"type": "logs", "logs": said}, {"type": "image", "url": "https://a.example/b.png"}],
            "status": "completed",
        },
        (1,),
        ("outputs", 0, "logs"),
        ResponseCodeInterpreterToolCallParam,
    ),
    "mcp call": Part(
        "responses",
        item,
        lambda said: {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "docs",
            "name": "read",
            "arguments": '{"path":"log"}',
            "output": said,
        },
        (1,),
        ("output",),
        response_input_item_param.McpCall,
    ),
    "mcp error": Part(
        "responses",
        item,
        lambda said: {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "docs",
            "name": "read",
            "arguments": "{}",
            "error": {"type": "http_error", "code": 500, "message": said},
        },
        (1,),
        ("error", "message"),
        response_input_item_param.McpCall,
    ),
    "local shell": Part(
        "responses",
        run_in(LOCAL),
        lambda said: {"type": "local_shell_call_output", "id": "c", "output": said, "status": "completed"},
        (2,),
        ("output",),
        response_input_item_param.LocalShellCallOutput,
    ),
    "apply patch": Part(
        "responses",
        run_in(PATCH),
        lambda said: {"type": "apply_patch_call_output", "call_id": "c", "output": said, "status": "failed"},
        (2,),
        ("output",),
        response_input_item_param.ApplyPatchCallOutput,
    ),
}


def at(value, path):
    for key in path:
        value = value[key]
    return value


@pytest.fixture(params=CUTTABLE.values(), ids=CUTTABLE.keys())
def case(request):
    return request.param


def test_a_long_text_is_cut_in_place_and_the_prompt_fits(case):
    given = case.history(case.part(LINES))
    fitted = brim.fit_messages(given, BUDGET, meter=METER, format=case.format)
    assert fitted.used == METER.count_messages(fitted.messages, format=case.format)
    assert 0.8 * BUDGET < fitted.used <= BUDGET
    kept = at(fitted.messages, (*case.at, *case.inside))
    assert METER.count(kept) > 0.7 * BUDGET
    assert kept.startswith(LINES[:200]) or kept.endswith(LINES[-200:])
    whole = changed(fitted.messages, {(*case.at, *case.inside): LINES})
    assert whole == given, "nothing but the text has changed"
    if case.type is not None:
        TypeAdapter(case.type).validate_python(at(fitted.messages, case.at))


def test_a_part_counts_as_much_as_its_json(case):
    """The JSON of the whole part was the count as long as it could not be cut; now the text and the rest count apart."""
    part, empty = case.part(WORDS), case.part("")
    if part["type" if "type" in part else next(iter(part))] in ("local_shell_call_output", "apply_patch_call_output"):
        pytest.skip("the text has always counted on its own, and the labels have not")
    message, without = (case.history(each)[case.at[0]] for each in (part, empty))
    assert counted(case, message) - counted(case, without) == METER.count(WORDS), "the text counts once"
    labels = ("type", "call_id", "id", "status") if "call_id" in part else ()
    shown = {key: value for key, value in part.items() if key not in labels}
    nothing = {"text": ""} if case.format == "bedrock" else text("")
    rest = 3 if len(case.at) == 1 else counted(case, changed(message, {case.at[1:]: nothing}))
    assert abs(counted(case, message) - rest - METER.count(json.dumps(shown, separators=(",", ":")))) <= FEW


def counted(case, message):
    return METER.count_messages([message], format=case.format)


@pytest.mark.parametrize("said", ["", WORDS], ids=["short", "long"])
@pytest.mark.parametrize("name", ["title", "context"])
def test_what_a_document_has_besides_its_text_counts(name, said):
    size = METER.count(WORDS)
    counts = [
        METER.count_messages([gives(document(plain_source(said), **{name: told}))], format="anthropic")
        for told in ("", WORDS)
    ]
    assert abs(counts[1] - counts[0] - size) <= FEW


def test_exit_codes_and_limits_of_a_shell_count():
    def told(**fields):
        chunk = {"stdout": "out", "stderr": "", "outcome": {"type": "exit", **fields}}
        return METER.count_messages([SHELL, {"type": "shell_call_output", "call_id": "c", "output": [chunk] * 100}])

    assert told(exit_code=1) - told() >= 400


def test_a_mark_for_the_cache_does_not_change_a_count():
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    for block in (document(plain_source(WORDS)), document({"type": "content", "content": [{**text("a"), **mark}]})):
        counts = [METER.count_messages([gives(each)], format="anthropic") for each in (block, {**block, **mark})]
        assert counts[0] == counts[1]
    long = {**document(plain_source("a")), "cache_control": {"type": WORDS}}
    assert METER.count_messages([gives(long)], format="anthropic") > METER.count(WORDS), "what is no mark counts"


def test_images_in_a_document_count_as_images():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 40_000}}
    block = document({"type": "content", "content": [text("See:"), picture]})
    pieces = wire("anthropic").read(gives(block), 0).pieces
    assert [piece.kind for piece in pieces] == ["output", "image", "remainder"]
    assert "AAAA" not in pieces[-1].text


def test_a_page_that_was_fetched_as_pdf_counts_by_its_pages():
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x" + "A" * 40_000}
    page = {"type": "web_fetch_result", "url": "https://a.example", "content": document(source)}
    call, result = ran("web_fetch_tool_result", page, "web_fetch")
    pieces = wire("anthropic").read(says(call, result), 0).pieces
    assert [piece.kind for piece in pieces] == ["file", "remainder", "remainder"]
    assert "The log of the workers" in "".join(piece.text for piece in pieces[1:])


SEALED = {
    "search": ran(
        "web_search_tool_result",
        [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": LINES}],
        "web_search",
    ),
    "code": ran(
        "code_execution_tool_result",
        {"type": "encrypted_code_execution_result", "encrypted_stdout": LINES, "stderr": "", "return_code": 0},
        "code_execution",
    ),
    "error": ran("web_fetch_tool_result", {"type": "web_fetch_tool_result_error", "error_code": "x"}, "web_fetch"),
}


@pytest.mark.parametrize("pair", SEALED.values(), ids=SEALED.keys())
def test_what_is_encrypted_has_no_text_to_cut(pair):
    assert [piece.kind for piece in wire("anthropic").read(says(*pair), 0).pieces] == ["opaque", "opaque"]


@pytest.mark.slow
def test_a_call_of_the_provider_and_its_result_stay_together_at_any_budget():
    """Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it."""
    history = [user()]
    for number in range(12):
        said = LINES[number * 3_000 :][:3_000]
        call, result = ran(
            "web_fetch_tool_result", {"type": "web_fetch_result", "url": "https://a.example"}, "web_fetch"
        )
        result["content"]["content"] = document(plain_source(said))
        found = ran("web_search_tool_result", [{"type": "web_search_result", "encrypted_content": said}], "web_search")
        pairs = [{**call, "id": f"f{number}"}, {**result, "tool_use_id": f"f{number}"}]
        pairs += [{**found[0], "id": f"s{number}"}, {**found[1], "tool_use_id": f"s{number}"}]
        history += [says(*pairs, text(f"So much for {number}.")), user(f"And number {number}?")]
    shortened = 0
    for budget in range(1_000, 16_000, 500):
        fitted = brim.fit_messages(history, budget, meter=METER, format="anthropic")
        assert METER.count_messages(fitted.messages, format="anthropic") == fitted.used <= budget
        for message in fitted.messages:
            blocks = message["content"] if isinstance(message["content"], list) else []
            calls = [block["id"] for block in blocks if block["type"] == "server_tool_use"]
            assert calls == [block["tool_use_id"] for block in blocks if block["type"].endswith("_tool_result")]
            shortened += message not in history
    assert shortened > 10


def test_the_output_of_a_local_shell_answers_its_call_by_either_id():
    """The guide of the provider sends `call_id`; the type in its client has `id`."""
    for key in ("id", "call_id"):
        output = {"type": "local_shell_call_output", key: "c", "output": "ready"}
        assert wire("responses").read(output, 0).results == ("c",)
        fitted = brim.fit_messages([user(), LOCAL, output], BUDGET, meter=METER, format="responses")
        assert fitted.messages == [user(), LOCAL, output]


def test_the_output_of_a_local_shell_that_is_json_stays_json():
    output = json.dumps({"stdout": LINES, "stderr": "", "exit_code": 3})
    items = [user(), LOCAL, {"type": "local_shell_call_output", "id": "c", "output": output}]
    fitted = brim.fit_messages(items, BUDGET, meter=METER, format="responses")
    kept = json.loads(fitted.messages[-1]["output"])
    assert kept["exit_code"] == 3
    assert kept["stdout"].startswith(LINES[:200])


def test_a_call_whose_result_is_in_the_same_item_waits_for_none():
    """Servers of others give these a `call_id` too."""
    made = {"type": "mcp_call", "id": "m", "call_id": "m", "name": "read", "server_label": "a", "arguments": "{}"}
    items = [user(), {**made, "output": "ready"}, user("And?")]
    assert brim.fit_messages(items, BUDGET, meter=METER, format="responses").messages == items


def test_a_document_beside_a_result_is_no_part_of_it():
    block = document(plain_source("page"))
    message = wire("anthropic").read(gives(answer("a", [block]), block), 0)
    outputs = [piece for piece in message.pieces if piece.kind == "output"]
    assert [message.answers(piece) for piece in outputs] == [True, False]
    assert message.said() == ""
    assert message.text() == "page\npage"
