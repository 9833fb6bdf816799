"""A change that the doctor proposes is made and undone."""


def test_a_proposed_change_is_saved_like_any_other_and_undone(alone):
    (alone.folder / "brim.yaml").write_text("budgets:\n  context_budget_chars: 99\n  # mine\n")
    before = (alone.folder / "brim.yaml").read_text()
    told = alone.get("doctor", "mine")[1]
    finding = next(each for each in told["findings"] if "context_budget_chars of 99" in each["seen"])
    (fix, *_) = finding["fixes"]
    plan = alone.post("plan", "mine", key=fix["key"], value=fix["value"])[1]
    assert "-  context_budget_chars: 99\n" in plan["diff"]
    assert alone.post("save", "mine", plan=plan["id"])[0] == 200
    after = (alone.folder / "brim.yaml").read_text()
    assert after != before
    assert "# mine" in after
    now = alone.get("doctor", "mine")[1]
    assert fix["command"] not in [line for each in now["findings"] for line in each["commands"]]
    assert alone.post("undo", "mine")[0] == 200
    assert (alone.folder / "brim.yaml").read_text() == before
