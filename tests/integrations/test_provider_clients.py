"""`google-genai` and `boto3`, the real ones, through `brim.wrap` and the gateway: 40 calls against a hard window."""

from __future__ import annotations

import asyncio
import contextlib
import gc

import boto3
import botocore.exceptions
import pytest
from botocore.config import Config
from google import genai
from google.genai import errors, types

import brim
from brim.gateway.http import server as gateway_server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule
from model_server import running
from provider_server import ProviderServer

WINDOW, CALLS = 4_000, 40
TASK = "Find out why the harbour is silting up."
DECLARED = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="look",
            description="Look at a place.",
            parameters_json_schema={"type": "object", "properties": {"number": {"type": "integer"}}},
        )
    ]
)
CONVERSE_TOOL = {
    "toolSpec": {
        "name": "look",
        "description": "Look at a place.",
        "inputSchema": {"json": {"type": "object", "properties": {"number": {"type": "integer"}}}},
    }
}


def seen(number) -> str:
    """What the tool says."""
    return f"place {number}: " + "the water is muddy and the tide is low " * 40


@pytest.fixture
def start():
    """Start servers: `start(calls=40)`."""
    with contextlib.ExitStack() as stack:

        def started(window=WINDOW, **told):
            server = ProviderServer(window, **told)
            server.url = stack.enter_context(running(server))
            return server

        yield started


@pytest.fixture
def through():
    """Start gateways: `through(server)` returns the address of one before a server."""
    with contextlib.ExitStack() as stack:

        def started(server, window=WINDOW, **rule):
            default = RequestRule(policy=rule.pop("policy", "fit"), window=window, **rule)
            settings = GatewaySettings(upstream=server.url, default=default)
            app = GatewayApp(settings)
            return stack.enter_context(running(app, gateway_server.config(app, settings)))

        yield started


def google(url) -> genai.Client:
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url))


def amazon(url):
    # A bearer token is no signature of the body and the host, so a gateway may stand in between. A signature differs with
    # each request, and botocore sends a token over HTTPS only.
    config = Config(retries={"max_attempts": 1}, signature_version=botocore.UNSIGNED)
    client = boto3.client("bedrock-runtime", endpoint_url=url, region_name="us-east-1", config=config)
    client.meta.events.register("before-send.bedrock-runtime", _with_token)
    return client


def _with_token(request, **_):
    request.headers["Authorization"] = "Bearer own-key"


class Gemini:
    """A growing tool loop with `google-genai`."""

    def __init__(self) -> None:
        self.contents = [types.Content(role="user", parts=[types.Part(text=TASK)])]
        self.asked = {
            "model": "gemini-3-pro",
            "contents": self.contents,
            "config": types.GenerateContentConfig(
                system_instruction="You are a careful surveyor.", tools=[DECLARED], max_output_tokens=100
            ),
        }

    def take(self, parts) -> bool:
        """Take the parts of an answer; return whether it was the last one."""
        self.contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        answers = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=c.id, name=c.name, response={"result": seen(c.args["number"])}
                )
            )
            for c in calls
        ]
        if answers:
            self.contents.append(types.Content(role="user", parts=answers))
        return not answers

    def run(self, client, *, stream=False) -> str:
        while True:
            if stream:
                pieces = list(client.models.generate_content_stream(**self.asked))
                parts = [part for piece in pieces for part in piece.candidates[0].content.parts]
            else:
                parts = client.models.generate_content(**self.asked).candidates[0].content.parts
            if self.take(parts):
                return "".join(part.text for part in parts)

    async def arun(self, client, *, stream=False) -> str:
        while True:
            if stream:
                made = await client.aio.models.generate_content_stream(**self.asked)
                parts = [part async for piece in made for part in piece.candidates[0].content.parts]
            else:
                parts = (await client.aio.models.generate_content(**self.asked)).candidates[0].content.parts
            if self.take(parts):
                return "".join(part.text for part in parts)


