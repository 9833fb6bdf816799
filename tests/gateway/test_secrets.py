"""Keys, wherever a client or an upstream puts them, stand in nothing that the gateway writes or shows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.cli import main
from brim.gateway import identity
from brim.gateway.key_mask import KeyMask
from gateway.attacks import KEY_SHAPES
from gateway.conftest import asked, conversation, post

LONG = conversation(40)


def test_the_key_for_upstream_comes_back_to_no_client(gateway, upstream, monkeypatch):
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


@given(st.data())
def test_a_key_is_found_wherever_a_stream_is_split_and_nothing_else_changes(data):
    key = data.draw(st.sampled_from([b"aab", b"sk-1234", b"aaaa", *(key.encode() for key in KEY_SHAPES)]))
    parts = data.draw(st.lists(st.sampled_from([key, key[:-1], key[:2], b"x", b"\n\n", b"a" * 5]), max_size=8))
    said = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=6)))
    pieces = [said[start:end] for start, end in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    hidden = KeyMask(key)
    passed = b"".join(hidden.feed(piece, more=at + 1 < len(pieces)) for at, piece in enumerate(pieces))
    assert passed == said.replace(key, b"*" * len(key))


def test_a_name_that_holds_a_key_is_kept_as_its_fingerprint():
    for key in KEY_SHAPES:
        assert key not in identity.named(f"talk {key}", {}, "", [key])
        assert key not in identity.named(None, {"user": key, "messages": []}, "", [key])
    assert identity.named("my-talk-7", {}, "", ["qv7Rk2xw"]).endswith(".my-talk-7")
    assert identity.named("a" + KEY_SHAPES[0], {}, "") != identity.named("b" + KEY_SHAPES[0], {}, "")


@pytest.mark.parametrize("option", ["--upstream", "--store"])
def test_a_password_in_an_address_is_not_repeated(tmp_path, monkeypatch, capsys, option):
    monkeypatch.chdir(tmp_path)
    told = {"--upstream": "http://u:Tr0ub4d!@127.0.0.1:9/v1", "--store": "postgresql://u:Tr0ub4d!@127.0.0.1:9/x"}
    assert main(["gateway", "--check", "--upstream", "http://127.0.0.1:9/v1", option, told[option]])
    assert "Tr0ub4d!" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("recall", [False, True])
def test_the_store_holds_no_text_but_what_left_with_recall(gateway, upstream, tmp_path, recall):
    url, _ = gateway(recall=recall, store=f"sqlite:///{tmp_path}/brim.db")
    said = conversation(60)
    said[40] = {"role": "user", "content": "The password is heliotrope."}
    assert post(url, asked(said))[0] == 200
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert (b"heliotrope" in held) == recall
    assert b"why the build is slow" not in held


def test_a_message_that_was_cut_itself_is_in_the_store_as_it_was_sent(gateway, upstream, tmp_path):
    url, _ = gateway(store=f"sqlite:///{tmp_path}/brim.db")
    said = [{"role": "user", "content": "The task: " + "find the heliotrope " * 400}, *conversation(6)[1:]]
    assert post(url, asked(said))[0] == 200
    assert b"heliotrope" in b"".join(path.read_bytes() for path in tmp_path.iterdir())
