"""Facts about the whole repository."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import brim
from checkout import ROOT, script

_AT_IMPORT = """
import sys
seen = []
def hook(event, args):
    writes = event == "open" and isinstance(args[1], str) and any(flag in args[1] for flag in "wax+")
    if writes or event.startswith(("socket.", "subprocess.", "os.system")):
        seen.append((event, str(args[0])))
sys.dont_write_bytecode = True
sys.addaudithook(hook)
import brim
heavy = {"toktok", "tiktoken", "splintr", "tokenizers", "yaml", "typer", "rich", "pydantic", "regex", "numpy"}
print(seen, sorted(heavy & set(sys.modules)))
"""


def tracked():
    """Return the files that are, or are about to be, committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.fail("the facts are about a git checkout")
    return [ROOT / name for name in told.stdout.split("\n") if name and (ROOT / name).is_file()]


def test_the_public_names_are_listed_by_hand_and_sorted():
    assert brim.__all__ == sorted(brim.__all__)
    assert [name for name in brim.__all__ if not hasattr(brim, name)] == []
    public = {name for name in vars(brim) if not name.startswith("_")}
    modules = {name for name in public if type(getattr(brim, name)).__name__ == "module"}
    assert public - modules - set(brim.__all__) == {"annotations"}


def test_completion_shows_the_public_names_and_nothing_else():
    assert dir(brim) == brim.__all__


def test_importing_brim_touches_neither_network_nor_disk_and_loads_nothing_heavy():
    told = subprocess.run([sys.executable, "-c", _AT_IMPORT], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[] []"


_AT_WORK = """
import sys
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith(("socket.", "subprocess.", "os.exec")) else None)
import brim
for model in ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro", "qwen3", "chars/4"):
    meter = brim.meter(model)
    meter.count("Some words. " * 900)
    brim.fit([brim.Section("a", "Some words. " * 900)], 200, meter=meter)
    brim.fit_messages([{"role": "user", "content": "Some words. " * 900}, {"role": "user", "content": "b"}], 300, meter=meter)
for keep in ("shape", "code", "json", "markdown"):
    brim.cut("func f() {\\n\\treturn 1\\n}\\n" * 90, 200, "chars", keep=keep)
print(seen)
"""


def test_counting_and_fitting_use_no_network_and_start_no_process():
    told = subprocess.run([sys.executable, "-c", _AT_WORK], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"errors.py": "def f():\n    from brim.sections.fit import fit\n"},
            "errors -> sections.fit does not lead down",
        ),
        (
            {"meter/a.py": "import brim.meter.b\n", "meter/b.py": "from brim.meter import a\n"},
            "circle: meter.a <-> meter.b",
        ),
        ({"wire/a.py": "from brim.files import b\n"}, "wire.a -> files.b does not lead down"),
        ({"attic.py": "import brim.errors\n"}, "attic -> errors: attic is on no floor"),
        (
            {"wire/a.py": "class Plan: ...\n", "files/b.py": "class Plan: ...\n"},
            "class Plan is defined by files.b, wire.a",
        ),
        ({"wire/a.py": "x = 1\n" * 1_001}, "wire/a.py: 1001 lines"),
        ({"wire/a.py": "def f():\n" + "    x = 1\n" * 60}, "wire.a.f: 61 lines"),
        ({f"room{i}/__init__.py": "" for i in range(30)}, "rooms, at most 28"),
    ],
    ids=["up", "circle", "sideways", "no floor", "namesakes", "module", "function", "rooms"],
)
def test_what_breaks_the_layout_is_named(files, told, tmp_path):
    for name in ("errors", "sections/fit", "files/b"):
        files.setdefault(f"{name}.py", "")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [line for line in script("floors").faults(tmp_path) if told in line]


def test_every_requirement_of_the_five_documents_is_named_by_a_test():
    last = {"S0": 24, "S1": 23, "S2": 36, "S3": 15, "S4": 16, "X": 9}
    named = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for marks in re.findall(r"pytest\.mark\.requirement\(([^)]*)\)", path.read_text(encoding="utf-8")):
            named.update(re.findall(r'"([SX][\d.]+)"', marks))
    wanted = {f"{name}{'' if name == 'X' else '.'}{n}" for name, most in last.items() for n in range(1, most + 1)}
    assert wanted - named == set()


def test_no_committed_file_names_a_registry_or_a_path_of_a_machine():
    hosts = re.compile(
        r"(pypi|pythonhosted|npmjs|debian)\.(org|com)" + r"|/(root|home)/\w" + r"|/tmp/\w+/", re.IGNORECASE
    )
    found = []
    for path in tracked():
        if path.suffix in (".png", ".webp", ".gz") or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if hosts.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


def _pages():
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.parent.name == "integrations":  # tests/integrations/test_pages.py runs them
            continue
        blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        if blocks:
            yield pytest.param(blocks, id=str(path.relative_to(ROOT)))


@pytest.mark.slow
@pytest.mark.parametrize("blocks", list(_pages()))
def test_examples_in_the_docs_run_one_after_the_other(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for i, block in enumerate(blocks):
        exec(compile(block, f"example {i}", "exec"), names)
