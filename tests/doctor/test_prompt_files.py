import pytest

from brim.doctor.prompt_files import check_files


@pytest.fixture
def prompts(tmp_path, monkeypatch):
    (tmp_path / "prompts").mkdir()
    for name, text in {"a.md": "x" * 10, "b.md": "x" * 30, "c.png": "\0"}.items():
        (tmp_path / "prompts" / name).write_text(text)
    (tmp_path / "prompts" / "d.yaml").write_text(
        "meter: chars\nbudget: 20\nsections: [{name: a, content: 0123456789a}]\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("prompts")
def test_each_file_is_held_against_its_budget():
    verdicts, skipped = check_files(("prompts",), budget=15, meter="chars")
    assert [(each.path, each.count, each.left, each.ok) for each in verdicts] == [
        ("prompts/a.md", 10, 5, True),
        ("prompts/b.md", 30, -15, False),
        ("prompts/d.yaml", 11, 4, True),
    ]
    assert [each.path for each in verdicts if not each.ok] == ["prompts/b.md"]
    assert skipped == ["prompts/c.png"]


@pytest.mark.usefixtures("prompts")
def test_a_file_of_sections_has_its_own_budget_and_may_not_fit():
    assert check_files(("prompts/d.yaml",))[0][0].budget == 20
    with open("prompts/d.yaml", "a") as file:
        file.write("policy: stop\n")
    verdict = check_files(("prompts/d.yaml",), budget=5)[0][0]
    assert (verdict.ok, verdict.losses) == (True, 1)
    with open("prompts/d.yaml", "w") as file:
        file.write("meter: chars\nbudget: 5\nsections: [{name: a, content: 0123456789a, priority: required}]\n")
    verdict = check_files(("prompts/d.yaml",))[0][0]
    assert (verdict.count, verdict.budget, verdict.ok, verdict.unit) == (11, 5, False, "chars")
    verdict = check_files(("prompts/d.yaml",), budget=3, model="gpt-5")[0][0]
    assert (verdict.count > 3, verdict.ok, verdict.unit, verdict.meter) == (True, False, "tokens", "o200k_base")


@pytest.mark.usefixtures("prompts")
def test_a_plain_prompt_needs_a_budget():
    (verdict,), _ = check_files(("prompts/a.md",))
    assert verdict.problem.startswith("prompts/a.md: there is no budget")
    assert (verdict.count, verdict.left, verdict.ok) == (None, None, False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('[{"role": "user", "content": "hi"}]', "request"),
        ('[{"name": "a"}, {"name": "b"}]', "text"),
        ('["role", "user"]', "text"),
        ('{"type": "object", "properties": {}}', "text"),
    ],
)
def test_json_is_a_request_if_it_holds_messages(prompts, text, kind):
    (prompts / "list.json").write_text(text)
    (verdict,), _ = check_files(("list.json",), budget=50, meter="chars")
    assert verdict.kind == kind
