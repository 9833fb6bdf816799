"""Atomic writes: readers see either the old or the new content, even after a crash."""

from __future__ import annotations

import os
from errno import EISDIR
from secrets import token_hex
from stat import S_IMODE


def put(path: str, content: bytes, mode: int = 0o666) -> None:
    """Replace the content of a file, and return when it is on disk; a new file has the permissions `mode`.

    Raises:
        OSError: the file cannot be written; it is unchanged.
    """
    beside = staged(path, content, mode)
    try:
        os.replace(beside, path)
    except BaseException:  # Also remove the temporary file on an interrupt.
        os.unlink(beside)
        raise
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def staged(path: str, content: bytes, mode: int = 0o666) -> str:
    """Write a temporary file in the same directory, with the permissions of `path`, and return its path.

    If there is no file at `path`, the permissions are `mode`, limited by the umask.

    Raises:
        OSError: it cannot be written; the temporary file is removed.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    beside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:200]}.{token_hex(4)}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(beside, S_IMODE(os.stat(path).st_mode))
    except BaseException:  # As above.
        os.unlink(beside)
        raise
    return beside
