"""The conversations that a gateway cut: each is listed with its cuts, and each cut has its receipt."""


def test_conversations_are_listed_with_their_newest_prompt_and_their_cuts(served):
    told = served.get("gateway")[1]
    rows = {row["id"].rpartition(".")[2]: row for row in told["sessions"]}
    assert rows
    cut = [each for each in told["requests"] if each.get("cut")]
    for row in rows.values():
        own = [each for each in told["requests"] if each.get("session") == row["id"] and each["edits"]]
        newest = max(own, key=lambda each: each["at"])
        assert (row["used"], row["before"], row["budget"]) == (newest["after"], newest["before"], newest["budget"])
        assert row["cuts"] == max(each["cut"] for each in cut if each["session"] == row["id"]) > 0
        assert row["window"] == 6_000


def test_each_cut_has_a_receipt_that_can_be_opened_and_a_held_cut_has_none(served):
    row = max(served.get("gateway")[1]["sessions"], key=lambda each: each["cuts"])
    found = served.get("receipts", text=row["id"])[1]["receipts"]
    whole = [each for each in found if each["whole"]]
    assert len(found) > len(whole) == row["cuts"] > 1
    opened = served.get("receipt", receipt=whole[0]["id"])[1]
    assert not opened["replayable"]
    states = {part["state"] for part in opened["parts"]}
    assert {"whole", "cut"} <= states
    assert all(part["reason"] for part in opened["parts"] if part["state"] == "dropped")
    held = next(each for each in found if not each["whole"])
    assert served.get("receipt", receipt=held["id"])[1]["parts"] == []
