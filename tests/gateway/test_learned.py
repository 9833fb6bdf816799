"""`brim gateway learned`: what the gateways of a store have learned about models, and how it is forgotten."""

import json

import pytest

from brim.cli import main
from brim.sessions.learning import meters, windows
from gateway.conftest import asked, conversation, learned_window, post

LONG = conversation(60)


def learned(capsys, *options):
    code = main(["gateway", "learned", *options])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture
def taught(gateway, upstream, tmp_path, monkeypatch):
    """A gateway that was taught a window and a ratio by a client with a key, and the address of its store."""
    monkeypatch.setenv("TEAM_A", "key-a")
    store = f"sqlite:///{tmp_path}/brim.db"
    url, app = gateway(store=store, window=None, keys=("TEAM_A",))
    assert post(url, asked(LONG, model="my-model"), authorization="Bearer key-a")[1]["x-brim-retried"] == "1"
    for _ in range(2):
        assert post(url, asked(LONG[:3], model="my-model"), authorization="Bearer key-a")[0] == 200
    return url, app, store


def test_what_was_learned_is_shown_by_model_client_and_server(taught, upstream, capsys):
    _, app, store = taught
    code, out, _ = learned(capsys, "--store", store, "--json")
    (row,) = json.loads(out)["learned"]
    assert (code, row["model"], row["client"], row["window"]) == (0, "my-model", "TEAM_A chat", upstream.window)
    assert row["server"] == app.state.settings.upstream.removeprefix("http://").removesuffix("/v1")
    assert row["answers"] >= 1
    assert 0.5 < row["ratio"] < 3
    _, out, _ = learned(capsys, "--store", store)
    head, _, line = out.splitlines()
    assert head.split() == ["model", "client", "server", "window", "ceiling", "ratio", "answers"]
    assert line.split()[:5] == ["my-model", "TEAM_A", "chat", row["server"], f"{upstream.window:,}"]


def test_a_running_gateway_forgets_what_its_store_forgets(taught, upstream, capsys, monkeypatch):
    url, app, store = taught
    owner = ("TEAM_A", "chat")
    assert learned_window(app, "my-model", owner=owner).size == upstream.window
    code, out, _ = learned(capsys, "--store", store, "--forget", "my-model")
    assert (code, "my-model" in out) == (0, False)
    assert json.loads(learned(capsys, "--store", store, "--json")[1]) == {"learned": []}
    assert learned_window(app, "my-model", owner=owner) is not None  # It is looked at once a minute.
    for module in (meters, windows):
        monkeypatch.setattr(module, "STORE_INTERVAL", -1)
    assert learned_window(app, "my-model", owner=owner) is None
    headers = post(url, asked(LONG[:3], model="my-model"), authorization="Bearer key-a")[1]
    assert headers["x-brim-count-method"] == "estimate"


def test_a_model_that_is_not_known_and_options_that_do_not_belong_together_are_refused(taught, capsys):
    store = taught[2]
    code, _, error = learned(capsys, "--store", store, "--forget", "my-modle")
    assert (code, "my-model" in error) == (2, True)
    assert main(["gateway", "lerned", "--store", store]) == 2
    assert main(["gateway", "--forget", "my-model", "--store", store]) == 2
    assert learned(capsys, "--store", store + "x")[0] == 2
