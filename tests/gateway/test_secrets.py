"""Keys and prompts: in no answer, no error and no more of the store than documented."""

import json
from urllib.parse import quote

import pytest

from brim.cli import main
from gateway.attacks import KEY_SHAPES
from gateway.conftest import asked, conversation, get, post
from store_file import readable

LONG = conversation(40)


def test_the_key_for_upstream_is_masked_in_every_answer(gateway, upstream, monkeypatch):
    event = "data: " + json.dumps({"error": {"message": "no: {key}"}}) + "\n\n"
    for key in KEY_SHAPES:
        monkeypatch.setenv("MODEL_KEY", key)
        url, _ = gateway(upstream_key="MODEL_KEY")
        upstream.script = [
            (401, {"error": {"message": f"Incorrect API key provided: {key}."}}, [(b"x-key", key.encode())]),
            (200, {"error": {"message": key}, "choices": []}),
            (200, event.replace("{key}", key).encode(), [(b"content-type", b"text/event-stream")]),
        ]
        got = [post(url, asked(LONG[:3], stream=each == 2)) for each in range(3)]
        assert [status for status, _, _ in got] == [401, 200, 200]
        assert not any(key in f"{headers}{body.decode()}" for _, headers, body in got)
        assert "*" * len(key) in got[0][2].decode()


def test_no_flood_of_other_keys_takes_those_of_the_settings_from_the_mask(gateway, upstream, tmp_path, monkeypatch):
    own = {"TEAM_KEY": "Tr0ub4d!own", "MODEL_KEY": "qv7Rk2xw-own"}  # Nothing tells by their form that they are keys.
    for name, key in own.items():
        monkeypatch.setenv(name, key)
    url, app = gateway(keys=("TEAM_KEY",), upstream_key="MODEL_KEY", store=f"sqlite:///{tmp_path}/brim.db")
    entry = {"authorization": f"Bearer {own['TEAM_KEY']}"}
    for i in range(300):
        post(url, asked(LONG[:1]), api_key=f"flood {i} " + "x" * (i % 60), x_auth_token=f"f{i}", **entry)
    for key in own.values():
        for name in (key, f"by {key}.", f"talk_of_{key}"):
            post(url, asked(LONG, model=name, user=name), x_brim_session_id=name, **entry)
            post(
                url,
                asked(LONG, model=name, metadata={"user_id": name}),
                f"/v1/x/{quote(name)}?token={quote(name)}",
                **entry,
            )
    told = readable(tmp_path / "brim.db") + get(url, "/metrics", **entry)[2] + get(url, "/brim/status", **entry)[2]
    told += json.dumps(app.state.activity.summary()).encode()
    assert [key for key in own.values() if key.encode() in told] == []


@pytest.mark.parametrize("option", ["--upstream", "--store"])
def test_a_password_in_a_url_is_not_repeated(tmp_path, monkeypatch, capsys, option):
    monkeypatch.chdir(tmp_path)
    told = {"--upstream": "http://u:Tr0ub4d!@127.0.0.1:9/v1", "--store": "postgresql://u:Tr0ub4d!@127.0.0.1:9/x"}
    assert main(["gateway", "--check", "--upstream", "http://127.0.0.1:9/v1", option, told[option]])
    assert "Tr0ub4d!" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("recall", [False, True])
def test_the_store_holds_dropped_text_only_with_recall(gateway, upstream, tmp_path, recall):
    url, _ = gateway(recall=recall, store=f"sqlite:///{tmp_path}/brim.db")
    said = conversation(60)
    said[40] = {"role": "user", "content": "The password is heliotrope."}
    assert post(url, asked(said))[0] == 200
    held = readable(tmp_path / "brim.db")
    assert (b"heliotrope" in held) == recall
    assert b"why the build is slow" not in held


def test_a_truncated_message_is_stored_as_it_was_sent(gateway, upstream, tmp_path):
    url, _ = gateway(store=f"sqlite:///{tmp_path}/brim.db")
    said = [{"role": "user", "content": "The task: " + "find the heliotrope " * 400}, *conversation(6)[1:]]
    assert post(url, asked(said))[0] == 200
    assert b"heliotrope" in readable(tmp_path / "brim.db")
