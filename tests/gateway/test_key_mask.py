"""The key for upstream is masked wherever an answer is split, and nothing else changes."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from brim.gateway.key_mask import KeyMask
from gateway.attacks import KEY_SHAPES


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
