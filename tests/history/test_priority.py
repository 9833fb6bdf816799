from dataclasses import replace

import pytest

from brim.errors import InvalidValue
from brim.history.priority import DEFAULT, NAMES, StepClass, distribution
from brim.receipts.section import Priority

TABLE = DEFAULT.amended(agents={"CRITICAL": ["code-critic"], "LOW": ["doc-writer", "flow-historian"]})
JOINS = [
    str,
    str.upper,
    lambda name: name.replace("-", "_"),
    lambda name: name.replace("-", "."),
    lambda name: name.replace("-", " "),
    lambda name: name.title().replace("-", ""),
]


@pytest.mark.requirement("S2.27")
def test_a_higher_class_is_kept_longer_contrary_to_the_priority_of_a_section():
    assert [kind.value for kind in (StepClass.LOW, StepClass.MEDIUM, StepClass.HIGH, StepClass.CRITICAL)] == [
        0,
        1,
        2,
        3,
    ]
    assert NAMES == ("CRITICAL", "HIGH", "MEDIUM", "LOW")
    assert StepClass.HIGH > StepClass.LOW
    assert Priority.HIGH < Priority.LOW


@pytest.mark.requirement("S2.27")
@pytest.mark.parametrize(("agent", "kind"), [("code-critic", StepClass.CRITICAL), ("flow-historian", StepClass.LOW)])
def test_a_listed_agent_has_its_class_however_it_is_written_and_whatever_its_step_is_called(agent, kind):
    for join in JOINS:
        assert TABLE.of(join(agent)) is kind
        assert TABLE.of(join(agent), "critic", "a decision") is kind
        assert DEFAULT.of(join(agent)) is StepClass.MEDIUM


@pytest.mark.requirement("S2.30")
@pytest.mark.parametrize(
    ("step", "output", "expected"),
    [
        ("design-critic", None, "CRITICAL"),
        ("merge_decider", None, "CRITICAL"),
        ("critic2", None, "CRITICAL"),
        ("CRITIC", None, "CRITICAL"),
        ("author", None, "HIGH"),
        ("ADRAuthor", None, "HIGH"),
        ("author-critic", None, "CRITICAL"),
        ("critic-author", None, "CRITICAL"),
        # The words of the step are asked before those of the output.
        ("author", "a summary", "HIGH"),
        ("plan", "The decision: merge.", "HIGH"),
        ("plan", "## Summary\n", "LOW"),
        (None, "the history of the run", "LOW"),
        (None, "see src/history/turns.py and docs/history, or my_history", "MEDIUM"),
        ("plan", "summary of the decision", "HIGH"),
        ("plan", "x " * 996 + "decision", "HIGH"),
        ("plan", "x " * 1_000 + "decision", "MEDIUM"),
        ("plan", None, "MEDIUM"),
        (None, None, "MEDIUM"),
    ],
)
def test_of_an_agent_that_is_not_listed_the_step_decides_then_the_output(step, output, expected):
    for agent in ("nobody", "critic", "", None):
        assert DEFAULT.of(agent, step, output) is StepClass[expected]


@pytest.mark.requirement("S2.30")
@pytest.mark.parametrize(
    "name",
    [
        "latest_notes",
        "critical_path_notes",
        "quadrant",
        "hypercritic",
        "authority",
        "coauthored",
        "reimplement",
        "summarys",
        "cri-tic",
        "decIder",
    ],
)
def test_a_word_inside_a_word_is_no_word(name):
    """The document's own sketch took 'latest_notes' for a test, 'critical_path_notes' for a critic, 'quadrant' for an ADR."""
    assert DEFAULT.of(None, name) is StepClass.MEDIUM
    assert DEFAULT.of(None, None, name) is StepClass.MEDIUM
    assert DEFAULT.of(name) is StepClass.MEDIUM


def test_single_entries_are_amended_and_moved():
    table = TABLE.amended(
        agents={"HIGH": ["Doc_Writer", "release-captain"]}, steps={"LOW": ["lint"]}, outputs={"CRITICAL": ["summary"]}
    )
    assert table.of("doc-writer") is StepClass.HIGH
    assert table.of("releaseCaptain") is StepClass.HIGH
    assert table.of("flow-historian") is StepClass.LOW
    assert table.of(None, "lint") is StepClass.LOW
    assert table.of(None, "critic-lint") is StepClass.CRITICAL
    assert table.of(None, None, "a summary") is StepClass.CRITICAL
    assert table.of(None, None, "the history") is StepClass.LOW
    assert TABLE.of("doc-writer") is StepClass.LOW
    assert TABLE.amended() == TABLE
    assert table.amended(agents={"LOW": ["doc-writer"]}).of("doc-writer") is StepClass.LOW


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"agents": {"HIGH": ["a-b"], "LOW": ["A_B"]}},
            r"agents\.LOW must be in one class only; it is HIGH already, not 'A_B'",
        ),
        (
            {"agents": {"HIHG": ["a"]}},
            r"agents: a key must be one of CRITICAL, HIGH, MEDIUM, LOW, not 'HIHG'; did you mean 'HIGH'\?",
        ),
        ({"agents": ["a"]}, r"agents must be names by class"),
        ({"agents": {"HIGH": "a"}}, r"agents\.HIGH must be a list of strings, not 'a'"),
        ({"agents": {"HIGH": [1]}}, r"agents\.HIGH must be a string, not 1"),
        ({"agents": {"HIGH": ["--"]}}, r"agents\.HIGH must be a name with a letter, not '--'"),
        ({"steps": {"HIGH": ["two words"]}}, r"steps\.HIGH must be a single word, not 'two words'"),
        ({"otherwise": 1}, "otherwise must be a StepClass, not 1"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(change, problem):
    with pytest.raises(InvalidValue, match=problem):
        replace(DEFAULT, **change)


@pytest.mark.requirement("S2.31")
def test_the_distribution_names_every_class_the_most_valuable_first():
    kinds = [
        StepClass.HIGH,
        StepClass.CRITICAL,
        StepClass.MEDIUM,
        StepClass.CRITICAL,
        StepClass.HIGH,
        StepClass.CRITICAL,
        StepClass.MEDIUM,
    ]
    assert list(distribution(kinds).items()) == [("CRITICAL", 3), ("HIGH", 2), ("MEDIUM", 2), ("LOW", 0)]
    assert distribution(iter([])) == dict.fromkeys(NAMES, 0)
    assert distribution([0, 3]) == {"CRITICAL": 1, "HIGH": 0, "MEDIUM": 0, "LOW": 1}
