"""The views, asked over HTTP and compared with what the library says on the same store."""

import json
import os

import pytest

import brim
from brim.studio.folder import Folder

SESSION, LOOP = "orders-incident", "orders-recount"


def test_an_empty_desk_answers_every_view_without_making_a_store(alone):
    for view in ("about", "sessions", "sources", "receipts", "flows", "settings", "models", "gateway", "doctor"):
        status, told = alone.get(view, desk="mine")
        assert status == 200, (view, told)
    assert alone.get("sessions", desk="mine")[1]["sessions"] == []
    assert list(alone.folder.iterdir()) == []


def test_a_store_that_appears_later_is_found(alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s")
    session.add({"role": "user", "content": "hello"})
    session.prompt()
    rows = alone.get("sessions", desk="mine")[1]["sessions"]
    assert [row["id"] for row in rows] == ["s"]


def test_the_rows_of_a_context_add_up_to_what_the_session_uses(served):
    status, told = served.get("context", session=SESSION)
    assert status == 200
    assert sum(row["units"] for row in told["rows"]) == told["status"]["used"]
    opened = brim.Session.open(SESSION, store=served.studio.desk("demo").needed())
    assert told["status"]["used"] == opened.status().used
    assert [piece["text"] for piece in told["pieces"] if piece["role"] == "user"][-1].startswith("Write the summary")
    assert {piece["category"] for piece in told["pieces"]} >= {"user", "assistant", "tool results", "summary"}


def test_a_timeline_has_a_point_for_each_prompt_and_marks_what_happened(served):
    told = served.get("timeline", session=SESSION)[1]
    assert len(told["points"]) == told["status"]["prompts"]
    assert all(point["used"] <= point["budget"] for point in told["points"])
    assert all(sum(point["categories"].values()) == point["used"] for point in told["points"])
    kinds = [mark["kind"] for mark in told["marks"]]
    assert kinds.count("compaction") == told["status"]["compactions"] == 2
    loop = served.get("timeline", session=LOOP)[1]
    assert [mark["kind"] for mark in loop["marks"]].count("sub_tick") == loop["status"]["sub_ticks"] == 2


def test_the_ledger_has_each_edit_with_what_left_beside_its_summary(served):
    edits = served.get("ledger", session=SESSION)[1]["edits"]
    compactions = [edit for edit in edits if edit["kind"] == "compaction"]
    assert len(compactions) == 2
    for edit in compactions:
        assert edit["after"] < edit["before"]
        assert edit["summary"]
        assert edit["texts"]
    handle = compactions[0]["texts"][0]["handle"]
    assert served.get("text", handle=handle)[1]["text"]
    assert [edit["kind"] for edit in edits].count("cut") == 1
    loop = served.get("ledger", session=LOOP)[1]["edits"]
    assert [edit["kind"] for edit in loop] == ["sub_tick", "sub_tick"]
    assert all(edit["texts"] for edit in loop)


def test_what_was_dropped_is_found_by_its_words_and_poured_back(alone):
    found = alone.get("search", query="certificate", session=SESSION)[1]["found"]
    assert found
    handle = found[0]["handle"]
    before = len(alone.get("context", session=SESSION)[1]["pieces"])
    status, told = alone.post("restore", session=SESSION, handle=handle)
    assert status == 200
    assert told["units"] > 0
    after = alone.get("context", session=SESSION)[1]
    assert len(after["pieces"]) == before + 1
    assert "certificate" in after["pieces"][-1]["text"]
    prompt = brim.Session.open(SESSION, store=alone.studio.desk("demo").needed()).prompt()
    assert "Brought back from earlier" in prompt.text


def test_a_message_is_not_poured_back_between_a_call_and_its_result(alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s", tool_limit=64)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    session.add(
        [{"role": "user", "content": "go"}, said, {"role": "tool", "tool_call_id": "c", "content": "x y " * 900}]
    )
    session.add({**said, "tool_calls": [{**call, "id": "d"}]})
    handle = alone.get("ledger", desk="mine", session="s")[1]["edits"][0]["texts"][0]["handle"]
    status, told = alone.post("restore", desk="mine", session="s", handle=handle)
    assert status == 400
    assert "waits for its result" in told["problem"]


def test_receipts_are_filtered_and_compared(served):
    told = served.get("receipts")[1]
    assert told["found"] == told["all"] == len(told["receipts"]) > 90
    lost = served.get("receipts", lost="1")[1]
    assert 0 < lost["found"] < told["found"]
    assert all(row["truncated"] for row in lost["receipts"])
    steps = served.get("receipts", kind="step", text="build")[1]["receipts"]
    assert len(steps) == 5
    one = served.get("receipt", id=steps[0]["id"])[1]
    assert one["values"]["flow"] == "build"
    assert one["parts"]
    prompts = [row["id"] for row in told["receipts"] if row["kind"] == "prompt" and SESSION in row["id"]]
    rows = served.get("compare", before=prompts[9], after=prompts[0])[1]["rows"]
    assert any(not row["same"] for row in rows)


def test_a_receipt_that_is_not_there_is_said_so_and_no_path_leads_out(served):
    for name in (
        "step:../../x",
        "step:build/../../brim.yaml",
        "prompt:orders-incident:999999",
        "prompt:x:1",
        "x",
        "prompt::",
    ):
        status, told = served.get("receipt", id=name)
        assert status == 404, name
        assert "no receipt" in told["problem"]


def test_links_among_receipts_are_not_followed(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"step_id": "secret"}')
    inside = tmp_path / "runs" / "build" / "receipts"
    inside.mkdir(parents=True)
    (inside / "a.json").write_text('{"step_id": "a"}')
    (inside / "b.json").symlink_to(secret)
    (inside / "c.json").write_text("[]")
    os.mkfifo(inside / "d.json")
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "runs" / "build")
    found = Folder(str(tmp_path / "runs")).receipts()
    assert [filed.values["step_id"] for filed in found] == ["a"]


