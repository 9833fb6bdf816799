"""`brim gateway` prints what it does with requests: a line for each cut, refusal, retry and learned window."""

import io
import json
import os
import re
import time

import pytest

from brim.gateway.report.lines import ActivityLines, line_of, summary_of
from brim.observe import Event
from gateway.conftest import asked, conversation, post
from gateway.test_relay import settled

SECRET = "heliotrope"
LONG = conversation(60)
SIZES = {
    "before_tokens": 48_213,
    "used_tokens": 39_870,
    "budget_tokens": 41_000,
    "window_tokens": 48_000,
    "reason": "refusal",
    "dropped": 12,
    "cut": 3,
}
SUMS = dict.fromkeys(("requests", "cut", "cuts", "refused", "overflows", "retried", "faults", "conversations"), 1)
SUMS |= {"upstream_errors": 0}
SUMS |= {"tokens_saved": 1_234, "windows_learned": 0}
OVERFLOW = {
    "refused_tokens": 48_213,
    "stated_tokens": None,
    "limit_tokens": 40_000,
    "answer_tokens": None,
    "retried": True,
    "new_answer_tokens": None,
}
EVENTS = {
    "cut": (
        "cut",
        SIZES,
        "cut      TEAM talk gpt-5: 48,213 -> 39,870 of 41,000 tokens, 12 messages dropped or shortened, cut 3 of this"
        " conversation (window 48,000 from an overflow error)",
    ),
    "below a rejected prompt": (  # The window may be known or not.
        "cut",
        {**SIZES, "reason": "ceiling", "cut": 0},
        "cut      TEAM talk gpt-5: 48,213 -> 39,870 of 41,000 tokens, 12 messages dropped or shortened (kept below the"
        " size of a rejected prompt)",
    ),
    "over": (
        "over",
        {**SIZES, "used_tokens": 48_213, "reason": "setting"},
        "over     TEAM talk gpt-5: 48,213 -> 48,213 of 41,000 tokens, passed on unchanged (window 48,000 from a"
        " setting)",
    ),
    "retried": (
        "overflow",
        {**OVERFLOW, "used_tokens": 36_000},
        "retried  TEAM talk gpt-5: upstream rejected 48,213 tokens; its limit is 40,000; sent again with 36,000",
    ),
    "retried with its answer": (  # Without the answer, "4,028; its limit is 4,096" looks like a contradiction.
        "overflow",
        {
            "refused_tokens": 4_093,
            "stated_tokens": 4_028,
            "limit_tokens": 4_096,
            "answer_tokens": 200,
            "retried": True,
            "used_tokens": 3_800,
            "new_answer_tokens": None,
        },
        "retried  TEAM talk gpt-5: upstream rejected 4,093 tokens, which it counts as 4,028, plus 200 for the answer;"
        " its limit is 4,096; sent again with 3,800",
    ),
    "retried with a shorter answer": (
        "overflow",
        {**OVERFLOW, "answer_tokens": 3_000, "used_tokens": 48_213, "new_answer_tokens": 2_044},
        "retried  TEAM talk gpt-5: upstream rejected 48,213 tokens, plus 3,000 for the answer; its limit is 40,000;"
        " sent again with 48,213, and the answer limited to 2,044",
    ),
    "too long with its answer": (
        "refused",
        {
            "status": 400,
            "reason": "too_long",
            "needed_tokens": 30_000,
            "budget_tokens": 48_000,
            "answer_tokens": 32_000,
        },
        "refused  TEAM talk gpt-5: 30,000 tokens plus 32,000 for the answer do not fit into 48,000 (status 400)",
    ),
    "learned": (
        "window_learned",
        {"window_tokens": 40_000, "before_tokens": None},
        "learned  TEAM talk gpt-5: window 40,000 from an overflow error (unknown before)",
    ),
}


@pytest.mark.parametrize("case", EVENTS)
def test_an_event_is_one_short_line(case):
    name, fields, text = EVENTS[case]
    event = Event(name=name, at=0.0, session="talk", model="gpt-5", fields={"key": "TEAM", "route": "chat", **fields})
    assert line_of(event) == time.strftime("%H:%M:%S", time.localtime(0.0)) + " " + text


