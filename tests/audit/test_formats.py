import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit import traces
from brim.audit import audit
from brim.audit.formats import found

CASES = [(name, made) for name, group in traces.ALL.items() for made in group]
IDS = [made.__name__ for _, made in CASES]


@pytest.mark.parametrize(("name", "made"), CASES, ids=IDS)
def test_a_format_is_recognized_by_its_content_and_its_two_requests_are_one_conversation(name, made, tmp_path):
    report = audit([traces.write(tmp_path / "no.name", made())])
    assert set(report.values["records"]["formats"]) == {name}
    assert report.values["records"]["bad"] == 0
    recorded = report.values["recorded"]
    assert (recorded["conversations"], recorded["requests"]) == (1, 2)
    assert (recorded["illegal"], recorded["unreadable"], recorded["overflows"]) == (0, 0, 0)


@pytest.mark.parametrize(
    "made",
    [traces.openai_log, traces.otel_spans, traces.otel_flat, traces.langsmith_runs, traces.langfuse_observations],
)
def test_the_same_conversation_counts_the_same_from_every_tracer(made, tmp_path):
    plain = audit([traces.write(tmp_path / "plain", traces.openai_bodies())]).values["recorded"]
    other = audit([traces.write(tmp_path / "other", made())]).values["recorded"]
    # The arguments of a call are written with or without spaces: nothing else may differ.
    assert abs(other["units"] - plain["units"]) <= 2
    assert other["models"] == plain["models"] == {"gpt-4o": 2}


@pytest.mark.parametrize("made", [each for _, each in CASES], ids=IDS)
@pytest.mark.parametrize("pretty", [None, 2], ids=["one line", "many lines"])
def test_a_list_of_records_is_read_like_its_lines(made, pretty, tmp_path):
    lines = audit([traces.write(tmp_path / "lines", made())]).values
    path = tmp_path / "list"
    path.write_text(json.dumps(made(), indent=pretty))
    listed = audit([str(path)]).values
    assert listed["recorded"] == lines["recorded"]
    assert listed["policies"] == lines["policies"]


@pytest.mark.parametrize("key", ["data", "runs", "observations"])
def test_a_document_that_lists_records_is_opened(key, tmp_path):
    path = tmp_path / "page.json"
    path.write_text(json.dumps({key: traces.langfuse_observations(), "meta": {"page": 1}}, indent=1))
    assert audit([str(path)]).values["recorded"]["requests"] == 2


def test_reported_usage_holds_what_was_cached_whoever_reports_it(tmp_path):
    openai = audit([traces.write(tmp_path / "a", traces.openai_log())]).values["recorded"]["reported"]
    assert (openai["requests"], openai["units"], openai["cache_share"]) == (2, 40, 0.25)
    anthropic = audit([traces.write(tmp_path / "b", traces.claude_code_session())]).values["recorded"]["reported"]
    assert (anthropic["requests"], anthropic["units"], anthropic["cache_share"]) == (1, 20, 0.5)
    codex = audit([traces.write(tmp_path / "c", traces.codex_session())]).values["recorded"]["reported"]
    assert (codex["requests"], codex["units"]) == (1, 20)
    details = {"input": 4, "input_cached_tokens": 10, "input_cache_creation": 6}
    observation = {**traces.langfuse_observations()[1], "usageDetails": details}
    langfuse = audit([traces.write(tmp_path / "d", [observation])]).values["recorded"]["reported"]
    assert (langfuse["requests"], langfuse["units"], langfuse["cache_share"]) == (1, 20, 0.5)


