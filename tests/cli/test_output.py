import io
import os

import pytest

from brim.cli import output
from brim.cli.output import write_files
from brim.errors import SourceError


@pytest.mark.usefixtures("here")
def test_a_failure_while_files_take_their_places_leaves_no_litter(monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(SourceError, match="a: it cannot be written: operation not permitted"):
        write_files({"a": "new", "b": "new"})
    assert os.listdir() == []


def test_a_device_is_written_to_in_place():
    write_files({os.devnull: "gone"})
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("json", [True, False])
def test_the_address_of_a_server_is_written_at_once_to_a_pipe(monkeypatch, json):
    pipe = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BufferedWriter(pipe)))
    output.announce("studio", "http://127.0.0.1:1", {"address": "http://127.0.0.1:1"}, json=json)
    assert b"http://127.0.0.1:1" in pipe.getvalue()


def test_a_line_of_text_is_not_broken_in_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    output.console().print("warning: " + "a word " * 9)
    assert capsys.readouterr().out == "warning: " + "a word " * 9 + "\n"


def test_a_table_wider_than_the_console_loses_no_character(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    made = output.table("name", "share", numbers=("share",))
    made.add_row("n" * 30, "1234567")
    output.show(output.console(), made)
    head, _, row = capsys.readouterr().out.splitlines()
    assert (head.split(), row.split()) == (["name", "share"], ["n" * 30, "1234567"])
