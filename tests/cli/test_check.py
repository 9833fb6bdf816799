import json

import pytest


@pytest.fixture
def prompts(here):
    (here / "a.md").write_text("x" * 10)
    (here / "b.md").write_text("x" * 1030)
    (here / "checks.yaml").write_text("checks:\n  - {files: '*.md', budget: 2000, meter: chars}\n")
    return here


@pytest.mark.usefixtures("prompts")
def test_a_file_that_is_over_ends_with_1(brim):
    told = brim("check", "*.md", "--budget", "1000", "--meter", "chars")
    assert told.code == 1
    assert told.out == (
        "       count   budget   left   file\n"
        "───────────────────────────────────\n"
        "ok        10    1,000    990   a.md\n"
        "OVER   1,030    1,000    -30   b.md\n"
        "\n2 files, 1 over budget (chars, exact)\n"
    )


@pytest.mark.usefixtures("prompts")
def test_a_file_of_checks_is_followed(brim):
    told = brim("check", "--config", "checks.yaml")
    assert told.code == 0
    assert "2 files, all within budget (chars, exact)" in told.out


@pytest.mark.usefixtures("spec")
def test_a_file_of_sections_is_fitted_first(brim):
    told = brim("check", "spec.yaml")
    assert told.code == 0
    assert "spec.yaml   1 section shortened or dropped" in told.out
    assert brim("check", "spec.yaml", "--budget", "3").code == 1


@pytest.mark.usefixtures("prompts")
def test_json_says_what_the_table_says(brim):
    told = brim("check", "b.md", "--budget", "1000", "--meter", "chars", "--json")
    assert told.code == 1
    values = json.loads(told.out)
    assert values["ok"] is False
    assert values["files"][0]["left"] == -30


def test_standard_input_can_be_checked(brim):
    assert brim("check", "-", "--budget", "2", stdin=b"hello world").code == 0
    assert brim("check", "-", "--budget", "1", stdin=b"hello world").code == 1