def test_of_a_long_name_the_agent_and_the_end_are_printed_and_without_a_name_the_route():
    fields = {"route": "chat", "status": 401, "reason": "key"}
    long = Event(name="refused", at=0.0, session="user_" * 30 + "0123456789ab", fields=fields)
    assert " ...0123456789ab: its key" in line_of(long)
    agent = Event(name="refused", at=0.0, session="0123456789ab.claude-code.3c1171d9-9b05-4dc3529bb618", fields=fields)
    assert " claude-code...4dc3529bb618: its key" in line_of(agent)
    assert " chat: its key" in line_of(Event(name="refused", at=0.0, fields=fields))


def use(url):
    """Let a gateway learn a window, cut, refuse, and pass on."""
    said = [*LONG[:-1], {"role": "user", "content": SECRET}]
    body = asked(said, model="gw-model")
    assert post(url, body, x_brim_session_id="talk")[1]["x-brim-retried"] == "1"
    assert post(url, asked([*LONG, *LONG[1:]], model="gw-model"), x_brim_session_id="other")[0] == 200
    assert post(url, body, x_brim_budget="many")[0] == 400
    assert post(url, asked(LONG[:1]))[0] == 200


def test_a_gateway_prints_what_it_does_and_a_summary_at_the_end(gateway, upstream):
    url, app = gateway(window=None)
    texts, objects = io.StringIO(), io.StringIO()
    writers = ActivityLines(texts), ActivityLines(objects, as_json=True)
    app.state.activity.observers.extend(writers)
    use(url)
    assert settled(lambda: app.state.activity.summary()["requests"] == 4)
    for writer in writers:
        writer.end(app.state.activity.summary())
    assert SECRET not in texts.getvalue() + objects.getvalue()
    learned, retried, cut, refused, summary = texts.getvalue().splitlines()
    window = f"{upstream.window:,}"
    assert re.fullmatch(rf"[\d:]{{8}} learned  gw-model: window {window} from an overflow error .*", learned)
    assert re.fullmatch(
        r"[\d:]{8} retried  \S+\.talk gw-model: upstream rejected [\d,]+ tokens.*sent again .*", retried
    )
    assert re.fullmatch(
        r"[\d:]{8} cut      \S+\.other gw-model: [\d,]+ -> [\d,]+ of [\d,]+ tokens, \d+ messages dropped or shortened,"
        rf" cut 1 of this conversation \(window {window} from an overflow error\)",
        cut,
    )
    assert re.fullmatch(
        r"[\d:]{8} refused  gw-model: it is invalid; the error that the client got says why \(status 400\)",
        refused,
    )
    assert re.fullmatch(
        r"brim gateway: 4 requests of 3 conversations, 2 shortened \(2 cuts, [\d,]+ tokens saved\), 1 refused,"
        r" 1 rejected by upstream as too long \(1 sent again\), 1 window learned",
        summary,
    )
    learned, retried, cut, refused, summary = map(json.loads, objects.getvalue().splitlines())
    assert (learned["event"], learned["model"]) == ("window_learned", "gw-model")
    assert learned["window_tokens"] == upstream.window
    assert (retried["event"], retried["retried"]) == ("overflow", True)
    assert (cut["event"], cut["cut"], cut["reason"], cut["route"]) == ("cut", 1, "refusal", "chat")
    assert cut["session"].endswith(".other")
    assert cut["used_tokens"] <= cut["budget_tokens"] < cut["before_tokens"]
    assert (refused["event"], refused["status"]) == ("refused", 400)
    saved = retried["refused_tokens"] - retried["used_tokens"] + cut["before_tokens"] - cut["used_tokens"]
    counted = {"requests": 4, "cut": 2, "cuts": 2, "refused": 1, "overflows": 1, "retried": 1, "upstream_errors": 0}
    more = {"faults": 0, "tokens_saved": saved, "conversations": 3, "windows_learned": 1}
    assert summary == {"event": "summary", **counted, **more}


def test_a_closed_pipe_ends_the_lines_and_nothing_else():
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as stream:
        lines = ActivityLines(stream)
        lines.observe(Event(name="refused", at=0.0, fields={"route": "chat", "status": 401, "reason": "key"}))
        lines.end(SUMS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)


def test_the_summary_names_errors_only_if_there_were_any():
    assert summary_of(SUMS) == (
        "1 request of 1 conversation, 1 shortened (1 cut, 1,234 tokens saved), 1 refused, 1 rejected by upstream as too"
        " long (1 sent again), 0 windows learned, 1 internal error"
    )
    assert "error" not in summary_of({**SUMS, "faults": 0})
    assert summary_of({**SUMS, "faults": 0, "upstream_errors": 2}).endswith(", 2 errors from upstream")
