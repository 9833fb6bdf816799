"""The tokens of results by tool."""

import brim
from brim.studio.views.tool_use import tool_use
from brim.studio.workspace import Workspace
from talk import answer, gives, says, text, use


def test_a_document_that_a_person_sends_is_no_result_of_a_tool(tmp_path):
    url = f"sqlite:///{tmp_path}/brim.db"
    source = {"type": "text", "media_type": "text/plain", "data": "a long page " * 200}
    document = {"type": "document", "source": source}
    with brim.open_store(url) as store:
        session = brim.Session(window=20_000, meter="o200k_base", store=store, id="s", format="anthropic")
        session.add([gives(document, text("Read it.")), says(use("a")), gives(answer("a", "short"), document)])
    workspace = Workspace(name="mine", url=url, config=str(tmp_path), runs=str(tmp_path / "runs"))
    try:
        (row,) = tool_use(workspace)["tools"]
    finally:
        workspace.close()
    assert (row["tool"], row["results"], row["tokens"]) == (use("a")["name"], 1, 1)
