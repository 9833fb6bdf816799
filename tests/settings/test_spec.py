import pytest

from brim import Section, SourceError, UnknownName, Window, fit
from brim.settings.keys import SETTINGS
from brim.settings.spec import read_spec
from checkout import script

HEAD = "budget: 50\nmeter: chars\nsections:\n"


def written(folder, text, name="spec.yaml"):
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_file_says_what_a_call_says(tmp_path):
    (tmp_path / "plan.txt").write_text("one two three four five six seven\n")
    (tmp_path / "m1.md").write_text("memory one")
    (tmp_path / "m2.md").write_text("memory two")
    path = written(
        tmp_path,
        HEAD
        + "  - {name: rules, content: be brief, priority: required}\n"
        + "  - {name: plan, file: plan.txt, ceiling: 40%, keep: tail, marker: '~'}\n"
        + "  - {name: memory, files: 'm*.md', joiner: ' | ', priority: low}\n"
        + "  - {name: steps, content: [a, b], enabled: false}\n",
    )
    sections = [
        Section("rules", "be brief", priority="required"),
        Section("plan", "one two three four five six seven\n", ceiling="40%", keep="tail", marker="~"),
        Section("memory", ["memory one", "memory two"], joiner=" | ", priority="low"),
        Section("steps", ["a", "b"], enabled=False),
    ]
    prompt = read_spec(path).fit()
    assert prompt.text == fit(sections, 50, meter="chars").text
    assert prompt.receipt.used <= 50


def test_what_the_caller_gives_stands_in_for_what_the_file_says(tmp_path):
    spec = read_spec(written(tmp_path, HEAD + "  - {name: a, content: some words that are to be counted}\n"))
    assert spec.fit(budget=8).receipt.budget == 8
    assert spec.fit(model="gpt-5").receipt.meter == "o200k_base"
    assert spec.fit(meter="chars/4").receipt.meter == "chars/4"
    with pytest.raises(UnknownName):
        spec.fit(model="gpt-55")


def test_a_budget_without_a_model_is_one_of_tokens(tmp_path):
    spec = read_spec(written(tmp_path, "budget: 60\nsections: [{name: a, content: be brief}]\n"))
    receipt = spec.fit().receipt
    assert (receipt.unit, receipt.meter, receipt.used) == ("tokens", "o200k_base", 2)


def test_a_budget_may_be_a_window(tmp_path):
    text = "model: gpt-5\nbudget: {}\nsections: [{{name: a, content: b}}]\n"
    spec = read_spec(written(tmp_path, text.format("{cap: 20%, reserve: 1000}")))
    assert spec.own["budget"] == Window.of("gpt-5", cap="20%", reserve=1000)
    spec = read_spec(written(tmp_path, text.format("{size: 4096, reserve: 96}")))
    assert spec.fit().receipt.budget == 4000
    spec = read_spec(written(tmp_path, "model: gpt-5\nsections: [{name: a, content: b}]\n"))
    assert spec.fit().receipt.budget == 272_000


REFUSED = {
    "an unknown key": ("bugdet: 5\nsections: []\n", 1, "the file has no key 'bugdet'; did you mean 'budget'?"),
    "an unknown key of a section": (
        HEAD + "  - name: a\n    content: b\n    flor: 3\n",
        6,
        "sections[0] has no key 'flor'; did you mean 'floor'?",
    ),
    "nothing": ("", None, "sections must be a list of sections, not None"),
    "content and file": (
        HEAD + "  - {name: a, content: b, file: c}\n",
        4,
        "sections[0] must have exactly one of content, file, files, and has content and file",
    ),
    "an entry that is a number": (
        HEAD + "  - name: a\n    content:\n      - b\n      - 12\n",
        7,
        "content[1] must be a string, not 12",
    ),
    "a file that is missing": (
        HEAD + "  - name: a\n    file: nothing.txt\n",
        5,
        "sections[0].file: 'nothing.txt': no such file or directory",
    ),
    "two of one name": (
        HEAD + "  - {name: a, content: b}\n  - content: c\n    name: a\n",
        6,
        "sections[1]: name must be different from that of sections[0], not 'a'",
    ),
    "an unknown keep": (HEAD + "  - name: a\n    content: b\n    keep: haed\n", 6, "did you mean 'head'?"),
    "a template without a place": (
        "budget: 5\nsections: [{name: a, content: b}]\ntemplate: nothing\n",
        3,
        "{a} is missing",
    ),
    "a budget below 0": ("sections: []\nbudget: -5\n", 2, "budget must be a whole number of at least 0, not -5"),
    "no budget": ("sections: []\n", 1, "budget is missing"),
    "a window of two sizes": ("sections: []\nbudget: {model: gpt-5, size: 9}\n", 2, "exactly one of model and size"),
    "a window with a bad cap": ("sections: []\nbudget:\n  size: 9\n  cap: 120%\n", 4, "not '120%'"),
    "an unknown model": ("budget: 5\nsections: []\nmodel: gpt-55\n", 3, "'gpt-55'; did you mean 'gpt-5"),
    "a model and a meter": ("budget: 5\nsections: []\nmodel: gpt-5\nmeter: chars\n", 3, "omitted if a meter is set"),
}


@pytest.mark.parametrize(("text", "line", "told"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_value_is_refused_with_its_line(tmp_path, text, line, told):
    path = written(tmp_path, text)
    with pytest.raises(SourceError) as caught:
        read_spec(path).fit()
    assert told in str(caught.value)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_the_example_of_the_reference_has_every_key_and_fits(tmp_path):
    from brim.settings import spec

    reference = script("reference")
    read = read_spec(written(tmp_path, reference.SPEC.read_text(encoding="utf-8")))
    assert read.fit().text == "Be brief.\n\nRead before you write.\nRun the tests."
    rows = {key for row in read.source.values["sections"] for key in row}
    assert set(spec._TOP) - set(read.source.values) == {"meter"}
    assert {*spec._SECTION, *spec._CONTENTS, *spec._LABELS} - rows == {"file", "files", "ids", "scores"}


def test_a_section_of_the_settings_takes_what_a_section_takes():
    own = {"name", "content", "forms", "ids", "scores"}
    named = {key.rpartition(".")[2] for key in SETTINGS if key.startswith("sections.*.")}
    assert named == set(Section.__dataclass_fields__) - own
