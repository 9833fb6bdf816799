"""The file to share has no secret and no markup of a stranger, and says before what is masked."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import brim
from brim.studio.prompt_rows import taken
from brim.studio.views.prompt_export import prompt_export, without_secrets
from hostile.test_canaries import FORMLESS, SHAPES, secret_of

SECRETS = ("sk-ant-" + "a1B2c3D4" * 5, "ghp_" + "a1B2c3D4e5" * 4, "AKIA" + "ABCDEFGH12345678")
EVIL = '</pre></details><script>window.hit=1</script><img src=x onerror="window.hit=1">'


class Tags(HTMLParser):
    """Collects the tags of a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name for name, _ in attrs}))


def test_secrets_are_masked_and_listed_and_markup_stays_text(workspace, tmp_path):
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
    session = workspace.files.open(str(tmp_path / "request.json"), wait=60).sessions[0]
    told = prompt_export(workspace, session, "1", None)
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


def test_keys_of_the_settings_are_masked_however_many_others_a_prompt_holds(workspace, tmp_path, monkeypatch):
    own = {"TEAM_KEY": "team house 7f31", "MODEL_KEY": "model.house.55aa", "BRIM_CURATOR_KEY": "curator-house-1c"}
    for name, key in own.items():
        monkeypatch.setenv(name, key)
    (tmp_path / "brim.yaml").write_text("gateway: {keys: [TEAM_KEY], upstream_key: MODEL_KEY}\n")
    others = " ".join(f"password: {'Zk8qW2vX9t' * 3}{i:04}" for i in range(600))
    said = [{"role": "user", "content": f"{others} and {' and '.join(own.values())}"}]
    (tmp_path / "request.json").write_text(json.dumps({"model": "gpt-4o", "messages": said}))
    session = workspace.files.open(str(tmp_path / "request.json"), wait=60).sessions[0]
    told = json.dumps(prompt_export(workspace, session, "1", None))
    assert [key for key in own.values() if key in told] == []


@pytest.mark.parametrize("most", [0.85, 1.0])
def test_no_secret_of_fifteen_shapes_is_in_the_file_wherever_a_prompt_holds_it(workspace, tmp_path, monkeypatch, most):
    """In every part: sent, shortened, left out, in tools, calls, results, names and the answer.

    One of the two cuts takes the name of a password away and leaves the password.
    """
    monkeypatch.setattr("brim.history.history_fit._REST", most)
    told = [f"password: {shape}" if shape in FORMLESS else shape for shape in SHAPES]
    secrets = " ; ".join(told)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": json.dumps({"q": secrets})}}
    lines = "\n".join(f"line {i} of the log {told[i % len(told)]}" for i in range(400))
    url = f"sqlite:///{tmp_path}/brim.db"
    with brim.open_store(url) as store:
        session = brim.Session(window=4_000, model="gpt-4o", store=store, id="s", capture=True, compact_at="never")
        session.add({"role": "user", "content": f"the task {secrets}"})
        for i in range(20):
            session.add({"role": "assistant", "content": f"answer {i} {secrets}"})
            session.add({"role": "user", "content": f"question {i} {secrets}"})
        session.add({"role": "assistant", "content": None, "tool_calls": [call]})
        session.add({"role": "tool", "tool_call_id": "c1", "content": lines})
        session.add({"role": "user", "content": "go on"})
        tool = {"name": "look", "description": secrets, "parameters": {"type": "object", "properties": {}}}
        tools = [{"type": "function", "function": tool}]
        session.prompt(system=f"Be brief. {secrets}", tools=tools, memory=[secrets], budget=3_500)
        session.record_usage(input_tokens=3_500)
        session.add({"role": "assistant", "content": f"the answer {secrets}"})
    found = prompt_export(workspace, "s", "1", None)
    whole = json.dumps(found, ensure_ascii=False)
    assert len(SHAPES) == 15
    for part in ("the task", "answer 3", "line 399", "the answer", "Be brief."):
        assert part in found["html"]
    assert "<del>" in found["html"]
    assert [shape for shape in SHAPES if secret_of(shape) in whole] == []


@pytest.mark.parametrize(
    "secret", [SHAPES[0], SHAPES[5], "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----"]
)
@given(before=st.integers(0, 3), at=st.integers(1, 40), after=st.integers(0, 3))
def test_a_secret_that_a_cut_runs_through_is_masked_as_a_whole(secret, before, at, after):
    at = min(at, len(secret) - 1)
    original = "first line\n" * before + f"the key {secret} here" + "\nlast line" * after
    sent = original[: original.index(secret) + at] + "\n[... removed ...]\nlast line"
    pieces = taken(original, sent)
    assert "".join(text for sign, text in pieces if sign != "+") == original
    whole = "".join(text for _, text in without_secrets(pieces))
    assert secret[at:] not in whole or len(secret) - at < 12