def test_a_refusal_as_too_long_is_counted_in_every_format(tmp_path):
    body = traces.openai_bodies()[0]
    too_long = "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens."
    session = traces.claude_code_session()
    failed = {"role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "Prompt is too long"}]}
    session.append({"type": "assistant", "sessionId": "s", "isApiErrorMessage": True, "message": failed})
    for at, records in enumerate(
        (
            [{"request": body, "error": {"message": too_long, "code": "context_length_exceeded"}}],
            [{"request": body, "response": {"error": {"message": too_long}}}],
            [{**traces.langsmith_runs()[1], "error": f"BadRequestError: {too_long}"}],
            [{**traces.langfuse_observations()[1], "statusMessage": too_long}],
            [{**traces.otel_flat()[0], "status": {"status_code": "ERROR", "message": too_long}}],
            session,
        )
    ):
        report = audit([traces.write(tmp_path / str(at), records)])
        assert report.values["recorded"]["refused_by_provider"] == 1


def test_a_compacted_session_goes_on_from_its_summary(tmp_path):
    lines = traces.claude_code_session()
    lines.append({"type": "system", "subtype": "compact_boundary", "sessionId": "s", "content": "compacted"})
    lines.append({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Summary: all done."}})
    answer = {"id": "m9", "role": "assistant", "model": "claude-sonnet-4-5", "content": "What next?"}
    lines.append({"type": "assistant", "sessionId": "s", "message": answer})
    before = audit([traces.write(tmp_path / "a", traces.claude_code_session())]).values["recorded"]
    after = audit([traces.write(tmp_path / "b", lines)]).values["recorded"]
    assert after["requests"] == 3
    assert after["units"] - before["units"] < 30
    assert after["illegal"] == 0

    codex = traces.codex_session()
    codex.append({"type": "compacted", "payload": {"message": "all done"}})
    codex.append({"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": []}})
    plain = audit([traces.write(tmp_path / "c", traces.codex_session())]).values["recorded"]
    shorter = audit([traces.write(tmp_path / "d", codex)]).values["recorded"]
    assert shorter["requests"] == 3
    assert shorter["units"] - plain["units"] < 30


@pytest.mark.parametrize(
    ("fields", "illegal"),
    [
        ({}, 0),
        ({"tools": [{"type": "function", "function": {"name": "look"}}]}, 0),
        ({"tools": [{"name": "look", "input_schema": {"type": "object"}}]}, 1),
        ({"system": "Be brief."}, 1),
        ({"top_k": 5}, 1),
        ({"model": "claude-new"}, 0),
        ({"model": "claude-new", "max_tokens": 9}, 1),
    ],
    ids=str,
)
def test_messages_of_texts_alone_are_anthropics_by_the_other_fields_of_the_body(fields, illegal, tmp_path):
    """Only Anthropic rejects a first message that is not the user's."""
    messages = [{"role": "assistant", "content": "I do."}, {"role": "user", "content": "Look."}]
    body = {"model": "one", "messages": messages, **fields}
    assert audit([traces.write(tmp_path / "log", [body])]).values["recorded"]["illegal"] == illegal


def test_a_conversation_that_the_provider_stores_is_counted_as_partial(tmp_path):
    body = {"model": "gpt-5", "previous_response_id": "resp_1", "input": "and now?"}
    recorded = audit([traces.write(tmp_path / "a", [body, *traces.responses_bodies()])]).values["recorded"]
    assert (recorded["partial"], recorded["requests"]) == (1, 2)


def test_a_compressed_file_gives_what_the_plain_one_gives(tmp_path):
    plain = tmp_path / "plain.jsonl"
    traces.write(plain, traces.openai_log())
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    one, other = audit([str(plain)]).values, audit([str(packed)]).values
    assert one["recorded"] == other["recorded"]


WORDS = (
    *("messages", "role", "content", "model", "input", "request", "response", "usage", "type", "payload", "message"),
    *("attributes", "gen_ai.input.messages", "gen_ai.prompt.0.role", "events", "resourceSpans", "scopeSpans", "spans"),
    *(
        "run_type",
        "inputs",
        "extra",
        "traceId",
        "observations",
        "sessionId",
        "tools",
        "system",
        "key",
        "value",
        "kwargs",
    ),
)
TELLING = ("user", "assistant", "tool", "response_item", "compacted", "event_msg", "llm", "GENERATION", "tool_call", "")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.sampled_from(TELLING) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=25,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=8), max_size=8))
def test_no_record_ends_the_audit_whatever_it_holds(tmp_path, records):
    values = audit([traces.write(tmp_path / "log", [*traces.openai_log(), *records])]).values
    assert values["recorded"]["requests"] >= 2
    assert values["records"]["formats"]["bodies"] >= 2


def test_a_value_that_is_no_recording_is_in_no_format():
    values = [None, 3, "text", [], {}, [1], {"messages": []}, {"messages": "no"}, {"input": 3}, {"attributes": 3}, [[]]]
    assert [value for value in values if list(found(value))] == []


def test_an_event_of_a_new_kind_is_no_unread_record(tmp_path):
    event = {"type": "something-new", "sessionId": "s", "uuid": "9", "detail": {"a": 1}}
    report = audit([traces.write(tmp_path / "log", [*traces.claude_code_session(), event, {"unknown": 1}])]).values
    assert (report["records"]["silent"], report["records"]["bad"]) == (3, 1)