def test_a_changed_receipt_is_read_again(tmp_path):
    inside = tmp_path / "build" / "receipts"
    inside.mkdir(parents=True)
    (inside / "a.json").write_text('{"step_id": "a"}')
    folder = Folder(str(tmp_path))
    assert folder.receipts()[0].values["step_id"] == "a"
    (inside / "a.json").write_text('{"step_id": "another"}')
    assert folder.receipts()[0].values["step_id"] == "another"


@pytest.mark.requirement("S2.22")
def test_an_override_is_shown_as_a_diff_saved_with_its_comments_and_taken_back(alone):
    flow = os.path.join(alone.studio.desk("demo").config, "flows", "build.yaml")
    with open(flow, encoding="utf-8") as file:
        before = file.read()
    asked = {"key": "context_budget_chars", "value": "21000", "flow": "build", "step": "code"}
    status, plan = alone.post("plan", **asked)
    assert status == 200
    assert "+      context_budget_chars: 21000   # needs the whole plan" in plan["diff"]
    with open(flow, encoding="utf-8") as file:
        assert file.read() == before
    assert alone.post("save", id=plan["id"])[0] == 200
    with open(flow, encoding="utf-8") as file:
        assert file.read() == before.replace("18000", "21000")
    rows = alone.get("settings", flow="build", step="code")[1]["values"]
    row = next(row for row in rows if row["key"] == "context_budget_chars")
    assert (row["value"], row["origin"], row["override"], row["over"]["value"]) == (21_000, "step", True, 12_000)
    config = brim.load_config(alone.studio.desk("demo").config)
    assert config.resolve(flow="build", step="code")["context_budget_chars"].value == 21_000
    assert alone.post("save", id=plan["id"])[0] == 404
    assert alone.post("undo")[0] == 200
    with open(flow, encoding="utf-8") as file:
        assert file.read() == before
    assert alone.post("undo")[0] == 404


def test_a_file_that_somebody_else_changed_is_not_overwritten(alone):
    flow = os.path.join(alone.studio.desk("demo").config, "flows", "build.yaml")
    plan = alone.post("plan", key="context_budget_chars", value="21000", flow="build", step="code")[1]
    with open(flow, "a", encoding="utf-8") as file:
        file.write("# mine\n")
    status, told = alone.post("save", id=plan["id"])
    assert status == 400
    assert "changed by somebody else" in told["problem"]


def test_a_value_that_cannot_be_is_refused_with_the_sentence_of_the_settings(served):
    status, told = served.post("plan", key="context_budget_chars", value="many", flow="build", step="code")
    assert status == 400
    assert "whole number" in told["problem"]
    assert served.post("plan", key="context_budget_chars", value=7, flow="build")[0] == 400
    assert served.post("plan", key="no_such_key", value="1")[0] == 404


def test_a_guardrail_that_moved_a_budget_is_told_where_it_holds_and_by_the_doctor(served):
    rows = served.get("settings", flow="deploy")[1]["values"]
    row = next(row for row in rows if row["key"] == "context_budget_chars")
    assert any("lowered" in warning for warning in row["warnings"])
    doctor = served.get("doctor")[1]
    assert not doctor["healthy"]
    assert "setting out of bounds" in [finding["check"] for finding in doctor["findings"]]


def test_models_come_with_their_source_and_the_gateways_talks_with_before_and_after(served):
    models = served.get("models")[1]["models"]
    row = next(model for model in models if model["id"] == "gpt-5")
    assert row["window"]
    assert row["source"]
    assert row["error"] == {"calls": 93, "mean": 0.0, "p95": 0.0, "under": 0.0}
    gateway = served.get("gateway")[1]
    assert {talk["id"].partition(".")[2] for talk in gateway["talks"]} == {"support-bot", "code-agent"}
    cut = [each for each in gateway["requests"] if each.get("edits")]
    assert cut
    assert all(each["after"] <= each["budget"] and each["after"] < each["before"] for each in cut)
    (one,) = gateway["gateways"]
    assert sum(one["ends"].values()) == len(gateway["requests"]) == one["newest"]
    assert 0 < one["overhead_ms"]["p50"] <= one["overhead_ms"]["p99"]


