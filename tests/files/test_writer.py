"""Files are written whole or not at all."""

import os
import stat

import pytest

from brim.files import writer as sink


def test_a_file_is_replaced_and_keeps_its_rights(tmp_path):
    path = tmp_path / "brim.yaml"
    path.write_bytes(b"old")
    path.chmod(0o640)
    sink.put(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["brim.yaml"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, step):
    path = tmp_path / "brim.yaml"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        sink.put(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["brim.yaml"]


def test_a_leftover_of_a_killed_writer_is_not_in_the_way(tmp_path):
    (tmp_path / f".brim.yaml.{os.getpid()}.tmp").write_bytes(b"half")
    sink.put(str(tmp_path / "brim.yaml"), b"new")
    assert (tmp_path / "brim.yaml").read_bytes() == b"new"


def test_a_folder_is_not_written_over(tmp_path):
    with pytest.raises(IsADirectoryError):
        sink.put(str(tmp_path), b"new")


def test_a_name_as_long_as_can_be_is_written(tmp_path):
    path = tmp_path / ("n" * 255)
    sink.put(str(path), b"new")
    assert path.read_bytes() == b"new"
