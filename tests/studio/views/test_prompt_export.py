"""The file to share has no secret and no markup of a stranger, and says before what is masked."""

import json
from html.parser import HTMLParser

from brim.studio.views.prompt_export import prompt_export
from brim.studio.workspace import Workspace

SECRETS = ("sk-ant-" + "a1B2c3D4" * 5, "ghp_" + "a1B2c3D4e5" * 4, "AKIA" + "ABCDEFGH12345678")
EVIL = '</pre></details><script>window.hit=1</script><img src=x onerror="window.hit=1">'


class Tags(HTMLParser):
    """Collects the tags of a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name for name, _ in attrs}))


def test_secrets_are_masked_and_listed_and_markup_stays_text(tmp_path):
    body = {
        "model": f"gpt-4o {EVIL}",
        "messages": [
            {"role": "system", "content": f"the key is {SECRETS[0]}"},
            {"role": "user", "content": f"{SECRETS[1]} {EVIL}"},
            {"role": "assistant", "content": EVIL},
            {"role": "user", "content": f"token: {SECRETS[2]}"},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "description": f"{EVIL} {SECRETS[0]}"}}],
    }
    (tmp_path / "request.json").write_text(json.dumps(body))
    workspace = Workspace(name="mine", url=f"sqlite:///{tmp_path}/brim.db", config=str(tmp_path), runs=str(tmp_path))
    session = workspace.files.open(str(tmp_path / "request.json"), wait=60).sessions[0]
    told = prompt_export(workspace, session, "1", None)
    workspace.close()
    for secret in SECRETS:
        assert secret not in json.dumps(told)
    assert {each["part"] for each in told["masked"]} == {"system", "user", "tools"}
    assert told["count"] == len(told["masked"]) == 4
    tags = Tags()
    tags.feed(told["html"])
    assert not {tag for tag, _ in tags.found} & {"script", "img", "iframe", "link", "object"}
    assert all(not name.startswith("on") and name not in ("src", "href") for _, names in tags.found for name in names)
    assert told["html"].count("window.hit=1") >= 6
    assert "default-src 'none'" in told["html"]
    assert told["name"] == "request.json-1-step-1.html"
