"""A change previewed on recorded sessions, before it is made."""

import brim

PLACE = {"flow": "build"}


def tried(served, value, key="context_budget_chars", **place):
    plan = served.post("plan", key=key, value=value, **(place or PLACE))[1]
    return served.post("preview", plan=plan["id"], **(place or PLACE))


def test_a_smaller_budget_keeps_less_of_what_was_recorded_and_the_numbers_are_those_of_a_fit(served):
    status, told = tried(served, "11000")
    assert status == 200
    row = next(row for row in told["rows"] if row["id"] == "orders-incident")
    assert row["before"]["budget"] == 12_000
    assert row["after"]["budget"] == 11_000
    assert 8_000 < row["after"]["used"] <= 11_000
    store = served.studio.workspace("demo").store()
    said = [
        entry.body.get("sent", entry.body["message"]) for entry in store.entries("orders-incident", kinds=["message"])
    ]
    config = brim.load_config(served.studio.workspace("demo").config)
    fitted = config.resolve(flow="build").fit_messages(said)
    assert row["before"]["used"] == fitted.used
    assert row["of"] == len(said)
    assert told["after"]["used"] == sum(row["after"]["used"] for row in told["rows"])


def test_what_would_not_fit_any_more_is_counted_as_an_overflow(alone):
    folder = alone.folder
    (folder / "brim.yaml").write_text("model: gpt-5\nwindow:\n  size: 20000\n")
    store = brim.open_store(f"sqlite:///{folder}/brim.db")
    session = brim.Session(window=20_000, model="gpt-5", store=store, id="s", capture=True)
    session.add({"role": "user", "content": "go"})
    session.prompt(system="word " * 500)
    plan = alone.post("plan", workspace="mine", key="window.size", value="300")[1]
    status, told = alone.post("preview", workspace="mine", plan=plan["id"])
    assert status == 200
    assert (told["before"]["overflows"], told["after"]["overflows"]) == (0, 1)
    assert told["before"]["cost_usd"] > 0
    assert told["after"]["cost_usd"] is None
    assert "the budget is 263" in told["rows"][0]["after"]["problem"], "an eighth of 300 is left for the answer"
    assert (folder / "brim.yaml").read_text() == "model: gpt-5\nwindow:\n  size: 20000\n"


def test_an_unknown_plan_is_an_error(served):
    assert served.post("preview", plan="nothing")[0] == 404
