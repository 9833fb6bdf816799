"""The list of faults that `make faults` seeds: each can still be seeded."""

import pytest

from checkout import ROOT, script

faults = script("faults")


def problem(fault):
    """Return why a fault cannot be seeded, or `None`."""
    try:
        source = (ROOT / "src" / "brim" / fault.file).read_text(encoding="utf-8")
        broken = fault.broken(source)
        compile(broken, fault.file, "exec")
    except (OSError, LookupError, SyntaxError) as error:
        return f"{fault.file}: {fault.name}: {error}"
    return None if broken != source else f"{fault.file}: {fault.name}: it changes nothing"


def test_every_fault_has_its_place_and_still_compiles():
    assert [each for each in map(problem, faults.FAULTS) if each] == []


def test_a_fault_that_cannot_be_seeded_is_listed():
    fault = faults.FAULTS[0]
    for broken, told in (
        (fault._replace(file="nowhere.py"), "No such file"),
        (fault._replace(old="no_such_name"), fault.name),
        (fault._replace(place="nobody"), "not there"),
        (fault._replace(new=fault.old), "it changes nothing"),
        (fault._replace(new="def ("), "invalid syntax"),
    ):
        assert told in problem(broken)


def test_a_fault_is_found_by_its_place_however_the_code_is_laid_out():
    fault = faults.Fault("more", "some.py", "One.sum", "left + right", "left", ())
    source = "class One:\n    def sum(self, left, right):\n        return (\n            left\n            + right\n        )\n"
    assert "            left\n        )" in fault.broken("left + right\n" + source)
    for twice in ("x = 1\n", source.replace("return", "left + right; return")):
        with pytest.raises(LookupError, match="more"):
            fault.broken(twice)


def test_every_fault_has_a_name_of_its_own():
    names = [(fault.file, fault.name) for fault in faults.FAULTS]
    assert len(names) == len(set(names))


def test_the_tests_that_answer_for_a_file_exist():
    paths = {path.partition("::")[0] for fault in faults.FAULTS for path in fault.tests}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
