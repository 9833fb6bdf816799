"""The file of a SQLite store as whoever has it can read it: its bytes, and what its packed bodies hold."""

import sqlite3

from brim.store.packed import unpack


def readable(path):
    """Return the bytes of a store's file and of its journal, and the content of every body in it."""
    said = [each.read_bytes() for each in sorted(path.parent.glob(f"{path.name}*"))]
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE TABLE%'")]
    for table in tables:
        rows = connection.execute(f'SELECT * FROM "{table}"')
        names = [each[0] for each in rows.description]
        for row in rows:
            for name, value in zip(names, row, strict=True):
                if isinstance(value, bytes) and table.count("_") == 1:  # A handle is not packed, and may begin as if.
                    said.append(value if name in ("handle", "session") else unpack(table, value))
    connection.close()
    return b"\n".join(said)
