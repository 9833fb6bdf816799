"""The upstreams of `make test-agents` on real sockets, with the providers' own clients."""

import json
import re
import sys
import urllib.request
from dataclasses import replace

import anthropic
import openai
import pytest

from checkout import ROOT

sys.path.append(str(ROOT))

from scripts.agents.__main__ import _failures
from scripts.agents.cache import BreakpointCache, PrefixCache
from scripts.agents.client_loop import WINDOW, work
from scripts.agents.messages_api import MessagesApi
from scripts.agents.openai_api import OpenAiApi
from scripts.agents.programs import PROGRAMS
from scripts.agents.run import api_of, figures
from scripts.agents.script import Script
from scripts.agents.server import RequestLog, recording, serving_api
from scripts.agents.task import EDITS, FACTS, PROMPT, Task, shown, summary
from scripts.agents.upstream import Upstream

TASK = Task(steps=3, chars=2_000)
LONG = "word " * 3_000


def upstream(tmp_path, cache, **options):
    return Upstream(script=Script(TASK, "call_rig_"), log=RequestLog(tmp_path, "upstream"), cache=cache, **options)


def test_anthropic_refuses_what_is_too_long_in_its_own_words(tmp_path):
    model = upstream(tmp_path, BreakpointCache(), window=2_900)
    with (
        serving_api(MessagesApi(model)) as address,
        anthropic.Anthropic(base_url=address, api_key="none", max_retries=0) as client,
        pytest.raises(anthropic.BadRequestError, match="prompt is too long: 30"),
    ):
        client.messages.create(model="claude", max_tokens=100, messages=[{"role": "user", "content": LONG}])
    assert [row.get("overflow") for row in model.log.rows] == [True]


def test_openai_refuses_a_chat_with_numbers_and_a_stream_of_responses_inside_without(tmp_path):
    with (
        serving_api(OpenAiApi(upstream(tmp_path, PrefixCache(), window=2_000))) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client,
    ):
        with pytest.raises(
            openai.BadRequestError, match="maximum context length is 2000 tokens. However, your messages"
        ):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": LONG}])
        with pytest.raises(openai.APIError, match="Your input exceeds the context window"):
            list(client.responses.create(model="m", input=LONG, stream=True))


def test_a_websocket_is_refused_and_the_models_are_listed(tmp_path):
    log = RequestLog(tmp_path, "client")
    with (
        serving_api(OpenAiApi(upstream(tmp_path, PrefixCache(), window=2_000))) as address,
        recording(address, log) as hop,
    ):
        request = urllib.request.Request(f"{hop}/v1/responses", headers={"Upgrade": "websocket"})
        with pytest.raises(urllib.error.HTTPError, match="426") as refused:
            urllib.request.urlopen(request)
        refused.value.close()
        with urllib.request.urlopen(f"{hop}/v1/models") as answer:
            assert [model["id"] for model in json.load(answer)["data"]] == ["gpt-5.1-codex", "rig-model"]
    assert sorted(row["status"] for row in log.rows) == [200, 426]


def test_a_text_shows_the_facts_and_edits_that_it_holds_and_a_summary_keeps_them():
    steps = [TASK.step(number).command for number in range(1, 17)]
    assert shown("\n".join([*FACTS.values(), *steps])) == ("PEFUS", 4)
    assert shown(summary(f"{FACTS['E']} and {steps[4]}", 5)) == ("E", 1)
    assert shown("src/loader.py was read") == ("", 0)


def test_the_project_has_the_facts_and_what_the_edits_change(tmp_path):
    TASK.create(tmp_path)
    files = {
        path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.*") if path.is_file()
    }
    assert shown("\n".join(files.values())) == ("PEF", 0)
    assert all(re.search(change.split("/")[1], files[name], re.MULTILINE) for name, change in EDITS.items())
    assert [FACTS["P"] in turn for turn in TASK.turns(tmp_path)] == [True, False, False]


@pytest.mark.parametrize("name", ["anthropic", "chat", "responses"])
def test_a_wrapped_client_finishes_a_task_that_is_too_long_for_it_and_shows_all_of_it(name, tmp_path, monkeypatch):
    found = next(
        each for each in PROGRAMS if each.name == {"anthropic": "anthropic"}.get(name, f"openai {name}") + ", wrapped"
    )
    program = replace(found, task=Task(steps=18, chars=6_000))
    program.task.create(tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv(WINDOW, "14000")
    logs = {"upstream": RequestLog(tmp_path, "upstream"), "client": RequestLog(tmp_path, "client")}
    with serving_api(api_of(program, 14_000, logs["upstream"])) as address, recording(address, logs["client"]) as hop:
        out = work(name, hop, program.model, PROMPT, wrapped=True)
    each = figures(program, "wrap", out, **logs)
    assert (each.finished, each.steps, each.overflows, each.illegal) == (True, 19, 0, [])
    assert (each.facts, each.edits) == ("PEF", 4)
    assert max(row["tokens"] for row in logs["upstream"].rows) <= 14_000


def test_what_does_not_hold_is_named(tmp_path):
    program = replace(next(each for each in PROGRAMS if each.name == "pi"), task=TASK)
    logs = {"upstream": RequestLog(tmp_path, "upstream"), "client": RequestLog(tmp_path, "client")}
    logs["client"].write({"status": 400, "overflow": True})
    logs["upstream"].write({"status": 400, "tokens": 9_001, "illegal": "tool_use without tool_result"})
    logs["upstream"].write({"status": 400, "tokens": 9_001, "overflow": True})
    brim = figures(program, "gateway", "", **logs)
    direct = replace(brim, finished=True, facts="PE", edits=3, cached=0.9)
    assert list(_failures(direct, brim)) == [
        "did not finish: step 0",
        "1 overflows reached the program",
        "1 illegal requests: tool_use without tool_result",
        "shows 0, without brim PE 3",
        "0.0% of the prompts were read from the cache, 90.0% without brim",
    ]
