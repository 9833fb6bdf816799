"""Receipts are listed, filtered, compared and found by id alone."""

SESSION = "orders-incident"


def test_receipts_are_filtered_and_compared(served):
    told = served.get("receipts")[1]
    assert told["found"] == told["all"] == len(told["receipts"]) > 90
    lost = served.get("receipts", lost="1")[1]
    assert 0 < lost["found"] < told["found"]
    assert all(row["truncated"] for row in lost["receipts"])
    steps = served.get("receipts", kind="step", text="build")[1]["receipts"]
    assert len(steps) == 5
    one = served.get("receipt", receipt=steps[0]["id"])[1]
    assert one["values"]["flow"] == "build"
    assert one["parts"]
    prompts = [row["id"] for row in told["receipts"] if row["kind"] == "prompt" and SESSION in row["id"]]
    rows = served.get("compare", before=prompts[9], after=prompts[0])[1]["rows"]
    assert any(not row["same"] for row in rows)


def test_an_unknown_receipt_is_an_error_and_no_path_leads_out(served):
    for name in (
        "step:../../x",
        "step:build/../../brim.yaml",
        "prompt:orders-incident:999999",
        "prompt:x:1",
        "x",
        "prompt::",
    ):
        status, told = served.get("receipt", receipt=name)
        assert status == 404, name
        assert "no receipt" in told["problem"]
