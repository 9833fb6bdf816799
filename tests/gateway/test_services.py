"""Two gateways as processes of their own on one PostgreSQL: one is killed under load, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from brim import open_store
from brim.sessions.log.cut_record import KIND, changed
from gateway.conftest import asked, conversation, post
from services import postgres

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def database():
    with postgres() as url:
        yield url


@pytest.fixture
def started(served_model, upstream, tmp_path, database):
    made = []

    def start():
        run = [sys.executable, "-m", "brim", "gateway", "--upstream", served_model[1] + "/v1", "--port", "0", "--json"]
        run += ["--window", "1000", "--store", database]
        process = subprocess.Popen(run, cwd=tmp_path, env=dict(os.environ), stdout=subprocess.PIPE, text=True)
        made.append(process)
        return json.loads(process.stdout.readline())["address"].removesuffix("/v1"), process

    yield start
    for process in made:
        process.kill()
        process.wait()
        process.stdout.close()


def test_one_of_two_gateways_is_killed_and_the_other_goes_on(started, upstream, database):
    (one, doomed), (other, _) = started(), started()
    acknowledged = {}

    def load(worker):
        for i in range(40, 52):
            name = f"talk-{worker}"
            try:
                status, headers, _ = post(one, asked(conversation(i)), x_brim_session_id=name)
            except OSError:
                return
            if status == 200 and headers["x-brim-edits"] != "0":
                acknowledged[name] = i

    workers = [threading.Thread(target=load, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    while len(acknowledged) < 6:
        workers[0].join(0.01)
    doomed.send_signal(signal.SIGKILL)
    for worker in workers:
        worker.join()
    with open_store(database) as store:
        kept = {}
        for row in store.sessions():
            for entry in store.entries(row.id, kinds=[KIND]):
                kept[row.id] = changed(kept.get(row.id), entry.body)
    assert len(kept) == len(acknowledged)
    assert all(saved["length"] > 0 for saved in kept.values())
    for name, turns in acknowledged.items():
        upstream.bodies.clear()
        assert post(other, asked(conversation(turns + 1)), x_brim_session_id=name)[0] == 200
        sent = json.loads(upstream.bodies[-1])["messages"]
        tag = next(key for key in kept if key.endswith(name))
        start, stop = kept[tag]["kept"][0]
        assert (start, stop > 0) == (0, True)
        assert sent[:stop] == conversation(turns + 1)[:stop]
    assert not upstream.refused
    assert not upstream.illegal


def test_a_store_that_fails_does_not_stop_requests(gateway, upstream, database):
    url, app = gateway(store=database)
    assert post(url, asked(conversation(50)))[0] == 200
    app.state.store.close()
    assert post(url, asked(conversation(51)))[0] == 200
    assert app.state.conversations.store.failures > 0
    assert not upstream.refused
