"""Sections that a rule keeps in the system prompt: under one budget with messages and tools, never over, always legal."""

import contextlib
import json
import random
from itertools import pairwise

import pytest

import brim
from brim.errors import SourceError
from brim.gateway.fit.added_sections import inserted, read_sections
from brim.gateway.http import server
from brim.gateway.http.app import GatewayApp
from brim.gateway.settings import GatewaySettings, RequestRule, settings_of
from brim.settings import load_config
from gateway.conftest import conversation, post
from gateway.test_providers import PATHS as PROVIDERS
from gateway.test_providers import body as provider_body
from gateway.test_providers import post as provider_post
from model_server import running
from provider_server import ProviderServer

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
OWN = "You are the assistant of the client."
RULES = "Never give out the password. " * 4
FACTS = [f"Fact {i}: the harbour has {i} cranes, and each of them is painted green." for i in range(30)]
SPEC = f"""
sections:
  - {{name: rules, content: "{RULES}", priority: required}}
  - {{name: facts, content: {json.dumps(FACTS)}, keep: best, floor: "15%"}}
  - {{name: extras, content: "{"Some more words of no great weight. " * 20}", priority: low}}
messages: {{priority: high, floor: "30%"}}
"""

TOOL = {"type": "function", "function": {"name": "look", "description": "Look. " * 30, "parameters": {}}}


@pytest.fixture
def spec(tmp_path):
    def made(text=SPEC):
        path = tmp_path / "sections.yaml"
        path.write_text(text)
        return str(path)

    return made


@pytest.fixture
def ruled(gateway, spec):
    """Start a gateway with a rule that adds sections; the conversations of other models have none."""

    def start(text=SPEC, **told):
        path = spec(text)
        rules = (RequestRule(model="gpt-*", sections=path),)
        return gateway(rules=rules, sections={path: read_sections(path)}, **told)

    return start


def asked(route, turns, **more):
    """Return a request with a system prompt of the client."""
    said = conversation(turns)
    told = {"model": "gpt-4o", "max_tokens": 40}
    if route == "chat":
        return {**told, "messages": [{"role": "system", "content": OWN}, *said], **more}
    if route == "messages":
        return {**told, "system": [{"type": "text", "text": OWN}], "messages": said, **more}
    return {**told, "instructions": OWN, "input": said, **more}


def system_of(route, values):
    """Return the system prompt of what was sent."""
    if route == "chat":
        return values["messages"][0]["content"]
    if route == "messages":
        return "\n\n".join(block["text"] for block in values["system"])
    return values["instructions"]


@pytest.mark.parametrize("route", PATHS)
def test_sections_follow_the_system_prompt_of_the_client_whole_if_they_fit(ruled, upstream, route):
    upstream.window = 3_000
    url, _ = ruled(window=3_000)
    given = asked(route, 2)
    status, headers, _ = post(url, json.dumps(given, indent=1).encode(), PATHS[route])
    sent = json.loads(upstream.bodies[0])
    assert status == 200
    assert system_of(route, sent) == "\n\n".join(
        [OWN, RULES, "\n".join(FACTS), "Some more words of no great weight. " * 20]
    )
    key = "input" if route == "responses" else "messages"
    assert sent[key][1:] == given[key][1:]
    assert int(headers["x-brim-tokens-after"]) == upstream.size(route, sent)


@pytest.mark.parametrize("route", PATHS)
def test_too_much_is_shared_by_sections_and_messages(ruled, upstream, tmp_path, route):
    url, _ = ruled(store=f"sqlite:///{tmp_path}/brim.db")
    status, headers, _ = post(url, json.dumps(asked(route, 60)).encode(), PATHS[route])
    sent = json.loads(upstream.bodies[0])
    system, size = system_of(route, sent), upstream.size(route, sent)
    assert (status, upstream.refused, upstream.illegal) == (200, 0, [])
    assert system.startswith(f"{OWN}\n\n{RULES}\n\n{FACTS[0]}")
    assert upstream.window // 2 < size == int(headers["x-brim-tokens-after"]) <= upstream.window - 40
    with brim.open_store(f"sqlite:///{tmp_path}/brim.db") as store:
        (name,) = [row.id for row in store.sessions()]
        (receipt,) = [entry.body["receipt"] for entry in store.entries(name, kinds=["prompt"])]
    parts = {part["name"]: part for part in receipt["parts"]}
    assert receipt["used"] == size <= receipt["budget"]
    assert receipt["used"] == receipt["joins"] + sum(part["used"] for part in receipt["parts"])
    assert [parts[name]["state"] for name in ("rules", "facts")] == ["whole", "cut"]
    assert parts["extras"]["used"] < parts["extras"]["size"] / 3


