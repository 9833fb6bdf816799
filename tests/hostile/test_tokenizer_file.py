"""A `tokenizer.json` of a stranger whose normaliser writes far more than it reads."""

import json

import pytest

from brim import meter
from brim.errors import SourceError


def written(tmp_path, normalizer):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    values = json.loads(made.to_str()) | {"normalizer": normalizer}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(values))
    return str(path)


def replaced(content):
    return {"type": "Replace", "pattern": {"String": "a"}, "content": content}


@pytest.mark.parametrize(
    "normalizer",
    [
        replaced("a" * 100_000),
        {"type": "Sequence", "normalizers": [replaced("aaa")] * 20},
        {"type": "Prepend", "prepend": "a" * 9_999},
    ],
    ids=["one step", "many steps", "a prefix"],
)
def test_a_normaliser_that_multiplies_its_text_is_refused(tmp_path, normalizer):
    with pytest.raises(SourceError, match="its normaliser writes more than 64 characters for one"):
        meter(written(tmp_path, normalizer)).count("aaaa")


@pytest.mark.parametrize("normalizer", [None, replaced("▁"), {"type": "NFKC"}, {"type": "Lowercase"}])
def test_a_usual_normaliser_is_read(tmp_path, normalizer):
    assert meter(written(tmp_path, normalizer)).count("a") == 1
