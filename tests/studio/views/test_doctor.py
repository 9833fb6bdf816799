"""A change that the doctor proposes is made and undone."""


def test_a_proposed_change_is_made_by_one_click_undone_and_nothing_else_is_made(alone):
    (alone.folder / "brim.yaml").write_text("budgets:\n  context_budget_chars: 99\n  # mine\n")
    before = (alone.folder / "brim.yaml").read_text()
    told = alone.get("doctor", "mine")[1]
    finding = next(each for each in told["findings"] if "context_budget_chars of 99" in each["seen"])
    status, made = alone.post("fix", "mine", line=finding["fixes"][0])
    assert status == 200
    after = (alone.folder / "brim.yaml").read_text()
    assert after != before
    assert "# mine" in after
    assert "-  context_budget_chars: 99\n" in made["diff"]
    now = alone.get("doctor", "mine")[1]
    assert finding["fixes"][0] not in [line for each in now["findings"] for line in each["commands"]]
    assert now["saved"] == 1
    assert alone.post("undo", "mine")[0] == 200
    assert (alone.folder / "brim.yaml").read_text() == before
    for line in ("brim config set context_budget_chars 77777", "rm -rf /", f"{finding['fixes'][0]} --file /tmp/x"):
        assert alone.post("fix", "mine", line=line)[0] == 404
    assert (alone.folder / "brim.yaml").read_text() == before