def test_nothing_is_ever_over_and_what_is_required_stays(ruled, upstream):
    """The server counts by its own meter, and refuses what is over the window or not legal."""
    chooser, met = random.Random(5), set()
    upstream.meter = brim.meter("gpt-4o")
    url, _ = ruled()
    for number in range(30):
        budget = chooser.randrange(60, 950)
        more = {"tools": [TOOL]} if chooser.random() < 0.5 else {}
        given = asked("chat", chooser.randrange(40), user=f"someone {number}", **more)
        if chooser.random() < 0.5:
            given["messages"] = given["messages"][1:]
        status, headers, raw = post(url, json.dumps(given).encode(), x_brim_budget=str(budget))
        met.add(status)
        if status == 200:
            sent = json.loads(upstream.bodies[-1])
            assert upstream.size("chat", sent) <= budget
            assert upstream.size("chat", sent) == int(headers["x-brim-tokens-after"])
            assert RULES in system_of("chat", sent)
            assert sent["messages"][-1] == given["messages"][-1] or "Fact" not in system_of("chat", sent)
        else:
            assert b"context_length_exceeded" in raw
    assert met == {200, 400}
    assert (upstream.illegal, upstream.refused) == ([], 0)


def test_sections_change_seldom_while_a_conversation_grows(ruled, upstream):
    upstream.meter = brim.meter("gpt-4o")
    url, _ = ruled()
    for turns in range(1, 40):
        more = {"tools": [TOOL]} if turns in (9, 27) else {}
        _, headers, _ = post(url, json.dumps(asked("chat", turns, **more)).encode())
        assert upstream.size("chat", json.loads(upstream.bodies[-1])) == int(headers["x-brim-tokens-after"])
    sent = [json.loads(body) for body in upstream.bodies]
    systems = [system_of("chat", values) for values in sent]
    assert 2 <= sum(before != after for before, after in pairwise(systems)) <= 7
    assert len(systems[0]) > len(systems[12]) > len(systems[-1])  # The messages are more essential.
    assert min(upstream.size("chat", values) for values in sent) > upstream.window // 2
    assert (upstream.illegal, upstream.refused) == ([], 0)


def test_without_stable_mode_each_prompt_is_as_full_as_it_can_be(ruled, upstream):
    url, _ = ruled(stable=False)
    for turns in (5, 12, 30, 31):
        assert post(url, json.dumps(asked("chat", turns)).encode())[0] == 200
    sizes = [upstream.size("chat", json.loads(body)) for body in upstream.bodies]
    room = (upstream.window - 40) * 0.9
    assert all(room <= size <= upstream.window - 40 for size in sizes)


def test_a_refusal_makes_the_sections_smaller_too(ruled, upstream):
    upstream.window = 700
    url, _ = ruled(window=2_000)
    status, headers, _ = post(url, json.dumps(asked("chat", 60)).encode())
    assert (status, headers["x-brim-retried"], upstream.refused) == (200, "1", 1)
    first, second = (system_of("chat", json.loads(body)) for body in upstream.bodies)
    assert second.startswith(f"{OWN}\n\n{RULES}")
    assert len(second) < len(first)


def test_other_policies_and_models_are_as_they_say(ruled, upstream):
    long = asked("chat", 60)
    url, _ = ruled(policy="refuse")
    assert post(url, json.dumps(long).encode())[0] == 400
    other = {**asked("chat", 3), "model": "local-model"}
    post(url, json.dumps(other).encode())
    assert json.loads(upstream.bodies[-1]) == other
    url, _ = ruled(policy="pass")
    post(url, json.dumps(long).encode())
    assert json.loads(upstream.bodies[-1]) == long
    url, _ = ruled(policy="warn")
    _, headers, _ = post(url, json.dumps(long).encode())
    assert FACTS[-1] in system_of("chat", json.loads(upstream.bodies[-1]))
    assert int(headers["x-brim-over"]) > 0


