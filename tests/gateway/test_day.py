"""A day of operation in a minute: what happens to two workers, and what their lines, metrics, status and the studio say.

At each point everything that the gateway says of itself is compared with what was done to it.
"""

import collections
import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from brim import open_store
from brim.gateway.report.traffic import KIND
from gateway.conftest import asked, conversation, get, post
from model_server import ModelServer, running
from services import free_port

SHORT, LONG = conversation(1), conversation(60)
KEY = {"authorization": "Bearer key-of-the-team-1f9"}
RULES = """
gateway:
  keys: [TEAM_KEY]
  worker_port: {port}
  rules: [{rules}]
window: {{size: 1000}}
meter: o200k_base
"""
SOON = 40.0
"""Seconds in which what was done must be told."""


class Day:
    """A gateway with two workers, and what was done to it."""

    def __init__(self, folder, upstream, *, limit=0):
        """Begin; with a limit, no file may be longer than so many blocks of 512 bytes."""
        self.folder, self.port = folder, free_port()
        self.ports = [self.port, self.port + 1]
        self.store = f"sqlite:///{folder}/brim.db"
        self.lines, self.ends = [], collections.Counter()
        self.gone = collections.Counter()
        """What workers that have ended had counted."""
        self.rules("")
        run = [sys.executable, "-m", "brim", "gateway", "--upstream", f"{upstream}/v1", "--port", "0", "--json"]
        more = ["--workers", "2", "--store", self.store]
        environ = {**os.environ, "HOME": str(folder), "TEAM_KEY": "key-of-the-team-1f9"}
        self.process = subprocess.Popen(
            [*(("sh", "-c", f'ulimit -f {limit}; exec "$@"', "sh") if limit else ()), *run, *more],
            cwd=folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.url = json.loads(self.process.stdout.readline())["address"].removesuffix("/v1")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def rules(self, rules):
        (self.folder / "brim.yaml").write_text(RULES.format(port=self.port, rules=rules))

    def ask(self, messages, due, **headers):
        """Send a request, and note how it should have ended."""
        status, told, said = post(self.url, asked(messages), **{**KEY, **headers})
        self.ends[due] += 1
        return status, told, json.loads(said)

    def events(self, name):
        return [
            each for line in list(self.lines) if line.startswith("{") and (each := json.loads(line))["event"] == name
        ]

    def workers(self):
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(each) for each in listed.split()]

    def metrics(self):
        """Return the samples of both workers, added up."""
        found = collections.Counter()
        for port in self.ports:
            page = get(f"http://127.0.0.1:{port}", "/metrics", **KEY)[2].decode()
            for line in page.splitlines():
                if not line.startswith("#"):
                    name, value = line.rsplit(" ", 1)
                    found[name] += float(value)
        return found

    def counted(self):
        """Return the requests by how they ended, as the metrics say."""
        found = collections.Counter(self.gone)
        for name, value in self.metrics().items():
            if name.startswith("brim_requests_total"):
                found[re.search('outcome="([^"]+)"', name)[1]] += int(value)
        return +found

    def listed(self):
        """Return the requests by how they ended, as the studio lists them."""
        with open_store(self.store) as store:
            documents = [store.load(KIND, name).body for name in store.ids(KIND)]
        return collections.Counter(row["ended"] for each in documents for row in each["requests"])

    def status(self):
        return [json.loads(get(f"http://127.0.0.1:{port}", "/brim/status", **KEY)[2]) for port in self.ports]

    def ready(self):
        return [get(f"http://127.0.0.1:{port}", "/readyz")[0] for port in self.ports]

    def agree(self, *, studio=True):
        """Pass if metrics, status and studio say what was done, and soon."""
        assert soon(lambda: self.counted() == +self.ends), (self.counted(), self.ends)
        requests = sum(each["summary"]["requests"] for each in self.status())
        assert requests == sum(self.ends.values()) - sum(self.gone.values())
        if studio:
            assert soon(lambda: self.listed() == +self.ends), (self.listed(), self.ends)


def soon(look):
    until = time.monotonic() + SOON
    while not look() and time.monotonic() < until:
        time.sleep(0.1)
    return look()


@contextlib.contextmanager
def day(folder, upstream, **options):
    made = Day(folder, upstream, **options)
    try:
        yield made
    finally:
        made.process.terminate()
        made.process.wait(60)
        made.process.stdout.close()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="the workers are found in /proc")
