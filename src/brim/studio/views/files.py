"""The files that were opened, and the parts of one that the page sends."""

from __future__ import annotations

from typing import Any

from brim.errors import InvalidType
from brim.studio.workspace import Workspace


def files(workspace: Workspace) -> dict[str, Any]:
    """Return the files that were opened, the newest first, with how much of each is read."""
    return {"files": [each.to_dict() for each in workspace.files.files()]}


def open_file(workspace: Workspace, name: str, data: object, upload: str | None, last: object) -> dict[str, Any]:
    """Take a part of a file, and begin to read it with the last part.

    Args:
        workspace: where it is opened.
        name: the name of the file.
        data: the part in Base64.
        upload: the upload that it belongs to; `None` for the first part.
        last: whether it is the last part.

    Raises:
        InvalidType: the data is not a text.
        InvalidValue: the data is not Base64.
        SourceError: the file cannot be opened.
    """
    if not isinstance(data, str):
        raise InvalidType("data", data, "a string in Base64")
    made, file = workspace.files.upload(name, data, upload, last=bool(last))
    return {"upload": made, "file": None if file is None else file.to_dict()}
