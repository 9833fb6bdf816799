"""The vocabulary inside a model's own file, as a tokenizer.json, so that brim counts as the model does."""

import struct
from pathlib import Path
from typing import Any

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, kind: str) -> Any:
        (value,) = struct.unpack_from("<" + kind, self.data, self.at)
        self.at += struct.calcsize("<" + kind)
        return value

    def text(self) -> str:
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind == _LIST:
            inner, length = self.number("I"), self.number("Q")
            return [self.value(inner) for _ in range(length)]
        return self.number(_SCALARS[kind])


def header(path: Path) -> dict[str, Any]:
    """Return what the head of a GGUF file says."""
    with path.open("rb") as file:
        reader = _Reader(file.read(16_000_000))
    assert reader.data[:4] == b"GGUF"
    reader.at = 8
    _, pairs = reader.number("Q"), reader.number("Q")
    found = {}
    for _ in range(pairs):
        name = reader.text()
        found[name] = reader.value(reader.number("I"))
    return found


def tokenizer(path: Path, out: Path) -> None:
    """Write the byte-level vocabulary of a GGUF file as a tokenizer.json; digits stand alone in it."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    told = header(path)
    words, merges = told["tokenizer.ggml.tokens"], told["tokenizer.ggml.merges"]
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    made = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=pairs))
    digits, letters = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    made.save(str(out))
