"""Every handle that a prompt shows names a text that can be recalled."""

import re

import pytest

from brim.sessions.conversations import Conversations
from brim.sessions.learning.request_input import RequestInput
from talk import answer, gives, says, use, user


def log(step, call):
    return "\n".join(f"step {step}, call {call}: item {i} is ready, file src/m{i}.py" for i in range(40))


def history(parallel, *beside):
    messages = [user()]
    for step in range(12):
        ids = [f"c{step}_{call}" for call in range(parallel)]
        results = [answer(id_, log(step, call)) for call, id_ in enumerate(ids)]
        messages += [says(*map(use, ids)), gives(*results, *beside)]
    return messages


PAGE = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A page. " * 30}}


@pytest.mark.parametrize("store", [None, "sqlite:///:memory:"], ids=["in memory", "in a store"])
@pytest.mark.parametrize(("parallel", "beside"), [(1, ()), (3, ()), (1, (PAGE,))], ids=["one", "three", "document"])
def test_a_shortened_result_is_recalled_by_the_handle_in_its_mark(store, parallel, beside):
    conversations = Conversations(4_000, meter="o200k_base", log=False, store=store)
    request = RequestInput(messages=history(parallel, *beside), format="anthropic", recall=True)
    made = conversations.fit(request, conversations.plan(request))
    shown = {
        block["tool_use_id"]: re.findall(r"b2:[0-9a-f]+", block["content"])
        for message in made.messages
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    }
    handles = {id_: found[0] for id_, found in shown.items() if found}
    assert len(handles) >= 5
    for id_, handle in handles.items():
        step, call = id_.removeprefix("c").split("_")
        assert made.dropped.text(handle) == log(int(step), int(call))