def test_a_day_of_operation(tmp_path):
    model = ModelServer(window=1_000, meter="o200k_base")
    with contextlib.ExitStack() as served, contextlib.ExitStack() as stack:
        upstream = served.enter_context(running(model))
        it = stack.enter_context(day(tmp_path, upstream))
        assert it.ready() == [200, 200]
        it.agree()
        work(it, model)
        served.close()
        lose_upstream(it)
        served.enter_context(running(model, port=int(upstream.rpartition(":")[2])))
        assert it.ask(SHORT, "ok")[0] == 200
        assert soon(lambda: it.ready() == [200, 200])
        for number, process in enumerate(sorted(it.workers()), start=1):
            restart(it, number, process)
        it.agree(studio=False)
        lock_the_store(it)
        reload(it)
        told = it.status()
        it.process.terminate()
        it.process.wait(60)
        assert soon(lambda: len(it.events("summary")) == 4)
        last = {each["worker"]: each for each in it.events("summary")[-2:]}
        assert [last[each["worker"]]["requests"] for each in told] == [each["summary"]["requests"] for each in told]


def work(it, model):
    """A wrong key, requests that fit, one that is cut, and a provider that is busy."""
    assert post(it.url, asked(SHORT), authorization="Bearer wrong")[0] == 401
    it.ends["refused_401"] += 1
    assert soon(lambda: [each["reason"] for each in it.events("refused")] == ["key"])
    for _ in range(6):
        assert it.ask(SHORT, "ok")[0] == 200
    assert int(it.ask(LONG, "ok", x_brim_session_id="talk")[1]["x-brim-edits"]) > 0
    assert soon(lambda: len(it.events("cut")) == 1)
    it.agree()
    rows = [row for each in it.status() for row in each["conversations"] if row["cuts"]]
    assert [row["id"].split(".")[1] for row in rows] == ["talk"]
    for status, ended in ((429, "upstream_4xx"), (529, "upstream_5xx")):
        model.script = [(status, {"error": {"message": "slow down"}})]
        assert it.ask(SHORT, ended)[0] == status
    it.agree()


def lose_upstream(it):
    status, _, said = it.ask(SHORT, "refused_502")
    assert (status, "cannot be reached" in said["error"]["message"]) == (502, True)
    assert soon(lambda: it.ready() == [503, 503])
    assert soon(lambda: it.events("refused")[-1]["reason"] == "upstream")
    it.agree()


def restart(it, number, process):
    """End a worker, which is started again."""
    before, own = it.counted(), it.status()[number - 1]
    assert own["worker"] == number
    os.kill(process, signal.SIGTERM)
    assert soon(lambda: process not in it.workers() and len(it.workers()) == 2)
    assert soon(lambda: all(map(answers, it.ports)))
    gone = before - it.counted()
    assert sum(gone.values()) == own["summary"]["requests"]
    it.gone += gone
    assert it.ask(SHORT, "ok")[0] == 200
    assert soon(lambda: f"worker {number} was ended by SIGTERM, and is started again" in it.lines)


def lock_the_store(it):
    """Another program holds the store for a while: requests go on, and it is told."""
    lock = sqlite3.connect(it.folder / "brim.db", isolation_level=None, timeout=30)
    lock.execute("BEGIN EXCLUSIVE")
    assert it.ask(LONG, "ok", x_brim_session_id="talk")[0] == 200
    lock.execute("ROLLBACK")
    lock.close()
    assert it.metrics()["brim_store_faults_total"] > 0
    assert any("the store failed" in line and "goes on without it" in line for line in it.lines)
    it.agree(studio=False)


def reload(it):
    """New rules, and then rules that are wrong."""
    it.rules("{model: 'gpt-4o', policy: refuse}")
    it.process.send_signal(signal.SIGHUP)
    assert soon(lambda: sum("the settings were reloaded" in line for line in it.lines) == 2)
    assert [it.ask(LONG, "refused_400")[0] for _ in range(4)] == [400] * 4
    it.rules("{model: 'gpt-4o', policy: nonsense}")
    it.process.send_signal(signal.SIGHUP)
    assert soon(lambda: sum("the settings were not reloaded" in line for line in it.lines) == 2)
    assert it.ask(LONG, "refused_400")[0] == 400
    it.agree(studio=False)


def answers(port):
    try:
        return get(f"http://127.0.0.1:{port}", "/healthz")[0] == 200
    except OSError:
        return False


@pytest.mark.skipif(os.name == "nt", reason="the system cannot limit files")
def test_a_disk_that_is_full_loses_no_request(tmp_path):
    model = ModelServer(window=1_000, meter="o200k_base")
    with running(model) as upstream, day(tmp_path, upstream, limit=300) as it:
        for number in range(40):
            assert it.ask(conversation(60 + number), "ok", x_brim_session_id=f"talk {number}")[0] == 200
        it.agree(studio=False)
        assert it.metrics()["brim_store_faults_total"] > 0
        assert any("the store failed" in line and "full" in line for line in it.lines)
        assert not model.refused
        assert it.ready() == [200, 200]
