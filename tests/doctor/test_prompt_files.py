import pytest

from brim import SourceError
from brim.doctor.prompt_files import BudgetRule, check_files, read_rules


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
    judged = check_files([BudgetRule(files=("prompts",), budget=15, meter="chars")])
    assert [(each.path, each.count, each.left, each.ok) for each in judged.verdicts] == [
        ("prompts/a.md", 10, 5, True),
        ("prompts/b.md", 30, -15, False),
        ("prompts/d.yaml", 11, 4, True),
    ]
    assert [each.path for each in judged.over] == ["prompts/b.md"]
    assert judged.skipped == ("prompts/c.png",)


@pytest.mark.usefixtures("prompts")
def test_a_file_of_sections_has_its_own_budget_and_may_not_fit():
    assert check_files([BudgetRule(files=("prompts/d.yaml",))]).verdicts[0].budget == 20
    with open("prompts/d.yaml", "a") as file:
        file.write("policy: stop\n")
    verdict = check_files([BudgetRule(files=("prompts/d.yaml",), budget=5)]).verdicts[0]
    assert (verdict.ok, verdict.losses) == (True, 1)
    with open("prompts/d.yaml", "w") as file:
        file.write("meter: chars\nbudget: 5\nsections: [{name: a, content: 0123456789a, priority: required}]\n")
    verdict = check_files([BudgetRule(files=("prompts/d.yaml",))]).verdicts[0]
    assert (verdict.count, verdict.budget, verdict.ok, verdict.unit) == (11, 5, False, "chars")


@pytest.mark.usefixtures("prompts")
def test_a_plain_prompt_needs_a_budget():
    with pytest.raises(SourceError, match=r"prompts/a\.md: there is no budget"):
        check_files([BudgetRule(files=("prompts/a.md",))])


@pytest.mark.usefixtures("prompts")
def test_nothing_to_judge_is_refused():
    with pytest.raises(SourceError, match="no prompt file to check"):
        check_files([BudgetRule(files=("prompts/*.png",), budget=5)])


def test_a_file_of_checks_starts_from_where_it_lies(prompts, tmp_path_factory, monkeypatch):
    path = prompts / "checks.yaml"
    path.write_text("checks:\n  - {files: 'prompts/*.md', budget: 20, meter: chars}\n  - {files: [prompts/d.yaml]}\n")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    judged = check_files(read_rules(str(path)))
    assert [each.ok for each in judged.verdicts] == [True, False, True]


REFUSED = {
    "no checks": ("a: 1\n", 1, "did you mean"),
    "an empty list": ("checks: []\n", 1, "checks must be a list of checks, not []"),
    "an unknown key": ("checks:\n  - {file: a.md}\n", 2, "checks[0] has no key 'file'; did you mean 'files'?"),
    "no files": ("checks:\n  - {budget: 3}\n", 2, "checks[0].files must be a pattern or a list of them, not None"),
    "files that are numbers": ("checks:\n  - {files: [3]}\n", 2, "not [3]"),
    "a pattern without a match": ("checks:\n  - budget: 3\n    files: '*.zip'\n", 3, "no file matches this pattern"),
    "a budget below 0": ("checks:\n  - files: '*.md'\n    budget: -1\n", 3, "checks[0].budget must be"),
    "an unknown model": ("checks:\n  - files: '*.md'\n    model: gpt-55\n", 3, "'gpt-55'"),
    "a model that is a number": (
        "checks:\n  - files: '*.md'\n    model: 5\n",
        3,
        "checks[0].model must be a string, not 5",
    ),
}


@pytest.mark.parametrize(("text", "line", "told"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_check_is_refused_with_its_line(tmp_path, text, line, told):
    path = tmp_path / "checks.yaml"
    path.write_text(text)
    (tmp_path / "a.md").write_text("a")
    with pytest.raises(SourceError) as caught:
        read_rules(str(path))
    assert caught.value.line == line
    if told != "did you mean":
        assert told in str(caught.value)
