import os

import pytest

import brim
from brim.flows.codebase import File, file_sections, read_codebase

USERS = "class User:\n    def rename(self, name):\n        self.name = name\n"


def by_path(codebase):
    return {file.path: file for file in codebase.files}


@pytest.fixture
def root(tmp_path):
    rows = {
        "src/user.py": USERS,
        "src/order.py": "class Order:\n    total = 0\n" * 200,
        "src/deep/er/mail.py": "def send_mail(to): ...\n",
        "tests/test_user.py": "from user import User\n",
        "docs/guide.md": "# Guide\nHow to pay an order.\n",
    }
    for path, text in rows.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def shown(files, budget):
    return brim.fit(file_sections(files), budget, meter="chars")


def paths(files):
    return [file.path for file in files]


def test_what_is_no_part_of_the_codebase_is_left_out_and_what_could_be_is_told(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "passwords.txt"
    outside.write_text("hunter2")
    for path in (".git/config", "node_modules/x/index.js", "src/__pycache__/user.py", ".env", "out/big.log", "a.tmp"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("user")
    (root / ".gitignore").write_text("# built\n/out/\n*.tmp\n!keep.tmp\n")
    (root / "link.txt").symlink_to(outside)
    (root / "linked").symlink_to(outside.parent)
    (root / "logo.png").write_bytes(b"\x89PNG\0\0")
    (root / "latin.txt").write_bytes(b"caf\xe9")
    (root / "huge.txt").write_text("x" * 300_000)
    (root / "server.key").write_text("PRIVATE")
    (root / "two\nlines.txt").write_text("user")
    os.mkfifo(root / "pipe")
    found = read_codebase(str(root))
    assert len(found.files) == 5
    assert not any("hunter2" in file.text or "PRIVATE" in file.text for file in found.files)
    assert found.skipped == {
        "huge.txt": "larger than the limit of 262,144 bytes",
        "latin.txt": "not UTF-8 text: unexpected end of data at byte 3",
        "link.txt": "a symbolic link",
        "linked": "a symbolic link",
        "logo.png": "a binary file, not text: byte 4 is NUL",
        "pipe": "not a regular file",
        "server.key": "it looks like a secret",
        "two\nlines.txt": "its name is not printable",
    }


def test_ignore_files_are_read_as_git_reads_them(tmp_path):
    """`**/dumps/` and a `.gitignore` further down: database dumps were in packs."""
    for path in ("app/dumps/users.sql", "dumps/all.sql", "app/notes.txt", "app/own/a.gen", "app/own/b.py", "keep.gen"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / ".gitignore").write_text("**/dumps/\n*.gen\n!keep.gen\n" + "\n")
    (tmp_path / "app" / ".gitignore").write_text("/notes.txt\n!*.gen\n")
    found = [file.path for file in read_codebase(str(tmp_path)).files]
    assert found == ["app/own/a.gen", "app/own/b.py", "keep.gen"]


def test_all_files_together_are_bounded(root, monkeypatch):
    monkeypatch.setattr("brim.flows.codebase._MOST_TOTAL", 100)
    assert "more than 100 bytes in total" in read_codebase(str(root)).skipped.values()


def test_files_are_ranked_by_what_is_asked_about_and_others_are_not_named(root):
    found = read_codebase(str(root))
    assert paths(found.ranked("Write tests for renaming a user, see src/user.py"))[:2] == [
        "src/user.py",
        "tests/test_user.py",
    ]
    assert paths(found.ranked("How is mail sent?")) == ["src/deep/er/mail.py"]
    assert found.ranked("zebra") == []


@pytest.mark.parametrize("budget", [0, 10, 60, 200, 2_000, 4_000, 60_000])
def test_files_are_given_whole_or_by_head_or_by_path_within_the_budget(root, budget):
    files = read_codebase(str(root)).files
    prompt = shown([*files], budget)
    assert len(prompt.text) == prompt.receipt.used <= budget


def test_a_big_file_is_given_by_its_head_and_a_tight_budget_by_path(root):
    order = by_path(read_codebase(str(root)))["src/order.py"]
    head = shown([order], 4_000).text
    assert head.startswith("### src/order.py\n```\nclass Order:")
    assert "[... the rest of this file is left out ...]" in head
    assert shown([order], 200).text == "### src/order.py (by path only)"
    assert shown([order], 60_000).text == f"### src/order.py\n```\n{order.text.rstrip()}\n```"


def test_one_file_takes_at_most_half_of_the_room():
    files = [File("a.py", "a" * 900), File("b.py", "b" * 900)]
    assert [part.state for part in shown(files, 2_500).receipt.parts] == ["whole", "whole"]
    assert [part.state for part in shown(files, 1_500).receipt.parts] == ["form", "form"]


def test_a_fence_in_a_file_does_not_end_the_fence_around_it():
    file = File("a.md", "text\n````python\nx\n````\n")
    assert shown([file], 1_000).text.startswith("### a.md\n`````\n")
