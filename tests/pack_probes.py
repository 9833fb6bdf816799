"""What each key of the curator does to a pack: a probe is given `project` and asserts it."""

import time

from brim.flows.curator import Curator
from brim.testing import Scripted

STEP = {"id": "9", "agent": "fixer", "teaching_notes": {"inputs": ["the notes on boats"]}}
HISTORY = [{"step_id": str(i), "agent": "fixer", "output": f"out {i}", "artifacts": [f"{i}.md"]} for i in range(30)]
CHOICE = '{"files": [], "summary": "All went well."}'


def _pack(project, text, **given):
    return Curator(project(text), **given).prepare(STEP, HISTORY)


def _timeout(project):
    def slow(_):
        time.sleep(0.15)
        return CHOICE

    packs = [_pack(project, f"budgets: {{timeout_seconds: {s}}}\n", model=Scripted(slow)) for s in (0.02, 5)]
    assert [pack.reason for pack in packs] == [
        "the curator failed: it took longer than 0.02 seconds",
        "the curator chose",
    ]


def _enabled(project):
    packs = [_pack(project, f"curator: {{enabled: {e}}}\n", model=Scripted([CHOICE])) for e in ("true", "false")]
    assert ["All went well." in pack.text for pack in packs] == [True, False]


def _model(project):
    reasons = [_pack(project, text).reason for text in ("curator: {}\n", "curator: {model: tiny}\n")]
    assert reasons[0].startswith("curator.model is not set")
    assert reasons[1].startswith("curator.model is set without curator.url")


def _url(project):
    pack = _pack(project, "curator: {model: tiny, url: 'http://127.0.0.1:9/v1'}\n")
    assert pack.reason.startswith("the curator failed: http://127.0.0.1:9/v1/chat/completions cannot be reached")


def _files(project):
    folder = project.root / "code"
    folder.mkdir()
    (folder / "boats.md").write_text("boats\n" * 100)
    sizes = [
        len(_pack(project, f"curator: {{files_budget_chars: {n}}}\n", root=folder).section("files"))
        for n in (0, 100, 5_000)
    ]
    assert sizes[0] == 0 < sizes[1] <= 100 < sizes[2] <= 5_000


def _artifacts(project):
    shown = [_pack(project, f"curator: {{artifacts: {e}}}\n").section("artifacts") for e in ("true", "false")]
    assert "- 7.md (step 7)" in shown[0]
    assert shown[1] == ""


def _trail(project):
    sizes = [
        len(_pack(project, f"curator: {{scent_trail_chars: {n}}}\n").section("scent_trail")) for n in (0, 200, 2_000)
    ]
    assert sizes[0] == 0 < sizes[1] <= 200 < sizes[2] <= 2_000


def _pin(project):
    history = [{"step_id": "a", "agent": "code-critic", "output": "x" * 8_000}, {"step_id": "b", "output": "y" * 8_000}]
    history.append({"step_id": "c", "agent": "doc-writer", "output": "z" * 8_000})
    text = "budgets: {{context_budget_chars: 10000}}\nhistory: {{selection: priority, agents: flow, pin_most_recent: {}}}\n"
    packs = [Curator(project(text.format(pinned))).prepare(STEP, history) for pinned in ("true", "false")]
    assert ["zzz" in pack.text for pack in packs] == [True, False]
    assert ["xxx" in pack.text for pack in packs] == [False, True]


PACK_PROBES = {
    "history.pin_most_recent": _pin,
    "budgets.timeout_seconds": _timeout,
    "curator.enabled": _enabled,
    "curator.model": _model,
    "curator.url": _url,
    "curator.files_budget_chars": _files,
    "curator.artifacts": _artifacts,
    "curator.scent_trail_chars": _trail,
}
