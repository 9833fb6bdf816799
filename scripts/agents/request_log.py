"""The log of a run: a row for each request, and its body beside it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class RequestLog:
    """Writes rows to `NAME.jsonl` of a folder as they come, and bodies to `NAME/0001.json` and so on."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file, self._bodies = folder / f"{name}.jsonl", folder / name
        self._bodies.mkdir(parents=True, exist_ok=True)
        self._file.write_text("")
        self._lock = threading.Lock()
        self.rows: list[Row] = []

    def write(self, row: Row, body: Any = None) -> Row:
        """Add a row; it is numbered, and returned."""
        with self._lock:
            row = {"n": len(self.rows) + 1, "time": round(time.time(), 3), **row}
            self.rows.append(row)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            if body is not None:
                self._path(row).write_text(json.dumps(body, ensure_ascii=False), encoding="utf-8")
        return row

    def body(self, row: Row) -> Any:
        """Return the body of a row; `None` if it has none."""
        path = self._path(row)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def _path(self, row: Row) -> Path:
        return self._bodies / f"{row['n']:04d}.json"
