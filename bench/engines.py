"""Libraries that count tokens, compared with brim's meter: the same texts and vocabulary, each in its own process.

Those that carry no vocabulary are given the tokens that all the others have. A process each, because one that panics or
aborts must not end the others.
"""

from __future__ import annotations

import base64
import random
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import clock, corpus, peers, record
from bench.outcome import Cell, Gate, Outcome, Setting, Table
from bench.peers import Count
from bench.worker import Broken, Silent, ask

_VOCABULARY = "o200k_base"
_LONG = 900_000
_HARD = 1_000
_SECONDS = 60
"""What a library has for one answer."""
_STEPS = {"": "its start", "ready": "the long text", "refused": "the short texts", "equal": "the short texts"}
_STEPS |= {"short": "the hard texts", "raised": "a million spaces", "spaces": "its end"}
"""The steps that a library reports; the measured one follows the last."""
_LEFT_OUT = (
    "ctok counts another vocabulary, one reconstructed for Claude, and asks for Python 3.12: it is not measured here.",
)


def _brim() -> Count:
    from brim.meter.vocabularies import vocabulary

    return vocabulary(_VOCABULARY).count


def _toktok() -> Count:
    return lambda text: int(import_module("toktok").batch_count([text], _VOCABULARY)[0])


def _quicktok() -> Count:
    count: Count = import_module("quicktok").get_encoding(_VOCABULARY).count
    return count


def _splintr() -> Count:
    encode = import_module("splintr").Tokenizer.from_pretrained(_VOCABULARY).encode_ordinary
    return lambda text: len(encode(text))


def _bpe_openai() -> Count:
    encode = import_module("bpe_openai").get_encoding(_VOCABULARY).encode_ordinary
    return lambda text: len(encode(text))


def _gigatoken() -> Count:
    encode = import_module("gigatoken").Tokenizer.from_tiktoken(str(_written())).as_tiktoken().encode_ordinary
    return lambda text: len(encode(text))


def _fastokens() -> Count:
    encode = import_module("fastokens").Tokenizer.from_tiktoken(str(_written()), encoding=_VOCABULARY).encode_ordinary
    return lambda text: len(encode(text))


def _riptoken() -> Count:
    pattern = peers.tiktoken_encoding(_VOCABULARY)._pat_str
    encode = import_module("riptoken").CoreBPE(peers.ranks(_VOCABULARY), {}, pattern).encode_ordinary
    return lambda text: len(encode(text))


def _kitoken() -> Count:
    encode = import_module("kitoken").Kitoken.from_tiktoken_file(str(_written())).encode
    return lambda text: len(encode(text))


def _tokie() -> Count:
    path = Path(tempfile.mkdtemp()) / "tokenizer.json"
    peers.tokenizers_tokenizer(_VOCABULARY).save(str(path))
    count: Count = import_module("tokie").Tokenizer.from_json(str(path)).count_tokens
    return count


def _wordchipper() -> Count:
    encode = import_module("wordchipper").Tokenizer.from_pretrained(_VOCABULARY).encode
    return lambda text: len(encode(text))


ENGINES: dict[str, tuple[str, Callable[[], Count]]] = {
    "tiktoken": ("tiktoken", peers.tiktoken_count),
    "brim": ("brim", _brim),
    "toktok": ("toktok-rs", _toktok),
    "gigatoken": ("gigatoken", _gigatoken),
    "fastokens": ("fastokens", _fastokens),
    "quicktok": ("quicktok-v1", _quicktok),
    "splintr": ("splintr-rs", _splintr),
    "bpe-openai": ("bpe-openai", _bpe_openai),
    "tokenizers": ("tokenizers", peers.tokenizers_count),
    "riptoken": ("riptoken", _riptoken),
    "kitoken": ("kitoken", _kitoken),
    "tokie": ("tokie", _tokie),
    "wordchipper": ("wordchipper", _wordchipper),
}
"""How each is made, by name, with the package that it comes from."""