class Bedrock:
    """The same with `boto3`."""

    def __init__(self) -> None:
        self.messages = [{"role": "user", "content": [{"text": TASK}]}]
        self.asked = {
            "modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "messages": self.messages,
            "system": [{"text": "You are a careful surveyor."}, {"cachePoint": {"type": "default"}}],
            "toolConfig": {"tools": [CONVERSE_TOOL]},
            "inferenceConfig": {"maxTokens": 100},
        }

    def run(self, client, *, stream=False) -> str:
        while True:
            message = self._streamed(client) if stream else client.converse(**self.asked)["output"]["message"]
            self.messages.append(message)
            calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
            if not calls:
                return message["content"][0]["text"]
            for older in self.messages:
                older["content"][:] = [block for block in older["content"] if "cachePoint" not in block]
            results = [
                {"toolResult": {"toolUseId": c["toolUseId"], "content": [{"text": seen(c["input"]["number"])}]}}
                for c in calls
            ]
            self.messages.append({"role": "user", "content": [*results, {"cachePoint": {"type": "default"}}]})

    def _streamed(self, client):
        import json

        blocks: dict[int, dict] = {}
        for event in client.converse_stream(**self.asked)["stream"]:
            if "contentBlockStart" in event:
                made = event["contentBlockStart"]
                blocks[made["contentBlockIndex"]] = {"toolUse": {**made["start"]["toolUse"], "input": ""}}
            if "contentBlockDelta" in event:
                at, delta = event["contentBlockDelta"]["contentBlockIndex"], event["contentBlockDelta"]["delta"]
                if "toolUse" in delta:
                    blocks[at]["toolUse"]["input"] += delta["toolUse"]["input"]
                elif "text" in delta:
                    blocks.setdefault(at, {"text": ""})["text"] += delta["text"]
                else:
                    thought = blocks.setdefault(at, {"reasoningContent": {"reasoningText": {}}})
                    thought["reasoningContent"]["reasoningText"].update(delta["reasoningContent"])
        content = [blocks[at] for at in sorted(blocks)]
        for block in content:
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
        return {"role": "assistant", "content": content}


def check(server, said) -> None:
    assert said == "The silt comes from the river."
    assert (server.refused, server.illegal, len(server.sizes)) == (0, [], CALLS + 1)
    assert max(server.sizes) > WINDOW // 3  # The window is used, and never overflows.


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_google_genai_through_wrap(start, ids, stream, way):
    server = start(calls=CALLS, ids=ids)
    client = brim.wrap(google(server.url), brim.Window(WINDOW))
    gc.collect()  # The original is gone, and its connections stay.
    loop = Gemini()
    said = loop.run(client, stream=stream) if way == "sync" else asyncio.run(loop.arun(client, stream=stream))
    check(server, said)
    assert client.brim.last.receipt.truncated


def test_a_chat_of_google_genai_that_calls_functions_by_itself(start):
    server = start(calls=CALLS)
    client = brim.wrap(google(server.url), brim.Window(WINDOW))

    def look(number: int) -> str:
        """Look at a place."""
        return seen(number)

    limits = types.AutomaticFunctionCallingConfig(maximum_remote_calls=CALLS + 2)
    config = types.GenerateContentConfig(tools=[look], automatic_function_calling=limits)
    said = client.chats.create(model="gemini-3-pro", config=config).send_message(TASK)
    check(server, said.text)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_boto3_through_wrap(start, stream):
    server = start(calls=CALLS)
    client = brim.wrap(amazon(server.url), brim.Window(WINDOW))
    check(server, Bedrock().run(client, stream=stream))
    assert client.brim.last.receipt.truncated


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("loop", [Gemini, Bedrock])
def test_a_refusal_is_known_and_the_call_is_made_once_more(start, loop, stream):
    server = start(calls=12)
    made = google(server.url) if loop is Gemini else amazon(server.url)
    said = loop().run(brim.wrap(made, brim.Window(10 * WINDOW)), stream=stream)
    assert said == "The silt comes from the river."
    assert server.refused >= 1
    assert server.illegal == []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("loop", [Gemini, Bedrock])
def test_both_clients_through_the_gateway(start, through, loop, stream):
    server = start(calls=CALLS)
    url = through(server)
    check(server, loop().run(google(url) if loop is Gemini else amazon(url), stream=stream))


@pytest.mark.parametrize("loop", [Gemini, Bedrock])
def test_the_gateway_learns_from_a_refusal(start, through, loop):
    server = start(calls=12)
    url = through(server, window=2 * WINDOW)  # What is set is lowered by half at the most.
    assert loop().run(google(url) if loop is Gemini else amazon(url)) == "The silt comes from the river."
    assert (server.refused, server.illegal) == (1, [])


def test_a_refusal_of_the_gateway_is_an_error_of_the_client(start, through):
    server = start(calls=CALLS)
    url = through(server, policy="refuse")
    with pytest.raises(errors.ClientError) as caught:
        Gemini().run(google(url))
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        Bedrock().run(amazon(url))
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_bytes_stay_bytes(start):
    """An image in a message that is cut is sent as the same bytes."""
    server = start(window=20_000)
    client = brim.wrap(amazon(server.url), brim.Window(8_000))
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}}
    client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "word " * 9_000}, image]}])
    assert b"iVBORw0KGgo=" in server.bodies[-1]
    assert client.brim.last.receipt.truncated
