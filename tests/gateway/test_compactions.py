"""The policy `native`, before a server that compacts by the published rules and refuses what providers refuse."""

import json
from contextlib import ExitStack
from itertools import pairwise

import pytest

from brim.gateway.settings import RequestRule
from gateway.conftest import metric, post
from model_server import running

PATHS = {"messages": "/v1/messages", "responses": "/v1/responses"}
WINDOWS = {"messages": 80_000, "responses": 8_000}
LEAST = {"messages": 50_000, "responses": 1_000}
WORDS = 30
"""Turns that fill a window."""


class CompactingServer:
    """Counts a token for four characters of what it reads: all blocks since the last compaction."""

    def __init__(self, window, *, supports=True, summary=""):
        self.window, self.supports = window, supports
        self.summary = summary
        """The text of each block; by default another short one each time."""
        self.blocks, self.requests, self.headers, self.read, self.illegal = [], [], [], [], []

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": (await receive())["type"] + ".complete"})
            return
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        route = next((name for name, path in PATHS.items() if path == scope["path"]), "")
        status, said = 404, {}
        if route:
            request = json.loads(body)
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.requests.append(request)
            self.headers.append(headers)
            problem = self.problem(route, request, headers)
            status, said = (400, {"error": {"message": problem}}) if problem else (200, self.answer(route, request))
            if problem:
                self.illegal.append(problem)
        is_stream = status == 200 and request.get("stream")
        kind = b"text/event-stream" if is_stream else b"application/json"
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        pieces = events(route, said) if is_stream else [json.dumps(said)]
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def problem(self, route, request, headers):
        """Return why a provider would refuse a request; `None` if it would not."""
        parts = [part for raw in items(route, request) for part in blocks_of(raw)]
        asked, sent = request.get("context_management"), [part for part in parts if part.get("type") == "compaction"]
        if self.supports is None:
            return None
        if asked and not self.supports:
            return "context_management is not supported by this model"
        if route == "messages" and (asked or sent) and "compact-2026-01-12" not in headers.get("anthropic-beta", ""):
            return "context_management: Extra inputs are not permitted"
        if asked and not LEAST[route] <= self.threshold(route, asked):
            return f"trigger must be at least {LEAST[route]}"
        if any(block not in self.blocks for block in sent):
            return "Invalid `signature` in `compaction` block"
        if len(json.dumps(sent)) != len(json.dumps([*map(json.loads, dict.fromkeys(map(json.dumps, sent)))])):
            return "duplicate item"
        roles = [raw.get("role") for raw in items(route, request)]
        if route == "messages" and any(one == other for one, other in pairwise(roles)):
            return "roles must alternate"
        tokens = self.count(route, request)
        self.read.append(tokens)
        return f"prompt is too long: {tokens} tokens > {self.window} maximum" if tokens > self.window else None

    def threshold(self, route, asked):
        if route == "responses":
            (entry,) = asked
            assert entry["type"] == "compaction"
            return entry["compact_threshold"]
        *others, edit = asked["edits"]
        assert all(each["type"].startswith("clear_thinking") for each in others), "these have to come first"
        assert edit["type"] == "compact_20260112"
        assert edit["trigger"]["type"] == "input_tokens"
        return edit["trigger"]["value"]

    def count(self, route, request):
        parts = [part for raw in items(route, request) for part in blocks_of(raw)]
        at = max((i for i, part in enumerate(parts) if part.get("type") == "compaction"), default=0)
        return sum(len(json.dumps(part)) for part in parts[at:]) // 4

    def answer(self, route, request):
        asked = request.get("context_management") if self.supports else None
        text = f"answer {len(self.requests)}"
        compacts = bool(asked) and self.count(route, request) > self.threshold(route, asked)
        said = self.summary or f"what was said until request {len(self.requests)}"
        if route == "messages":
            block = {"type": "compaction", "content": said, "signature": f"sig{len(self.requests)}"}
            content = [*([block] if compacts else []), {"type": "text", "text": text}]
            answer = {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
        else:
            block = {"type": "compaction", "id": f"cmp_{len(self.requests)}", "encrypted_content": said}
            message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            answer = {"object": "response", "output": [*([block] if compacts else []), message]}
        self.blocks += [block] if compacts else []
        return {**answer, "usage": {"input_tokens": self.count(route, request), "output_tokens": 3}}


def items(route, request):
    return request["messages" if route == "messages" else "input"]


def blocks_of(raw):
    content = raw.get("content")
    return content if isinstance(content, list) else [raw]


def events(route, answer):
    """Return an answer as a stream of events."""
    found = []
    if route == "messages":
        for at, block in enumerate(answer["content"]):
            empty = {**block, "content": None} if block["type"] == "compaction" else {**block, "text": ""}
            delta = {"type": "text_delta", "text": block.get("text")}
            if block["type"] == "compaction":
                delta = {"type": "compaction_delta", "content": block["content"], "encrypted_content": None}
            found.append({"type": "content_block_start", "index": at, "content_block": empty})
            found.append({"type": "content_block_delta", "index": at, "delta": delta})
        found.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": answer["usage"]})
    else:
        for at, item in enumerate(answer["output"]):
            found.append({"type": "response.output_item.added", "output_index": at, "item": {"type": item["type"]}})
            found.append({"type": "response.output_item.done", "output_index": at, "item": item})
        found.append({"type": "response.completed", "response": answer})
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in found]


