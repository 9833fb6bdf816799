"""The ledger lists every edit, and restores and pins removed texts."""

import brim

SESSION, LOOP = "orders-incident", "orders-recount"


def test_the_ledger_has_each_edit_with_its_removed_texts_and_summary(served):
    edits = served.get("ledger", session=SESSION)[1]["edits"]
    compactions = [edit for edit in edits if edit["kind"] == "compaction"]
    assert len(compactions) == 2
    for edit in compactions:
        assert edit["after"] < edit["before"]
        assert edit["summary"]
        assert edit["texts"]
    handle = compactions[0]["texts"][0]["handle"]
    assert served.get("text", handle=handle)[1]["text"]
    assert [edit["kind"] for edit in edits].count("shortened") == 1
    loop = served.get("ledger", session=LOOP)[1]["edits"]
    assert [edit["kind"] for edit in loop] == ["sub_tick", "sub_tick"]
    assert all(edit["texts"] for edit in loop)


def test_a_dropped_text_is_found_by_its_words_and_restored(alone):
    found = alone.get("search", query="certificate")[1]["found"]
    assert found
    handle = found[0]["handle"]
    status, told = alone.post("restore", session=SESSION, handle=handle)
    assert status == 200
    assert told["units"] > 0
    session = brim.Session.open(SESSION, store=alone.studio.workspace("demo").store())
    assert "certificate" in str(session.messages[-1])
    assert "Restored from earlier" in session.prompt().text


def test_nothing_is_restored_between_a_call_and_its_result(alone):
    store = brim.open_store(f"sqlite:///{alone.folder}/brim.db")
    session = brim.Session(window=2_000, model="gpt-5", store=store, id="s", tool_limit=64)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    session.add(
        [{"role": "user", "content": "go"}, said, {"role": "tool", "tool_call_id": "c", "content": "x y " * 900}]
    )
    session.add({**said, "tool_calls": [{**call, "id": "d"}]})
    handle = alone.get("ledger", workspace="mine", session="s")[1]["edits"][0]["texts"][0]["handle"]
    status, told = alone.post("restore", workspace="mine", session="s", handle=handle)
    assert status == 400
    assert "without an open tool call" in told["problem"]


def test_a_pin_is_listed_with_its_ledger_and_refused_where_it_is_too_big(alone):
    found = alone.get("search", query="certificate")[1]["found"][0]
    status, told = alone.post("pin", session=SESSION, handle=found["handle"])
    assert status == 200
    assert told["units"] > 0
    assert [pin["handle"] for pin in alone.get("ledger", session=SESSION)[1]["pins"]] == [found["handle"]]
    cut = next(edit for edit in alone.get("ledger", session=SESSION)[1]["edits"] if edit["kind"] == "shortened")
    status, told = alone.post("pin", session=SESSION, handle=cut["texts"][0]["handle"])
    assert status == 400
    assert "within 1,600 tokens" in told["problem"]
    assert alone.post("unpin", session=SESSION, handle=found["handle"])[1]["pins"] == []
    assert alone.post("unpin", session=SESSION, handle=found["handle"])[0] == 404


def test_a_search_finds_texts_with_all_of_its_words(alone):
    """One word of two was enough: "certificate nonsense" found what "certificate" finds."""
    found = [alone.get("search", query=query)[1]["found"] for query in ("certificate", "certificate zyzzyva")]
    assert found[0]
    assert found[1] == []


def test_a_turn_that_was_left_out_reads_as_it_was_said(served):
    """It was shown as the JSON in which it is stored."""
    edit = next(each for each in served.get("ledger", session=SESSION)[1]["edits"] if each["kind"] == "compaction")
    assert [each["excerpt"] for each in edit["texts"] if '"role"' in each["excerpt"]] == []
    shown = served.get("text", handle=edit["texts"][-1]["handle"])[1]["text"]
    assert shown.split(":")[0] in ("user", "assistant", "tool")
