"""Texts to measure on, made here from word lists and a seed: the same bytes on every machine.

The mix is that of an agent's prompt: prose, code, JSON and logs, with other scripts, emoji and base64 between.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from itertools import accumulate
from random import Random


def _words(text: str) -> list[str]:
    return text.split()


_NOUNS = _words(
    "window budget ledger harbour engine question answer village winter machine letter river garden method error"
    " teacher market signal mountain library account promise shadow kitchen journey station morning weather paper"
    " bridge doctor factory painting island captain theory sentence language measure witness contract valley"
)
_VERBS = _words(
    "carry follow answer measure open forget describe build collect remember refuse support explain repeat deliver"
    " examine gather improve notice prepare replace return settle suggest travel understand welcome"
)
_ADJECTIVES = _words(
    "quiet narrow early honest bright careful sudden ordinary distant patient useful broken gentle serious hollow"
    " familiar enormous reluctant transparent northern"
)
_LINKS = _words("because although while until whenever unless so and but where")
_SMALL = _words("the a this that every some no its her their our each")
_TYPES = _words("str int float bytes bool list[str] dict[str,int] Path None")
_LEVELS = _words("DEBUG INFO INFO INFO WARNING ERROR")
_CHINESE = _words(
    "我们 今天 需要 一个 新的 方法 来 解决 这个 问题 。 他 说 ， 时间 不够 了 但是 结果 很好 城市 学生 工作"
)
_JAPANESE = _words(
    "この 問題 を 解決 する ため に は 、 新しい 方法 が 必要 です 。 東京 の 天気 は 晴れ プログラム データ"
)
_KOREAN = _words("우리는 오늘 새로운 방법을 찾아야 합니다. 시간이 부족하지만 결과는 좋았다. 도시 학생 데이터")
_ARABIC = _words("نحن نحتاج إلى طريقة جديدة لحل هذه المشكلة اليوم ولكن الوقت لا يكفي والنتيجة جيدة المدينة الطالب")
_HEBREW = _words("אנחנו צריכים דרך חדשה לפתור את הבעיה הזאת היום אבל אין מספיק זמן והתוצאה טובה העיר התלמיד")
HARD_BITS = [
    *_words("- é 👩\u200d 💻 漢 字 <|end oftext|> 1 234 a 's \u0301 ]] اب 𓀀 ㉿ ﷺ \ufffd 👨\u200d👩\u200d👧"),
    "\n//",
    " ",
    "  ",
    "\n",
    "\t",
]
"""Texts that count differently next to some neighbours than alone."""

_PREFIXES = ("", "re", "un", "over", "pre", "out", "mis", "co", "inter", "sub")
_SUFFIXES = ("", "s", "ing", "ed", "er", "less", "ness", "ful", "able", "wise", "ism", "ly", "ation", "ward")
_SYLLABLES = _words("ka ri mo del sun tar vek lo shi ban or ne wil gra ton pe zu ix ham ber")
_EMOJI = ("😀", "👍🏽", "🎉", "🇩🇪", "👩‍💻", "❤️", "🏳️‍🌈", "🚀", "1️⃣", "👨‍👩‍👧‍👦", "☕", "✅")


_FORMS = [
    f"{prefix}{stem}{suffix}" for prefix in _PREFIXES for suffix in _SUFFIXES for stem in _NOUNS + _VERBS + _ADJECTIVES
]
"""Twelve thousand words. The rank of a word sets how often it comes, as in natural text."""
_COMMONNESS = list(accumulate(1 / rank for rank in range(1, len(_FORMS) + 1)))


def mixed(size: int, seed: int = 1) -> str:
    """Return `size` characters of mixed text; each seed gives another text."""
    random = Random(seed)
    makers = list(KINDS.values())
    return filled(lambda: random.choices(makers, _SHARES)[0](random), size)


def filled(make: Callable[[], str], size: int) -> str:
    """Return `size` characters of the blocks that `make` gives."""
    blocks: list[str] = []
    left = size
    while left > 0:
        block = make()
        blocks.append(block)
        left -= len(block)
    return "".join(blocks)[:size]


def parts(count: int, size: int, seed: int = 1) -> list[str]:
    """Return `count` texts of `size` characters each."""
    text = mixed(count * size, seed)
    return [text[start : start + size] for start in range(0, len(text), size)]


def essential(seed: int = 1) -> str:
    """Return a short paragraph of plain prose, such as the rules at the top of a prompt."""
    return _prose(Random(seed))[:400].strip()


def _prose(random: Random) -> str:
    count = 40
    words = random.choices(_FORMS, cum_weights=_COMMONNESS, k=4 * count)
    small, links = random.choices(_SMALL, k=count), random.choices(_LINKS, k=count)
    name = "".join(random.choices(_SYLLABLES, k=3)).title()
    clauses = [
        f"{small[i]} {words[4 * i]} {words[4 * i + 1]} would {words[4 * i + 2]} {words[4 * i + 3] if i % 9 else name}"
        for i in range(count)
    ]
    sentences = [
        f"{one[0].upper()}{one[1:]}, {link} {two}."
        for one, two, link in zip(clauses[::2], clauses[1::2], links, strict=False)
    ]
    return " ".join(sentences) + "\n\n"


def _code(random: Random) -> str:
    functions = []
    for _ in range(5):
        verb, noun, other = random.choices(_FORMS, cum_weights=_COMMONNESS, k=3)
        kind, result = random.choice(_TYPES), random.choice(_TYPES)
        number = random.randrange(4096)
        functions.append(
            f"def {verb}_{noun}({other}: {kind}, limit: int = {number}) -> {result}:\n"
            f'    """Return the {noun} of `{other}`, at most `limit`."""\n'
            f"    if not {other} or limit < {number % 97}:\n"
            f'        raise ValueError(f"{noun} {{{other}!r}} is over {{limit:,}}")\n'
            f"    for i, item in enumerate(self._{noun}s[{number % 7}:]):\n"
            f"        total += item.{verb}({other}) ** 2 if i % {number % 5 + 2} else -0x{number:04X}\n"
            f"    return {{'{noun}': total, \"{other}\": [x for x in range({number})]}}\n\n\n"
        )
    return "".join(functions)


def _script(random: Random) -> str:
    lines = []
    for _ in range(12):
        noun, verb = random.choices(_FORMS, cum_weights=_COMMONNESS, k=2)
        number = random.randrange(10**5)
        lines.append(
            f"  const {noun}{verb.title()} = await this.{verb}({{ id: {number}, {noun}: items?.[{number % 9}] }});\n"
            f"\tif ({noun}{verb.title()} !== undefined && count++ > {number % 50}) {{ return; }} // {verb} it\n"
        )
    return "".join(lines)


def _records(random: Random) -> str:
    records = [
        {
            "id": random.randrange(10**7),
            "name": " ".join(random.choices(_FORMS, cum_weights=_COMMONNESS, k=2)),
            "score": round(random.random(), 6),
            "active": random.random() < 0.5,
            "tags": random.choices(_NOUNS, k=3),
            "owner": None,
        }
        for _ in range(12)
    ]
    return json.dumps(records, indent=random.choice((None, 2))) + "\n"


def _log(random: Random) -> str:
    lines = []
    for _ in range(14):
        moment = random.randrange(86_400)
        day, clock = (
            f"2026-11-{random.randrange(1, 29):02}",
            f"{moment // 3600:02}:{moment // 60 % 60:02}:{moment % 60:02}",
        )
        what = (
            f"{random.choice(_LEVELS)} worker[{random.randrange(999)}] {random.choice(_NOUNS)}.{random.choice(_VERBS)}"
        )
        status, trace = random.randrange(200, 504), random.getrandbits(64)
        lines.append(
            f"{day}T{clock}.{random.randrange(1000):03}Z {what} took {random.randrange(9999)}ms"
            f" status={status} trace={trace:016x}\n"
        )
    return "".join(lines)


def _asian(random: Random) -> str:
    rare = "".join(map(chr, random.choices(range(0x4E00, 0x9FA5), k=60)))
    chinese, japanese = random.choices(_CHINESE, k=200), random.choices(_JAPANESE, k=200)
    return "".join(chinese) + rare + "\n" + "".join(japanese) + "\n" + " ".join(random.choices(_KOREAN, k=60)) + "\n"


def _right_to_left(random: Random) -> str:
    return " ".join(random.choices(_ARABIC, k=120)) + "\n" + " ".join(random.choices(_HEBREW, k=120)) + "\n"


def _emoji(random: Random) -> str:
    words = zip(random.choices(_EMOJI, k=150), random.choices(_NOUNS, k=150), strict=True)
    return "".join(f"{emoji} {word} " for emoji, word in words) + "\n"


def _base64(random: Random) -> str:
    return base64.b64encode(random.randbytes(1_000)).decode() + "\n"


KINDS: dict[str, Callable[[Random], str]] = {
    "prose": _prose,
    "Python": _code,
    "script": _script,
    "JSON": _records,
    "log": _log,
    "Chinese, Japanese, Korean": _asian,
    "Arabic, Hebrew": _right_to_left,
    "emoji": _emoji,
    "base64": _base64,
}
"""What makes a block of each kind, of one to three thousand characters."""

_SHARES = (30, 15, 10, 15, 10, 10, 3, 2, 5)
"""The share of each kind in the blocks of a mixed text, in percent."""
