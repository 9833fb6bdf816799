"""Words to write histories with: messages, loops of tool calls, and texts of every kind, the same on every machine."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from random import Random

from .adapter import Message

_SENTENCES = (
    "The ledger {} checks a parcel before noon.",
    "An orchard near quay {} signs for the turbine without a warning.",
    "Ferry {} moves half of the archive for the second time.",
    "A permit opens the north gate at {} minutes past four.",
    "The lantern weighs {} grams more than the rules allow.",
    "Nobody counts valve {} as a sample of the harbour.",
    "Bridge {} returns the folder, and the meadow delays it.",
    "The engine repairs beacon {} at half the price.",
)
_HAN = "港口倉庫的帳目每天早上由值班員核對船期延誤時要先通知客戶再修改提單貨櫃編號必須與清單一致"
_KANA = "この記録は毎朝確認され遅れがあれば担当者に知らせてから予定を直します"
_HANGUL = "창고장부는매일아침담당자가확인하고지연이있으면먼저고객에게알립니다"
_EMOJI = ("👩‍🔧", "🚢", "📦", "🧾", "🏗️", "👨‍👩‍👧‍👦", "🇳🇴", "✅", "🌧️", "🧑🏽‍✈️")

RULES = "You look after the harbour office. Answer briefly, quote the ledger, and never promise a berth."
GOAL = "Find out why parcel 4471 was billed twice, correct the invoice and tell me which rule was broken."


def prose(words: int, seed: int = 0) -> str:
    """Return plain English sentences of about `words` words."""
    random = Random(seed)
    made: list[str] = []
    while len(made) < words:
        made += random.choices(_SENTENCES)[0].format(random.randrange(10_000)).split()
    return " ".join(made[:words])


def east(characters: int, seed: int = 0) -> str:
    """Return Chinese, Japanese and Korean with emoji made of several code points, and no space at all."""
    random = Random(seed)
    made = ""
    while len(made) < characters:
        text = random.choices((_HAN, _KANA, _HANGUL))[0]
        start = random.randrange(len(text) - 8)
        made += text[start : start + random.randrange(4, 9)] + random.choices(_EMOJI)[0]
    return made[:characters]


def dense(characters: int, seed: int = 0) -> str:
    """Return what has few characters to a token: base64, digits and JSON without a space."""
    random = Random(seed)
    blob = base64.b64encode(random.randbytes(characters // 2)).decode()
    rows = [{"id": random.randrange(10**9), "k": random.randbytes(6).hex()} for _ in range(characters // 80)]
    return (blob + json.dumps(rows, separators=(",", ":")))[:characters]


def system(text: str = RULES, role: str = "system") -> Message:
    """Return a system message."""
    return {"role": role, "content": text}


def user(text: str) -> Message:
    """Return a message from the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    """Return an answer in words."""
    return {"role": "assistant", "content": text}


def calling(*ids: str, text: str | None = None, arguments: str = '{"parcel":4471}', name: str = "look_up") -> Message:
    """Return a message of the assistant that makes calls."""
    calls = [{"id": call, "type": "function", "function": {"name": name, "arguments": arguments}} for call in ids]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def result(call: str, text: str) -> Message:
    """Return what a tool answered."""
    return {"role": "tool", "tool_call_id": call, "content": text}


def pair(call: str, text: str, *, saying: str | None = None, arguments: str = '{"parcel":4471}') -> list[Message]:
    """Return a call, with words beside it or without, and its result."""
    return [calling(call, text=saying, arguments=arguments), result(call, text)]


def loop(pairs: int, words: int = 40, *, goal: str = GOAL, make: Callable[[int, int], str] = prose) -> list[Message]:
    """Return the commonest agent run: rules, one task, and then nothing but calls and results."""
    made = [system(), user(goal)]
    for i in range(pairs):
        made += pair(f"call_{i}", make(words, i))
    return made


def chat(exchanges: int, words: int = 40, *, make: Callable[[int, int], str] = prose) -> list[Message]:
    """Return a talk of `exchanges` questions and answers that ends with a question."""
    made = [system()]
    for i in range(exchanges):
        made += [user(make(words, 2 * i)), assistant(make(words, 2 * i + 1))]
    return [*made, user("And what did the last of these cost?")]


def joined(parts: Iterable[list[Message]]) -> list[Message]:
    """Return one history made of several."""
    return [message for part in parts for message in part]
