"""Writes files whole or not at all: whoever reads one sees the old bytes or the new ones, also after a crash."""

from __future__ import annotations

import os
from errno import EISDIR
from secrets import token_hex
from stat import S_IMODE


def put(path: str, content: bytes) -> None:
    """Put bytes in the place of a file, and return once they are on the disk.

    Raises:
        OSError: they cannot be written; the file is as it was then.
    """
    beside = staged(path, content)
    try:
        os.replace(beside, path)
    except BaseException:  # Whatever ended it, nothing half-written stays.
        os.unlink(beside)
        raise
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def staged(path: str, content: bytes) -> str:
    """Write bytes beside the place where they belong, with the rights of what is there, and return where they are.

    Raises:
        OSError: they cannot be written; nothing of them stays then.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    beside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:200]}.{token_hex(4)}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
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