def _written() -> Path:
    """Return a file of the vocabulary's tokens, in the form in which they are published."""
    path = Path(tempfile.mkdtemp()) / f"{_VOCABULARY}.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % rank for t, rank in peers.ranks(_VOCABULARY).items()))
    return path


def job(engine: str, size: int, hard: int) -> Iterator[dict[str, Any]]:
    """Yield what one library measured: speed on a long text, on short ones, right counts, and hard texts."""
    reference = peers.tiktoken_count(_VOCABULARY)
    count = ENGINES[engine][1]()
    with peers.quiet():
        count("loaded")
        yield {"ready": True}
        text = corpus.mixed(size, 5)
        base, expected = clock.once(reference, text)
        try:
            seconds, found = clock.once(count, text)
        except ValueError as error:  # One library refuses texts of about a million bytes.
            yield {"refused": str(error)[:80]}
        else:
            yield {"long": size / seconds / 1e6, "ratio": base / seconds, "equal": found == expected}
        short = corpus.parts(1_000, 300, 7)
        seconds, _ = clock.once(lambda texts: [count(each) for each in texts], short)
        base, _ = clock.once(lambda texts: [reference(each) for each in texts], short)
        yield {"short": base / seconds}
        wrong = raised = 0
        for each in _hard(hard):
            try:
                wrong += count(each) != reference(each)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # A panic of a Rust library is no Exception, and is a result here.
                raised += 1
        yield {"wrong": wrong, "raised": raised}
        yield {"spaces": _spaces(count)}


def _hard(number: int) -> Iterator[str]:
    """Yield short texts of bits that tokenizers disagree on; lone surrogates, which most refuse, are left out."""
    chance = random.Random(11)
    for _ in range(number):
        text = "".join(chance.choices(corpus.HARD_BITS, k=chance.randrange(1, 30)))
        yield text.encode("utf-8", "ignore").decode("utf-8")


def _spaces(count: Count) -> str:
    """Return what becomes of a million spaces."""
    try:
        seconds, _ = clock.once(count, " " * 1_000_000)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return f"raises {type(error).__name__}"
    return f"{seconds * 1e3:,.0f} ms"


def run(setting: Setting) -> Outcome:
    rows: list[list[Cell]] = []
    notes = list(_LEFT_OUT)
    own: dict[str, Any] = {}
    for engine, (package, _) in ENGINES.items():
        found: dict[str, Any] = {}
        try:
            for answer in ask("engines", _SECONDS, engine=engine, size=setting.size(_LONG), hard=setting.size(_HARD)):
                found |= answer
        except (Broken, Silent) as error:
            at = _STEPS[next((key for key in reversed(found) if key in _STEPS), "")]
            notes.append(f"{engine}: its process ended at {at} ({str(error)[:120]}).")
        if "refused" in found:
            notes.append(f"{engine} refuses the long text: {found['refused']}.")
        own = found if engine == "brim" else own
        told = "".join("" if "equal" not in found else ("yes" if found["equal"] else "no"))
        keys = ("long", "ratio", "short", "wrong", "raised", "spaces")
        rows.append([engine, record.installed(package) or "not installed", told, *(found.get(key) for key in keys)])
        print(f"  {rows[-1]}", flush=True)
    table = Table(
        title=f"Counting with {_VOCABULARY}, each text once and new",
        columns=[
            "library",
            "version",
            "counts equal",
            "M chars/s",
            "x tiktoken, long text",
            "x tiktoken, short texts",
            f"wrong of {setting.size(_HARD):,} hard texts",
            "raised on them",
            "a million spaces",
        ],
        rows=rows,
        notes=[
            f"CPU time. The long text has {setting.size(_LONG):,} characters of prose, code, JSON, logs, many scripts"
            " and base64; the short ones are 1,000 of 300 characters, one by one. Special tokens are text. A place is"
            " empty where the library did not get that far.",
            *notes,
        ],
    )
    wrong = own.get("wrong", 1) + own.get("raised", 1) + (not own.get("equal", False))
    gate = Gate(name="engines: counts of brim that are wrong or raised", value=wrong, limit=0, unit="texts")
    return Outcome(name="engines", tables=[table], gates=[gate])
