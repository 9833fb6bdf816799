"""Several processes serve one address: a conversation is cut as one process would cut it, and a dead one comes back."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from brim import open_store
from brim.gateway.report.traffic import KIND
from gateway.conftest import asked, get, post
from model_server import ModelServer, running
from services import free_port

WORDS = "looked at the log of the build and found nothing that explains it. "


def talk(name, turns):
    """Return a conversation that begins unlike any other."""
    said = [{"role": "user", "content": f"The task of {name}: find out why the build is slow."}]
    for i in range(turns):
        said += [
            {"role": "assistant", "content": f"Step {i} of {name}: " + WORDS * 3},
            {"role": "user", "content": f"Go on with part {i}."},
        ]
    return said


@contextmanager
def gateway(folder, upstream, workers, *options):
    """Run a gateway, and yield its process and its address."""
    run = [sys.executable, "-m", "brim", "gateway", "--upstream", f"{upstream}/v1", "--port", "0", "--quiet"]
    run += ["--window", "1000", "--meter", "o200k_base", "--workers", str(workers), *options]
    told = {**os.environ, "HOME": str(folder)}
    process = subprocess.Popen(run, cwd=folder, env=told, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        yield process, line.split()[2].removesuffix("/v1")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == ""  # It is quiet.
        process.wait(30)
        process.stdout.close()


def workers_of(process):
    """Return the processes of a gateway's workers."""
    return [int(each) for each in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def prompts(folder, workers, *options, own=()):
    """Return what was sent upstream for each conversation, and the sums that the gateway told.

    Each request has a connection of its own, so that any worker may serve it.
    """
    model = ModelServer(window=1_000, meter="o200k_base")
    with (
        running(model) as upstream,
        gateway(folder, upstream, workers, *options) as (_, url),
        ThreadPoolExecutor(4) as pool,
    ):
        for turns in range(6, 20, 4):
            bodies = [asked(talk(f"client {i}", turns)) for i in range(6)]
            assert {status for status, *_ in pool.map(post, [url] * 6, bodies)} == {200}
        places = [f"http://127.0.0.1:{port}" for port in own] or [url]
        told = [json.loads(get(place, "/brim/status")[2]) for place in places]
        counted = [requests_on(get(place, "/metrics")[2].decode()) for place in places]
    assert not model.refused
    assert not model.illegal
    found = {}
    for body in map(json.loads, model.bodies):
        task = body["messages"][0]["content"].split(":")[0]
        found.setdefault(task, []).append(body["messages"])
    return {task: sorted(sent, key=json.dumps) for task, sent in found.items()}, told, counted


def requests_on(page):
    """Return the number of requests that a page of metrics tells."""
    return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith("brim_requests_total"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="the workers are found in /proc")
def test_a_conversation_is_cut_as_one_process_would_cut_it_and_each_tells_its_own_sums(tmp_path):
    one, (alone,), _ = prompts(tmp_path, 1)
    store, port = f"sqlite:///{tmp_path}/brim.db", free_port(2)
    (tmp_path / "brim.yaml").write_text(f"gateway: {{worker_port: {port}}}\n")
    both, told, counted = prompts(tmp_path, 2, "--store", store, own=(port, port + 1))
    assert one == both
    assert len(one) == 6
    assert [each["worker"] for each in told] == [1, 2]
    sums = {name: sum(each["summary"][name] for each in told) for name in ("cut", "requests")}
    assert sums["cut"] == alone["summary"]["cut"] >= 6
    assert sums["requests"] == alone["summary"]["requests"] == sum(counted) == 24
    assert counted == [each["summary"]["requests"] for each in told]
    assert min(counted) > 0  # Both have served.
    with open_store(store) as opened:
        assert len(opened.ids(KIND)) == 2


@pytest.mark.slow
def test_workers_print_their_events_and_a_summary_each(tmp_path):
    run = [
        sys.executable,
        "-m",
        "brim",
        "gateway",
        "--port",
        "0",
        "--window",
        "1000",
        "--meter",
        "o200k_base",
        "--json",
    ]
    with running(ModelServer(window=1_000, meter="o200k_base")) as upstream:
        process = subprocess.Popen(
            [*run, "--workers", "2", "--upstream", f"{upstream}/v1"],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        url = json.loads(process.stdout.readline())["address"].removesuffix("/v1")
        for number in range(6):
            assert post(url, asked(talk(f"client {number}", 18)))[0] == 200
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
    told = [json.loads(line) for line in said.splitlines()]
    assert sum(each["event"] == "cut" for each in told) == 6
    assert sorted(each["worker"] for each in told if each["event"] == "summary") == [1, 2]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="the workers are found in /proc")
def test_a_worker_that_dies_is_started_again_and_all_end_with_their_parent(tmp_path):
    with running(ModelServer()) as upstream, gateway(tmp_path, upstream, 2) as (process, url):
        before = set(workers_of(process))
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)
        until = time.monotonic() + 20
        while len(set(workers_of(process)) - before) < 1 and time.monotonic() < until:
            time.sleep(0.05)
        after = workers_of(process)
        assert len(after) == 2
        assert post(url, asked(talk("one", 1)))[0] == 200
        process.kill()
        process.wait(10)
        while any(Path(f"/proc/{each}").exists() for each in after) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(Path(f"/proc/{each}").exists() for each in after)
