"""The list of faults that `make faults` seeds: each can still be seeded, and the page lists each."""

import re

import pytest

from checkout import ROOT, script

faults = script("faults")


def problem(fault):
    """Return why a fault cannot be seeded, or `None`."""
    try:
        source = (ROOT / "src" / "brim" / fault.file).read_text(encoding="utf-8")
        broken = fault.broken(source)
        if fault.file.endswith(".py"):
            compile(broken, fault.file, "exec")
    except (OSError, LookupError, SyntaxError) as error:
        return f"{fault.file}: {fault.name}: {error}"
    return None if broken != source else f"{fault.file}: {fault.name}: it changes nothing"


def test_every_fault_has_its_text_and_still_compiles():
    assert [each for each in map(problem, faults.FAULTS) if each] == []


def test_a_fault_that_cannot_be_seeded_is_listed():
    fault = faults.FAULTS[0]
    for broken, told in (
        (fault._replace(file="nowhere.py"), "No such file"),
        (fault._replace(old="no such text"), fault.name),
        (fault._replace(new=fault.old), "it changes nothing"),
        (fault._replace(new="def ("), "invalid syntax"),
    ):
        assert told in problem(broken)


def test_a_fault_whose_text_is_gone_or_there_twice_is_an_error():
    fault = faults.FAULTS[0]
    for source in ("", fault.old * 2):
        with pytest.raises(LookupError, match=fault.name):
            fault.broken(source)


def test_every_fault_has_a_name_of_its_own():
    names = [(fault.file, fault.name) for fault in faults.FAULTS]
    assert len(names) == len(set(names))


def test_the_tests_that_answer_for_a_file_exist():
    paths = {path.partition("::")[0] for fault in faults.FAULTS for path in (*fault.tests, *faults.QUICK)}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_page_lists_every_fault():
    page = (ROOT / "docs" / "design" / "faults.md").read_text(encoding="utf-8")
    assert page.endswith("\n\n" + faults.listed()), "replace the list at its end by that of scripts/faults.py --list"


def test_every_requirement_of_the_five_documents_has_a_fault_of_its_own():
    named = {word for fault in faults.FAULTS for word in re.findall(r"S\d\.\d+", fault.name.partition(":")[0])}
    wanted = {
        f"S{seed}.{number}"
        for seed, last in ((0, 24), (1, 23), (2, 36), (3, 15), (4, 16))
        for number in range(1, last + 1)
    }
    assert wanted <= named