def test_text_from_strangers_comes_back_as_json_text(alone):
    evil = "<img src=x onerror=alert(1)></script>\ud800\u2028"
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s")
    session.add({"role": "user", "content": evil})
    session.prompt()
    status, headers, body = alone.ask("/api/context?desk=mine&session=s")
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["pieces"][0]["text"] == evil


@pytest.mark.parametrize("view", ["context", "timeline", "ledger"])
def test_a_session_that_is_not_there_is_said_so(served, view):
    status, told = served.get(view, session="order-incident")
    assert status == 404
    assert "orders-incident" in told["problem"]
    assert served.get(view)[0] == 400
    assert served.get(view, desk="other", session="x")[0] == 400


def test_a_view_that_is_not_there_is_said_so(served):
    assert served.get("nothing")[0] == 404
    assert served.post("nothing")[0] == 404
    assert served.get("save")[0] == 404


def test_an_override_is_removed_and_what_stands_below_holds_again(alone):
    plan = alone.post("plan", key="context_budget_chars", value=None, flow="build", step="code")[1]
    assert "-      context_budget_chars: 18000   # needs the whole plan" in plan["diff"]
    alone.post("save", id=plan["id"])
    rows = alone.get("settings", flow="build", step="code")[1]["values"]
    row = next(row for row in rows if row["key"] == "context_budget_chars")
    assert (row["value"], row["origin"], row["own"]) == (12_000, "flow", "")
    status, told = alone.post("plan", key="context_budget_chars", value=None, flow="build", step="code")
    assert status == 400
    assert "nothing to remove" in told["problem"]


def test_a_plan_tells_what_the_guardrails_would_say(served):
    plan = served.post("plan", key="context_budget_chars", value="700", flow="build", step="test")[1]
    assert any("below minimum 10,000" in told for told in plan["warnings"])


def test_a_pin_is_listed_with_its_ledger_and_refused_where_it_is_too_big(alone):
    found = alone.get("search", query="certificate", session=SESSION)[1]["found"][0]
    status, told = alone.post("pin", session=SESSION, handle=found["handle"])
    assert status == 200
    assert told["units"] > 0
    assert [pin["handle"] for pin in alone.get("ledger", session=SESSION)[1]["pins"]] == [found["handle"]]
    cut = next(edit for edit in alone.get("ledger", session=SESSION)[1]["edits"] if edit["kind"] == "cut")
    status, told = alone.post("pin", session=SESSION, handle=cut["texts"][0]["handle"])
    assert status == 400
    assert "of at most 1,600 tokens" in told["problem"]
    assert alone.post("unpin", session=SESSION, handle=found["handle"])[1]["pins"] == []
    assert alone.post("unpin", session=SESSION, handle=found["handle"])[0] == 404


def test_the_cost_of_a_call_is_that_of_the_catalogue_or_unknown(served, alone):
    points = served.get("timeline", session=SESSION)[1]["points"]
    for point in points:
        fresh = point["input"] - point["cached"]
        expected = (fresh * 1.25 + point["cached"] * 0.125 + point["output"] * 10) / 1e6
        assert point["cost_usd"] == pytest.approx(expected, abs=1e-8)
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, meter="o200k_base", store=store, id="s")
    session.add({"role": "user", "content": "hello"})
    session.record_usage(input_tokens=session.prompt().used, output_tokens=2)
    assert alone.get("timeline", desk="mine", session="s")[1]["points"][0]["cost_usd"] is None


def test_the_doctor_tells_of_the_store_the_door_and_what_counts(served):
    facts = {fact["name"]: fact["told"] for fact in served.get("doctor")[1]["facts"]}
    assert facts["size of the store"].endswith("bytes")
    assert "purge" in facts["retention"]
    assert facts["reached by"] == "this machine alone"
    assert "o200k_base" in facts["vocabularies built in"]
    assert facts["SQLite"][0].isdigit()
    assert "each start" in facts["token"]


def test_what_the_demo_says_of_a_gateway_is_what_a_gateway_writes_today():
    """The recording is of a real run; run again, all but the times and the ids are the same."""
    import importlib.util
    from pathlib import Path

    place = Path(__file__).resolve().parents[2] / "scripts" / "record_demo.py"
    spec = importlib.util.spec_from_file_location("record_demo", place)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    times = ("at", "id", "overhead_ms", "first_ms")
    before, after = json.loads(script.PATH.read_text(encoding="utf-8")), json.loads(json.dumps(script.recorded()))
    rows = [
        [{key: value for key, value in row.items() if key not in times} for row in each["traffic"]["requests"]]
        for each in (before, after)
    ]
    assert rows[0] == rows[1]
    assert before["talks"] == after["talks"]
    assert before["traffic"]["ends"] == after["traffic"]["ends"]


def test_the_demos_provider_counts_by_the_real_meter(served):
    store = served.studio.desk("demo").needed()
    for session in (SESSION, LOOP):
        entries = store.entries(session, kinds=["prompt", "usage"])
        pairs = list(zip(entries[::2], entries[1::2], strict=True))
        assert len(pairs) > 20
        for prompt, usage in pairs:
            assert usage.body["input"] == prompt.body["used"]
            assert usage.body["cached"] <= prompt.body["stable_prefix"] + 128
