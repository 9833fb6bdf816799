"""The upstreams of `make test-agents` on real sockets, with the providers' own clients."""

import json
import subprocess
import sys
import urllib.request

import anthropic
import openai
import pytest

from checkout import ROOT

sys.path.append(str(ROOT))

from scripts.agents.cache import BreakpointCache, PrefixCache
from scripts.agents.client_loop import WINDOW, work
from scripts.agents.figures import figures
from scripts.agents.hop import recording
from scripts.agents.messages_api import MessagesApi
from scripts.agents.openai_api import OpenAiApi
from scripts.agents.programs import PROGRAMS
from scripts.agents.request_log import RequestLog
from scripts.agents.run import Run, api_of
from scripts.agents.scenario import Scenario
from scripts.agents.script import Script
from scripts.agents.server import serving_api
from scripts.agents.task import Task
from scripts.agents.upstream import Upstream
from scripts.agents.verdict import failures

TASK = Task(steps=3, chars=2_000)
LONG = "word " * 3_000


def upstream(tmp_path, cache, **options):
    return Upstream(script=Script(TASK, "call_rig_"), log=RequestLog(tmp_path, "upstream"), cache=cache, **options)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (False, "prompt is too long: 30"),
        (True, "input length and `max_tokens` exceed context limit: 30"),
    ],
    ids=["the prompt alone", "with the answer"],
)
def test_anthropic_refuses_what_is_too_long_in_its_own_words(tmp_path, counts, said):
    model = upstream(tmp_path, BreakpointCache(), window=3_010 if counts else 2_900, answer_counts=counts)
    with (
        serving_api(MessagesApi(model)) as address,
        anthropic.Anthropic(base_url=address, api_key="none", max_retries=0) as client,
        pytest.raises(anthropic.BadRequestError, match=said),
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


def test_the_command_of_a_step_prints_the_part_that_is_looked_for():
    told = subprocess.run(TASK.command(2), shell=True, capture_output=True, text=True, check=True)
    assert told.stdout == TASK.part(2) + "\n"


@pytest.mark.parametrize("name", ["anthropic", "chat", "responses"])
def test_a_client_that_is_wrapped_finishes_a_task_that_is_too_long_for_it(name, tmp_path, monkeypatch, capsys):
    program = PROGRAMS[{"chat": "openai"}.get(name, name) + "-client"]
    scenario = Scenario(name=name, program=program, window=9_000, task=Task(steps=8, chars=4_500), wrapped=True)
    monkeypatch.setenv(WINDOW, "9000")
    upstream_log, client_log = RequestLog(tmp_path, "upstream"), RequestLog(tmp_path, "client")
    with serving_api(api_of(scenario, upstream_log)) as address, recording(address, client_log) as hop:
        out = work(name, hop, scenario.model, scenario.task.prompt, wrapped=True)
    logs = {"upstream": upstream_log, "client": client_log}
    told = capsys.readouterr().err
    found = figures(
        Run(scenario=scenario, via="wrap", out=out, errors=told, printed=told, ended="0", seconds=1, **logs)
    )
    assert (found.finished, found.steps, found.overflows, found.illegal) == (True, 8, 0, [])
    assert found.cuts
    assert out == scenario.task.final
    assert found.peak <= 1
    assert 4_000 <= found.budget <= 8_000


def test_what_does_not_hold_is_named(tmp_path):
    scenario = Scenario(name="pi", program=PROGRAMS["pi"], window=9_000, task=TASK)
    logs = {"upstream": RequestLog(tmp_path, "upstream"), "client": RequestLog(tmp_path, "client")}
    logs["client"].write({"status": 400, "overflow": True, "brim": {}, "request_id": None})
    logs["upstream"].write({"status": 400, "tokens": 9_001, "illegal": "tool_use without tool_result"})
    for _ in range(2):
        logs["upstream"].write({"status": 400, "tokens": 9_001, "overflow": True})
    found = figures(Run(scenario=scenario, via="gateway", out="", errors="", printed="", ended="1", seconds=1, **logs))
    assert list(failures(scenario, None, found)) == [
        "did not finish: step 0 of 3",
        "1 overflows reached the client",
        "1 illegal requests: tool_use without tool_result",
        "2 requests were refused: [9001, 9001]",
    ]
