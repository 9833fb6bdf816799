"""The attacks on the gateway in full: parts of `scripts/gateway_proof.py`, which says how to run them.

The gateway is a process of its own that is watched: where it connects to, all that it logs, and what it leaves.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from gateway.attacks import KEY_SHAPES, REDIRECTS, answers, doors, gets_in, pointers
from gateway.conftest import asked, conversation, get, post
from gateway.mutants import fuzzed
from gateway.test_process import left_by, places
from gateway.watched import Canary, Leading, Watched
from model_server import running

_KEY = "correct-horse-battery"
_SHORT = asked(conversation(1))


def around(count: int = 5_000) -> bool:
    """Show that no way to write a path, a host or a header leads around the key."""
    model, seen, found = Leading(), Counter[int](), []
    with tempfile.TemporaryDirectory() as folder, running(model) as upstream:
        Path(folder, "brim.yaml").write_text("gateway: {keys: [CLIENT_KEY], upstream_key: MODEL_KEY}\n")
        made = Watched(folder, upstream, "--window", "1000", CLIENT_KEY=_KEY, MODEL_KEY="sk-none")
        begun = time.perf_counter()
        for raw in doors(count, _KEY, made.url.removeprefix("http://")):
            told = answers(made.url, raw)
            seen.update(status for status, _ in told)
            found += [(raw, each) for each in gets_in(told)]
        taken = time.perf_counter() - begun
        reached, opened = len(model.paths), post(made.url, _SHORT, authorization=f"Bearer {_KEY}")[0]
        made.end()
    print(
        f"around: {count:,} requests without a key in {taken:.1f} s: {len(found)} got in, {reached} reached upstream; "
        f"statuses {dict(sorted(seen.items()))}; with the key {opened}"
    )
    for raw, each in found[:5]:
        print(raw, each)
    return not found and not reached and opened == 200 and seen[401] > count / 10


def elsewhere(count: int = 2_000) -> bool:
    """Show that nothing that a client or an upstream says makes the gateway call another host."""
    model, canaries, faults = Leading(), [Canary(), Canary("::1")], 0
    with tempfile.TemporaryDirectory() as folder, running(model) as upstream:
        made = Watched(folder, upstream, "--window", "1000")
        for path, headers, body in pointers(count, places(canaries), conversation(1)):
            faults += post(made.url, json.dumps(body).encode(), path, **headers)[0] >= 500
        followed = 0
        for status in REDIRECTS:
            for place in [*places(canaries), "/v1/stolen"]:
                lead = {"x_lead": place, "x_status": status}
                followed += post(made.url, _SHORT, **lead)[0] != 502
                followed += post(made.url, _SHORT, "/v1/embeddings", **lead)[0] != 502
                followed += get(made.url, "/v1/models", **lead)[0] != 502
        connected, mine = made.connected(), {("127.0.0.1", int(upstream.rsplit(":", 1)[1]))}
        called = sum(canary.called() for canary in canaries)
        made.end()
    for canary in canaries:
        canary.close()
    print(
        f"elsewhere: {count:,} requests that point elsewhere and {len(REDIRECTS) * 11 * 3} redirects: "
        f"{called} calls heard, {len(connected - mine)} other hosts connected to, {followed} redirects followed, "
        f"{faults} faults"
    )
    return connected == mine and not called and not followed and not faults and "/v1/stolen" not in model.paths


def secrets() -> bool:
    """Show that keys of twelve shapes, shown everywhere, stand in nothing that the gateway leaves or shows."""
    with tempfile.TemporaryDirectory() as folder, running(Leading()) as upstream:
        made = Watched(folder, upstream, "--window", "1000", "--store", "sqlite:///brim.db")
        sinks, names = left_by(made, KEY_SHAPES)
    found = [(key, name) for key in KEY_SHAPES for name, said in sinks.items() if key.encode() in said]
    sizes = ", ".join(f"{name} {len(said):,}" for name, said in sorted(sinks.items()))
    print(f"secrets: {len(KEY_SHAPES)} keys, {len(names)} sessions; bytes searched: {sizes}; {len(found)} hits {found}")
    return not found and len(sinks["log"]) > 10_000


def mutants(count: int = 20_000) -> bool:
    """Show that bodies and streams that were hit by random bytes are read or refused."""
    read, wrong = fuzzed(count)
    print(
        f"mutants: {count:,} bodies and streams hit by random bytes: {read:,} read, {len(wrong)} with a fault of ours"
    )
    for each in wrong[:5]:
        print(each)
    return not wrong


PARTS = {"around": around, "elsewhere": elsewhere, "secrets": secrets, "mutants": mutants}
