"""Conversations of clients that know nothing of brim: the start of their prompts stays, in one gateway or in several."""

import contextlib
import json
from itertools import pairwise

import pytest

from brim import open_store
from gateway.conftest import asked, conversation, post


def shared(bodies):
    """Return how many of the messages of each prompt begin the next one."""
    said = [json.loads(body)["messages"] for body in bodies]
    counts = []
    for one, other in pairwise(said):
        same = 0
        while same < min(len(one), len(other)) and one[same] == other[same]:
            same += 1
        counts.append((same, len(one)))
    return counts


def grown(url, turns, headers=lambda i: {}, body=lambda i: {}):
    for i in range(*turns):
        said = asked(conversation(i), **body(i))
        assert post(url, said, **headers(i))[0] == 200


@pytest.mark.parametrize(
    ("headers", "body"),
    [({}, {}), ({"x_brim_session_id": "one"}, {}), ({}, {"prompt_cache_key": "one"}), ({}, {"user": "one"})],
    ids=["by how it begins", "by header", "by prompt_cache_key", "by user"],
)
def test_a_prompt_begins_like_the_one_before(gateway, upstream, headers, body):
    url, app = gateway()
    grown(url, (40, 60), lambda _: headers, lambda _: body)
    kept = [same == whole for same, whole in shared(upstream.bodies)]
    assert sum(kept) >= len(kept) * 0.7
    assert len(app.state.conversations) == 1
    assert not upstream.refused


def test_conversations_that_begin_alike_and_then_part_are_two(gateway, upstream):
    url, app = gateway()
    for i in range(40, 46):
        for name in ("left", "right"):
            said = conversation(i)
            said[1] = {**said[1], "content": name}
            assert post(url, asked(said))[0] == 200
    assert len(app.state.conversations) == 2
    for side in (upstream.bodies[0::2], upstream.bodies[1::2]):
        assert sum(same == whole for same, whole in shared(side)) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
def test_two_gateways_on_one_store_cut_alike(gateway, upstream, tmp_path, named):
    store = f"sqlite:///{tmp_path}/brim.db"
    with contextlib.ExitStack():
        one, _ = gateway(store=store)
        other, _ = gateway(store=store)
        headers = {"x_brim_session_id": "one"} if named else {}
        for i in range(40, 60):
            assert post([one, other][i % 2], asked(conversation(i)), **headers)[0] == 200
    kept = [same == whole for same, whole in shared(upstream.bodies)]
    assert sum(kept) >= len(kept) * 0.7
    with open_store(store) as opened:
        rows = opened.sessions()
        assert len(rows) == 1
        assert upstream.window * 0.4 < rows[0].meta["status"]["used"] <= upstream.window


def test_memory_is_bounded_however_many_conversations_come(gateway, upstream):
    url, app = gateway(memory=1_000_000)
    for i in range(20):
        post(url, asked(conversation(50)), x_brim_session_id=f"s{i}")
    assert 0 < len(app.state.conversations) < 20


def test_many_requests_of_one_conversation_at_once_are_all_served(gateway, upstream):
    from concurrent.futures import ThreadPoolExecutor

    url, _ = gateway()
    with ThreadPoolExecutor(8) as pool:
        sent = pool.map(lambda i: post(url, asked(conversation(40 + i % 5)), x_brim_session_id="one")[0], range(24))
    assert set(sent) == {200}
    assert not upstream.refused
    assert not upstream.illegal
