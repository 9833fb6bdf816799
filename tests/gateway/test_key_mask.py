"""Secrets are masked wherever an answer is split, nothing else changes, and words are no secrets."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.gateway.http.key_mask import KeyMask
from gateway.attacks import KEY_SHAPES
from gateway.conftest import asked, conversation, post
from gateway.scripted import JSON, played

PLAIN = ("k", "key", "test", "EMPTY", "widget", "not-needed", "dummy_key", "Password", "sk-1234")


@given(st.data())
def test_a_key_is_masked_wherever_a_stream_is_split_and_nothing_else_changes(data):
    key = data.draw(st.sampled_from([b"aab", b"sk-1234", b"aaaa", *(key.encode() for key in KEY_SHAPES)]))
    parts = data.draw(st.lists(st.sampled_from([key, key[:-1], key[:2], b"x", b"\n\n", b"a" * 5]), max_size=8))
    text = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert sent(key, pieces) == text.replace(key, b"*" * len(key))


def sent(key, pieces):
    """Return the body that a client receives."""
    received = []

    async def send(event):
        received.append(event["body"])

    async def run():
        mask = KeyMask(key, send)
        for at, piece in enumerate(pieces):
            await mask({"type": "http.response.body", "body": piece, "more_body": at + 1 < len(pieces)})

    asyncio.run(run())
    return b"".join(received)


@pytest.mark.parametrize("key", PLAIN)
def test_a_key_that_is_short_or_a_word_destroys_no_answer(gateway, upstream, monkeypatch, key):
    monkeypatch.setenv("MODEL_KEY", key)
    said = b'{"choices": [], "usage": {"input_tokens": 7}, "x": "the widget test is EMPTY and not-needed, key %s"}'
    said %= key.encode()
    with played(gateway, (200, JSON, [said]), upstream_key="MODEL_KEY") as (url, _, _):
        assert post(url, asked(conversation(1)))[::2] == (200, said)


@pytest.mark.parametrize("key", PLAIN)
def test_a_key_that_is_short_or_a_word_may_stand_in_names(gateway, upstream, key):
    url, app = gateway()
    sent = {"x_brim_session_id": f"my-{key}-talk", "authorization": f"Bearer {key}"}
    assert post(url, asked(conversation(60), model=f"my-{key}-model"), **sent)[0] == 200
    (row,) = app.state.activity.conversations("")
    assert (row["id"].split(".")[1], row["model"]) == (f"my-{key}-talk", f"my-{key}-model")
