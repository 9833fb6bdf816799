"""What a provider has compacted, as OpenAI and Anthropic send it."""

import pytest

import brim
from brim.wire import wire
from brim.wire.base import still_read

LONG = "the log says that all is well " * 500
ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAB" * 751}
BLOCK = {
    "type": "compaction",
    "content": "Summary: the port is 8443.",
    "encrypted_content": "e" * 900,
    "signature": "s",
}


def user(text="go on"):
    return {"role": "user", "content": text}


def said(text="done"):
    return {"role": "assistant", "content": text}


def call(id_="c1"):
    return {"type": "function_call", "call_id": id_, "name": "read", "arguments": "{}"}


def output(id_="c1", text="ok"):
    return {"type": "function_call_output", "call_id": id_, "output": text}


@pytest.mark.parametrize(
    ("format", "messages", "read"),
    [
        ("responses", [user(), said(), user(), ITEM, said(), user()], [3, 4, 5]),
        ("responses", [user("a"), user("b"), ITEM, user()], [0, 1, 2, 3]),
        ("responses", [{"role": "developer", "content": "rules"}, user(), said(), ITEM, user()], [0, 3, 4]),
        ("responses", [user(), said(), ITEM, said(), user(), {**ITEM, "id": "cmp_2"}, user()], [5, 6]),
        ("responses", [user(), said(), user(), call(), ITEM, output(), user()], [3, 4, 5, 6]),
        ("responses", [user(), call(), output(), ITEM, said()], [3, 4]),
        ("responses", [user(), said(), {"type": "compaction", "encrypted_content": ""}, user()], [0, 1, 2, 3]),
        ("responses", [user(), said(), {**ITEM, "type": "context_compaction"}, user()], [2, 3]),
        ("anthropic", [user(), said(), user(), {"role": "assistant", "content": [BLOCK]}, user()], [3, 4]),
        ("anthropic", [{"role": "assistant", "content": [BLOCK]}, user()], [0, 1]),
        (
            "anthropic",
            [user(), {"role": "assistant", "content": [{"type": "compaction", "content": None}, *[]]}, user()],
            [0, 1, 2],
        ),
        (
            "anthropic",
            [
                user(),
                said(),
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [BLOCK]}]},
            ],
            [0, 1, 2],
        ),
    ],
    ids=[
        "an item of an answer covers all before it",
        "the window of /responses/compact is sent back as it is",
        "instructions stay",
        "the newest counts",
        "a call that is answered after it stays",
        "one that was answered before does not",
        "an empty one stands for nothing",
        "as Codex names it",
        "a block of Anthropic",
        "one that comes first",
        "one that failed",
        "a block inside a result is none",
    ],
)
def test_what_the_provider_still_reads(format, messages, read):
    chosen = wire(format)
    assert list(still_read([chosen.read(raw, i) for i, raw in enumerate(messages)], chosen)) == read


def test_an_item_of_openai_stays_where_it_was_dropped_for_its_encrypted_characters():
    history = [user(f"task {LONG}"), said(LONG), user(), ITEM, said(), user("and now?")]
    fitted = brim.fit_messages(history, 2_000, model="gpt-5", format="responses")
    assert fitted.messages == history[3:]
    assert fitted.messages[0] is ITEM
    assert fitted.receipt.to_dict()["history"]["compaction"] == {"index": 3, "messages": 3}
    assert brim.meter("gpt-5").count_messages(history, format="responses") == fitted.used < 1_600


def test_a_request_of_anthropic_that_fits_since_its_block_is_not_cut():
    history = [
        user(LONG),
        said(LONG),
        user(),
        {"role": "assistant", "content": [BLOCK, {"type": "text", "text": "on"}]},
    ]
    history += [user("the last")]
    fitted = brim.fit_messages(history, 200, model="claude-sonnet-5")
    assert fitted.messages == history[3:]
    assert not fitted.receipt.truncated


def test_the_block_stays_whatever_else_of_its_message_is_cut():
    answer = {"role": "assistant", "content": [BLOCK, {"type": "text", "text": LONG}]}
    history = [user(LONG), answer, user(LONG), said(LONG), user("the last")]
    fitted = brim.fit_messages(history, 400, model="claude-sonnet-5")
    assert fitted.messages[0]["content"][0] is BLOCK
    assert fitted.used <= 400


def test_what_stands_before_a_block_in_its_own_message_does_not_count():
    meter = brim.meter("claude-sonnet-5")
    later = [BLOCK, {"type": "text", "text": "on"}]
    before = {"role": "assistant", "content": [{"type": "text", "text": LONG}, *later]}
    assert meter.count_messages([before]) == meter.count_messages([{"role": "assistant", "content": later}])


def test_a_block_that_comes_while_a_history_grows_takes_the_place_of_what_was_before():
    history = brim.History(meter="o200k_base", format="anthropic", stable=True)
    for raw in [user(LONG), said(LONG), user(LONG)]:
        history.extend([raw])
    assert history.fit(3_000).receipt.truncated
    answer = {"role": "assistant", "content": [BLOCK, {"type": "text", "text": "on"}]}
    history.extend([answer, user("the last")])
    assert history.fit(3_000).messages == [answer, user("the last")]


def test_a_compaction_trigger_stays_the_last_item():
    trigger = {"type": "compaction_trigger"}
    history = [user("task"), said(LONG), user(LONG), call(), output(text=LONG), trigger]
    fitted = brim.fit_messages(history, 1_000, model="gpt-5", format="responses")
    assert fitted.messages[-1] is trigger
    assert fitted.messages[-2]["type"] == "function_call_output"


def test_a_summary_of_ours_does_not_take_the_place_of_a_block():
    answer = {"role": "assistant", "content": [BLOCK, {"type": "text", "text": "on"}]}
    session = brim.Session(4_000, meter="o200k_base", format="anthropic", summarise=lambda text, limit: "short")
    for at in range(12):
        for raw in [answer if at == 0 else said(LONG[:2_000]), user(f"{at} {LONG[:2_000]}")]:
            session.add(raw)
    sent = session.prompt().messages
    assert sent[0]["content"][0] == BLOCK


def test_what_a_body_asks_of_the_provider_is_no_text_of_the_prompt():
    fields = {
        "prompt_cache_options": {"mode": "explicit", "ttl": "30m", "comparison_response_id": "resp_1"},
        "compaction": {"type": "summarize", "instructions": LONG},
        "diagnostics": {"previous_message_id": "msg_1"},
        "context_management": {"edits": [{"type": "compact_20260112", "instructions": LONG}]},
    }
    meter = brim.meter("gpt-5")
    assert meter.count_messages([user()], fields=fields) == meter.count_messages([user()])


@pytest.mark.parametrize(
    ("format", "model", "foreign"),
    [
        ("anthropic", "claude-sonnet-5", None),
        ("anthropic", "kimi-k2.6", "moonshot"),
        ("responses", "gpt-5", None),
        ("responses", "grok-4", None),
        ("responses", "claude-sonnet-5", "anthropic"),
        ("responses", "nobody-knows-me", None),
    ],
)
def test_a_block_that_another_provider_made_is_told_in_the_receipt(format, model, foreign):
    block = {"type": "compaction", "content": "what was said"}
    history = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [block]}]
    if format == "responses":
        history = [{"role": "assistant", "content": "x"}, {"type": "compaction", "encrypted_content": "gAAA" * 9}]
    known = {"model": model} if model != "nobody-knows-me" else {"meter": "o200k_base"}
    fitted = brim.fit_messages([*history, {"role": "user", "content": "and?"}], 500, format=format, **known)
    assert fitted.receipt.history["compaction"].get("foreign") == foreign
