"""The file of a SQLite store as whoever has it can read it: its bytes, and what its compressed bodies hold."""

import sqlite3
import zlib


def readable(path):
    """Return the bytes of a store's file and of its journal, and the content of every compressed body in it."""
    said = [each.read_bytes() for each in sorted(path.parent.glob(f"{path.name}*"))]
    connection = sqlite3.connect(path)
    for table, column in (("sessions", "meta"), ("entries", "body"), ("documents", "body")):
        rows = connection.execute(f"SELECT {column} FROM brim_{table} WHERE typeof({column}) = 'blob'")
        said += [zlib.decompress(body) for (body,) in rows if not body.startswith(b"{")]
    connection.close()
    return b"\n".join(said)