class Client:
    """An agent that keeps the blocks of answers, or drops them."""

    def __init__(self, url, route, *, keeps, stream=False, **more):
        self.url, self.route, self.keeps, self.more = url, route, keeps, {"stream": stream, **more}
        self.items, self.turn = [], 0

    def step(self, **headers):
        self.turn += 1
        share = WINDOWS[self.route] * 4 // WORDS
        self.items.append({"role": "user", "content": f"part {self.turn}: " + "look at it " * (share // 11)})
        status, told, raw = post(self.url, self.body(), PATHS[self.route], **headers)
        assert status == 200, raw
        self.items += self.answer(raw)
        return told

    def body(self):
        key = "messages" if self.route == "messages" else "input"
        return json.dumps({"model": "some-model", "max_tokens": 10, key: self.items, **self.more}).encode()

    def answer(self, raw):
        if not self.more["stream"]:
            values = json.loads(raw)
            parts = values["content" if self.route == "messages" else "output"]
        elif self.route == "responses":
            told = [json.loads(line[6:]) for line in raw.decode().splitlines() if line.startswith("data: ")]
            parts = told[-1]["response"]["output"]
        else:
            told = [json.loads(line[6:]) for line in raw.decode().splitlines() if line.startswith("data: ")]
            parts = [dict(event["content_block"]) for event in told if event["type"] == "content_block_start"]
            for event in told:
                if event["type"] == "content_block_delta":
                    rest = {k: v for k, v in event["delta"].items() if k != "type" and v is not None}
                    parts[event["index"]] |= rest
        if self.keeps == "empty":  # As Claude Code does.
            parts = [{**part, "content": None} if part["type"] == "compaction" else part for part in parts]
        parts = [part for part in parts if self.keeps or part["type"] != "compaction"]
        return parts if self.route == "responses" else [{"role": "assistant", "content": parts}]


@pytest.fixture
def native(gateway):
    """Start a gateway with the policy before a server that compacts."""
    with ExitStack() as stack:
        known = {}

        def start(server, **more):
            address = known.get(server) or stack.enter_context(running(server))
            known[server] = address
            return gateway(upstream=address + "/v1", policy="native", window=server.window, meter="chars/4", **more)

        yield start


@pytest.mark.parametrize(
    ("route", "stream", "keeps"),
    [
        ("messages", True, False),
        ("responses", False, True),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in [("messages", False, True), ("responses", True, False)]
        ),
    ],
)
def test_the_provider_compacts_and_the_block_stays(native, route, stream, keeps):
    server = CompactingServer(WINDOWS[route])
    url, app = native(server)
    client = Client(url, route, keeps=keeps, stream=stream)
    for _ in range(80):
        told = client.step(anthropic_beta="tools-2026-01-01")
    line = int(WINDOWS[route] * 0.75)
    assert int(told["x-brim-compacts-at"]) <= line
    assert not server.illegal
    assert len(server.blocks) == 3
    assert max(server.read) <= line * 1.1, "the next request after a compaction is small"
    assert metric(app, "brim_compactions_total", model="some-model", trigger="native") == 3
    assert metric(app, "brim_requests_cut_total", route=route, model="some-model") == 0
    last = server.requests[-1]
    parts = [part for raw in items(route, last) for part in blocks_of(raw)]
    assert [part for part in parts if part.get("type") == "compaction"] == server.blocks, "each once, in its place"
    if route == "messages":
        assert server.headers[-1]["anthropic-beta"] == "tools-2026-01-01,compact-2026-01-12"
    # What the client sends itself is all there, in its order.
    mine = [part for raw in client.items[:-1] for part in blocks_of(raw) if part.get("type") != "compaction"]
    theirs = [part for part in parts if part.get("type") != "compaction"]
    assert theirs[: len(mine)] == mine[: len(theirs)]


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [False, "empty"])
def test_the_block_stands_before_the_answer_that_brought_it(native, keeps):
    server = CompactingServer(WINDOWS["messages"])
    url, _ = native(server)
    client = Client(url, "messages", keeps=keeps)
    while not server.blocks:
        client.step()
    client.step()
    before, after = server.requests[-2:]
    at = len(before["messages"])
    assert after["messages"][:at] == before["messages"]
    assert after["messages"][at]["content"][0] == server.blocks[0]
    assert [block["type"] for block in after["messages"][at]["content"]] == ["compaction", "text"]
    assert server.read[-1] < server.read[-2] / 5


def test_a_model_that_refuses_the_field_is_fitted_and_not_asked_again(native):
    server = CompactingServer(WINDOWS["responses"], supports=False)
    url, _ = native(server)
    client = Client(url, "responses", keeps=False)
    for _ in range(40):
        told = client.step()
    assert len(server.illegal) == 1
    assert "x-brim-compacts-at" not in told
    assert int(told["x-brim-edits"]) > 0
    assert all("context_management" not in request for request in server.requests[1:])


def test_a_refusal_for_another_reason_is_passed_back_and_teaches_nothing(native):
    server = CompactingServer(WINDOWS["messages"])
    url, _ = native(server)
    said = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    body = json.dumps({"model": "some-model", "max_tokens": 10, "messages": said}).encode()
    status, _, answer = post(url, body, "/v1/messages")
    assert status == 400
    assert b"alternate" in answer
    assert "x-brim-compacts-at" in Client(url, "messages", keeps=False).step()


def test_a_block_that_saves_nothing_is_not_asked_for_again(native):
    server = CompactingServer(WINDOWS["responses"], summary="x" * WINDOWS["responses"] * 3)
    url, _ = native(server)
    client = Client(url, "responses", keeps=False)
    for _ in range(40):
        told = client.step()
    assert len(server.blocks) == 1
    assert not server.illegal
    assert "x-brim-compacts-at" not in told
    assert int(told["x-brim-edits"]) > 0, "it is fitted as ever"


@pytest.mark.parametrize(
    ("route", "own"),
    [
        ("responses", [{"type": "compaction", "compact_threshold": 2_000}]),
        ("messages", {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}]}),
        ("messages", {"edits": [{"type": "clear_tool_uses_20250919"}]}),
        ("messages", {"edits": "none"}),
    ],
)
def test_a_client_that_makes_room_by_a_field_of_its_own_is_left_alone(native, route, own):
    server = CompactingServer(WINDOWS[route], supports=None)
    url, _ = native(server)
    told = Client(url, route, keeps=True, context_management=own).step()
    assert "x-brim-compacts-at" not in told
    assert server.requests[-1]["context_management"] == own
    assert "anthropic-beta" not in server.headers[-1]


