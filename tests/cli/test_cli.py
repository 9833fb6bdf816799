"""What holds for every command: exit codes, one sentence for a mistake, JSON, pipes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Outcome

COMMANDS = ("demo", "count", "fit", "check", "replay", "models")


def brim_process(*arguments, stdin=b"", **options):
    """Run the installed command as a user does."""
    command = [str(Path(sys.executable).with_name("brim")), *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=60, **options)


@pytest.mark.slow
def test_the_package_runs_as_the_command():
    command = [sys.executable, "-m", "brim", "fit", "nothing.yaml"]
    told = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert (told.returncode, told.stderr) == (2, brim_process("fit", "nothing.yaml").stderr)


def test_help_lists_the_commands_and_the_exit_codes(brim):
    told = brim()
    assert told == brim("--help")
    assert told.code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in told.out
    assert "Exit codes: 0 success; 1 over budget, or nothing fits;" in told.out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_an_example_and_json(brim, command):
    told = brim(command, "--help")
    assert told.code == 0
    assert f"Example: brim {command}" in told.out
    assert "--json" in told.out


def test_help_loads_no_tokenizer():
    code = (
        "import sys; from brim.cli import main; main(['--help']);"
        " print(sorted({'toktok', 'tiktoken', 'tokenizers', 'splintr', 'regex', 'pydantic'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.endswith("\n[]\n")


FILES = {
    "prompt.md": b"a prompt",
    "binary.md": b"\x89PNG\0\1",
    "latin.md": b"line one\ncaf\xe9\n",
    "spec.yaml": b"budget: 9\nmeter: chars\nsections:\n  - {name: a, content: b}\n",
    "malformed.yaml": b"sections: [\n  {name: a\n",
    "twice.yaml": b"sections: []\nbudget: 1\nbudget: 2\n",
    "object.yaml": b"sections:\n  - !!python/object/apply:os.system [touch pwned]\n",
    "binary_file.yaml": b"sections:\n  - name: a\n    file: binary.md\n",
    "receipt.json": b'{"version": 1, "budget": "many"}',
    "later.json": b'{"version": 99}',
}

REFUSED = [
    ("fit", "nowhere.yaml", "nowhere.yaml: no such file or directory"),
    ("fit", ".", ".: a directory, not a file"),
    ("fit", "binary.md", "binary.md: a binary file, not text: byte 4 is NUL"),
    ("fit", "latin.md", "latin.md:2: not UTF-8 text"),
    ("fit", "malformed.yaml", "malformed.yaml:3: not YAML"),
    ("fit", "twice.yaml", "twice.yaml:3: the key 'budget' is repeated"),
    ("fit", "object.yaml", "object.yaml:2: the tag '!!python/object/apply:os.system' is not allowed"),
    ("fit", "binary_file.yaml", "binary_file.yaml:3: sections[0].file: 'binary.md': a binary file"),
    ("fit", "spec.yaml", "--budget", "1e3", "--budget must be a whole number of at least 0, not '1e3'"),
    ("fit", "spec.yaml", "--model", "gpt-55", "'gpt-55'; did you mean 'gpt-5"),
    ("fit", "spec.yaml", "--model", "gpt-5", "--meter", "chars", "model must be omitted if a meter is set"),
    ("fit", "spec.yaml", "--meter", "nowhere.json", "nowhere.json: "),
    ("fit", "spec.yaml", "--out", ".", ".: it cannot be written: is a directory"),
    ("fit", "spec.yaml", "--out", "x", "--receipt", "./x", "--out and --receipt must be different files"),
    ("fit", "spec.yaml", "--capture", "--capture needs --receipt or --json"),
    ("fit", "missing argument 'SPEC.yaml' (see brim fit --help)"),
    ("fit", "spec.yaml", "--bugdet", "5", "no such option: --bugdet"),
    ("count", "latin.md", "latin.md:2: not UTF-8 text: invalid continuation byte at byte 12"),
    ("count", "*.zip", "*.zip: no file matches this pattern"),
    ("check", "missing argument 'FILES' (see brim check --help)"),
    ("replay", "receipt.json", "receipt.json: not a receipt"),
    ("replay", "later.json", "later.json: not a receipt: receipt version must be 1"),
    ("replay", "spec.yaml", "spec.yaml: not a receipt: receipt must be JSON"),
    ("models", "nothing-like-it", "no model is called 'nothing-like-it'"),
    ("cuont", "no such command 'cuont'"),
]


@pytest.fixture
def files(here):
    for name, data in FILES.items():
        (here / name).write_bytes(data)
    return here


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: " ".join(case[:-1]))
def test_a_mistake_is_one_sentence_with_the_value_and_the_place(brim, files, case):
    *arguments, told = case
    before = {path: path.read_bytes() for path in files.iterdir()}
    outcome = brim(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("brim: ")
    assert outcome.err.count("\n") == 1
    assert told in outcome.err
    assert {path: path.read_bytes() for path in files.iterdir()} == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo",),
        ("count", "prompt.md"),
        ("fit", "spec.yaml"),
        ("check", "prompt.md", "--budget", "9"),
        ("replay", "written.json", "--budget", "5", "--budget", "1"),
        ("replay", "written.json", "--why", "a"),
        ("models", "gpt-5"),
        ("models", "gpt-*"),
    ],
    ids=" ".join,
)
def test_json_is_json(brim, files, arguments):
    assert brim("fit", "spec.yaml", "--receipt", "written.json", "--capture").code == 0
    outcome = brim(*arguments, "--json")
    assert outcome.code == 0
    assert isinstance(json.loads(outcome.out), dict)
    assert outcome.out.isascii()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("models",), ("fit", "spec.yaml", "--model", "gpt-5")], ids=" ".join)
def test_a_reader_that_went_away_ends_the_command_quietly(files, arguments):
    command = [str(Path(sys.executable).with_name("brim")), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, told) == (141, b"")


def test_ctrl_c_ends_the_command_with_130(brim, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("brim.cli.count.expand", interrupted)
    assert brim("count", "a.md") == Outcome(130, "", "")


@pytest.mark.slow
def test_a_full_disk_is_reported(files):
    if not os.path.exists("/dev/full"):
        pytest.skip("no device that is always full")
    with open("/dev/full", "wb") as full:
        command = [str(Path(sys.executable).with_name("brim")), "count", "prompt.md"]
        told = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert told.returncode == 2
    assert told.stderr == b"brim: output: no space left on device\n"


@pytest.mark.slow
def test_a_terminal_of_ascii_is_enough():
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "COLUMNS": "80"}
    told = brim_process("demo", env={**os.environ, **ascii_only})
    assert told.returncode == 0
    assert told.stdout.isascii()
    assert b"####........" in told.stdout
    assert b"\\u" not in told.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("count", "none.txt"), 2),
        (("fit", "talk.json", "--budget", "1", "--model", "gpt-4o"), 1),
        (("fit", "talk.json", "--budget", "8k"), 2),
        (("status",), 2),
        (("models", "gpt5"), 2),
        (("count", "--nothing"), 2),
    ],
    ids=["count", "too small", "budget", "status", "models", "usage"],
)
def test_an_error_with_json_is_json_too(brim, tmp_path, monkeypatch, words, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "hello"}]')
    told = brim(*words, "--json")
    error = json.loads(told.out)["error"]
    assert told.code == error["exit_code"] == code
    assert told.err == f"brim: {error['message']}\n"
    assert (error["needed"] > error["budget"] == 1) if code == 1 else "needed" not in error