def test_a_recall_is_answered_beside_sections(ruled, upstream):
    from gateway.test_recall import calling, long

    url, _ = ruled(recall=True)
    upstream.script = [(200, calling("chat"))]
    status, _, answer = post(url, json.dumps(long("chat")).encode())
    first, second = map(json.loads, upstream.bodies)
    assert (status, b"brim_recall" in answer, upstream.illegal, upstream.refused) == (200, False, [], 0)
    assert system_of("chat", first) == system_of("chat", second)
    assert "heliotrope" in json.dumps(second["messages"][-1])


@pytest.mark.parametrize("route", PROVIDERS)
def test_gemini_and_bedrock_get_them_too(spec, route):
    upstream, path = ProviderServer(2_000), spec()
    with contextlib.ExitStack() as stack:
        default = RequestRule(policy="fit", window=2_000, meter="o200k_base")
        rules = (RequestRule(sections=path),)
        url = stack.enter_context(running(upstream))
        settings = GatewaySettings(upstream=url, default=default, rules=rules, sections={path: read_sections(path)})
        app = GatewayApp(settings)
        gateway = stack.enter_context(running(app, server.config(app, settings)))
        key = "systemInstruction" if route == "gemini" else "system"
        given = {**provider_body(route, 100), key: {"parts": [{"text": OWN}]} if route == "gemini" else [{"text": OWN}]}
        assert provider_post(gateway, PROVIDERS[route][0], given)[0] == 200
    sent = json.loads(upstream.bodies[0])[key]
    texts = [part["text"] for part in (sent["parts"] if route == "gemini" else sent)]
    assert (upstream.illegal, upstream.refused) == ([], 0)
    assert texts[0] == OWN
    assert texts[1].startswith(RULES)
    assert upstream.sizes[0] <= 2_000


@pytest.mark.parametrize(
    ("format", "text", "made"),
    [
        ("openai", '{"messages": [ {"role":"user"} ]}', '{"messages": [ {"role": "system", "content": "S"}, {"role":"user"} ]}'),
        ("openai", '{"messages":[{"role":"system","content":"A"},1.0]}', '{"messages":[{"role": "system", "content": "A\\n\\nS"},1.0]}'),
        ("anthropic", '{"x": 1.50, "messages":[]}', '{"system":"S","x": 1.50, "messages":[]}'),
        ("anthropic", '{"system" : null, "messages":[]}', '{"system" : "S", "messages":[]}'),
        ("responses", '{"instructions": "A", "input":"q"}', '{"instructions": "A\\n\\nS", "input":"q"}'),
        ("gemini", '{"system_instruction": {"parts": [{"text": "A"}]}, "contents":[]}',
         '{"system_instruction": {"parts": [{"text": "A"}, {"text": "S"}]}, "contents":[]}'),
        ("bedrock", '{"messages":[],"system":[{"text":"A"}]}', '{"messages":[],"system":[{"text": "A"}, {"text": "S"}]}'),
    ],
)  # fmt: skip
def test_the_rest_of_a_body_keeps_its_bytes(format, text, made):
    assert inserted(text, format, "S") == made
    assert inserted(text, format, "") is text


def test_the_rules_of_a_project_name_files_beside_its_settings(tmp_path, spec, monkeypatch):
    spec()
    settings = tmp_path / "brim.yaml"
    settings.write_text(
        "gateway: {upstream: 'http://127.0.0.1:9/v1', rules: [{model: 'gpt-*', sections: sections.yaml}]}"
    )
    monkeypatch.chdir("/")
    config = load_config(str(settings))
    made = settings_of(config.resolve(), {}, config.root)
    assert [section.name for section in made.sections["sections.yaml"].sections()] == ["rules", "facts", "extras"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("budget: 500\nsections: []", "budget is not supported in the sections of a gateway"),
        ("tools: {keep: relevant}\nsections: []", "tools is not supported in the sections of a gateway"),
        ("sections: [{name: a, content: b, page: user}]", "only to the system prompt"),
    ],
)
def test_what_is_not_for_a_gateway_is_refused_with_its_line(spec, text, told):
    with pytest.raises(SourceError, match=told):
        read_sections(spec(text))
