"""The ledger lists every edit, with the texts that it removed."""

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


def test_a_search_finds_texts_with_all_of_its_words(own_demo):
    """One word of two was enough: "certificate nonsense" found what "certificate" finds."""
    found = [own_demo.get("search", query=query)[1]["found"] for query in ("certificate", "certificate zyzzyva")]
    assert found[0]
    assert found[1] == []


def test_a_turn_that_was_left_out_reads_as_it_was_said(served):
    """It was shown as the JSON in which it is stored."""
    edit = next(each for each in served.get("ledger", session=SESSION)[1]["edits"] if each["kind"] == "compaction")
    assert [each["excerpt"] for each in edit["texts"] if '"role"' in each["excerpt"]] == []
    shown = served.get("text", handle=edit["texts"][-1]["handle"])[1]["text"]
    assert shown.split(":")[0] in ("user", "assistant", "tool")