@pytest.mark.slow
@pytest.mark.parametrize("edits", [[{"type": "clear_thinking_20251015", "keep": "all"}], []], ids=["thinking", "none"])
def test_a_client_that_says_what_to_keep_of_thinking_is_helped_as_claude_code_is(native, edits):
    server = CompactingServer(WINDOWS["messages"])
    url, _ = native(server)
    client = Client(url, "messages", keeps=False, context_management={"edits": edits})
    for _ in range(30):
        client.step()
    assert not server.illegal
    assert server.blocks
    assert server.requests[-1]["context_management"]["edits"][:-1] == edits


def test_a_request_that_jumps_over_the_window_is_fitted(native):
    server = CompactingServer(WINDOWS["messages"])
    url, _ = native(server)
    said = [{"role": "user", "content": "The task."}]
    for at in range(100):
        said.append({"role": "assistant", "content": f"step {at} " + "looked at the log " * 200})
        said.append({"role": "user", "content": f"go on {at}"})
    body = json.dumps({"model": "some-model", "max_tokens": 10, "messages": said}).encode()
    status, told, _ = post(url, body, "/v1/messages")
    assert status == 200
    assert not server.illegal
    assert int(told["x-brim-edits"]) > 0
    assert "context_management" not in server.requests[-1]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["some-model", "another-model"])
def test_another_process_finds_the_block_in_the_store_for_the_same_model_alone(native, tmp_path, model):
    server = CompactingServer(WINDOWS["responses"])
    store = f"sqlite:///{tmp_path}/brim.db"
    url, _ = native(server, store=store)
    client = Client(url, "responses", keeps=False)
    while not server.blocks:
        client.step()
    other, _ = native(server, store=store)
    moved = Client(other, "responses", keeps=False, model=model)
    moved.items, moved.turn = client.items, client.turn
    moved.step()
    found = [item for item in server.requests[-1]["input"] if item.get("type") == "compaction"]
    assert found == (server.blocks[:1] if model == "some-model" else [])


def test_other_routes_and_policies_are_not_asked(native, gateway, upstream):
    url, _ = gateway(policy="native", window=WINDOWS["responses"])
    body = json.dumps({"model": "some-model", "messages": [{"role": "user", "content": "hello"}]}).encode()
    assert "x-brim-compacts-at" not in post(url, body)[1]
    server = CompactingServer(WINDOWS["responses"])
    url, _ = native(server, rules=(RequestRule(model="some-*", policy="fit"),))
    assert "x-brim-compacts-at" not in Client(url, "responses", keeps=False).step()
