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


def test_a_table_wider_than_the_console_loses_no_character(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    made = output.table("name", "share", numbers=("share",))
    made.add_row("n" * 30, "1234567")
    output.show(output.console(), made)
    head, _, row = capsys.readouterr().out.splitlines()
    assert (head.split(), row.split()) == (["name", "share"], ["n" * 30, "1234567"])
