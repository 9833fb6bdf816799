"""Real servers for tests, each on a free port and with its files in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_USER = "postgres"


def free_port(count: int = 1) -> int:
    """Return a port of this machine that nobody listens on, nor on those that follow it, `count` in all."""
    while True:
        with ExitStack() as stack, suppress(OSError):
            sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
            sockets[0].bind(("127.0.0.1", 0))
            first = int(sockets[0].getsockname()[1])
            for i, each in enumerate(sockets[1:], start=1):
                each.bind(("127.0.0.1", first + i))
            return first


def postgres_programs() -> Path | None:
    """Return the folder of the newest PostgreSQL server on this machine."""
    found = shutil.which("initdb")
    if found:
        return Path(os.path.realpath(found)).parent
    folders = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in folders), key=lambda path: float(path.parent.name), default=None)


@contextmanager
def postgres(*options: str) -> Iterator[str]:
    """Run a PostgreSQL server, and yield the address of its database.

    It refuses to run as root, so root lends it to the user postgres. What is written is not synced: it is gone after.
    """
    programs = postgres_programs()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed: initdb is nowhere to be found")
    lent = {"user": _USER, "group": _USER} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="brim-postgres-"))
    port = free_port()
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off {' '.join(options)}"
    try:
        if lent:
            shutil.chown(folder, _USER, _USER)
        files = folder / "files"
        run = [programs / "initdb", "--username", _USER, "--auth", "trust", "--encoding", "UTF8", "--no-sync", files]
        subprocess.run(run, check=True, cwd=folder, capture_output=True, **lent)
        control = [programs / "pg_ctl", "--pgdata", files]
        start = [*control, "start", "--wait", "--log", folder / "log", "--options", settings]
        subprocess.run(start, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **lent)
        try:
            yield f"postgresql://{_USER}@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run(
                [*control, "stop", "--mode", "immediate"], cwd=folder, check=False, capture_output=True, **lent
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
