"""The context view agrees with the session."""

import brim

SESSION = "orders-incident"


def test_the_rows_of_a_context_add_up_to_what_the_session_uses(served):
    status, told = served.get("context", session=SESSION)
    assert status == 200
    assert sum(row["units"] for row in told["rows"]) == told["status"]["used"]
    opened = brim.Session.open(SESSION, store=served.studio.workspace("demo").store())
    assert told["status"]["used"] == opened.status().used
    assert [piece["text"] for piece in told["pieces"] if piece["role"] == "user"][-1].startswith("Write the summary")
    assert {piece["category"] for piece in told["pieces"]} >= {"user", "assistant", "tool results", "summary"}
