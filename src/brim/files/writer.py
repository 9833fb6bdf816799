"""Atomic writes: readers see either the old or the new content, even after a crash."""

from __future__ import annotations

import os
from errno import EISDIR
from secrets import token_hex
from stat import S_IMODE


def put(path: str, content: bytes, mode: int = 0o666) -> None:
    """Replace the content of a file, and return when it is on disk.

    The file keeps its permissions; a new file has those of `mode`, limited by the umask.

    Raises:
        OSError: the file cannot be written; it is unchanged.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{os.path.basename(path)[:200]}.{token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(temporary, S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:  # Also remove the temporary file on an interrupt.
        os.unlink(temporary)
        raise
    opened = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
