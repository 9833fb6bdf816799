"""A tokenizer.json as a vocabulary: what it counts, and what is wrong with a file that is none."""

import json
import os
import sys

import pytest
from hypothesis import given
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

import brim
import strategies
from brim.errors import InvalidValue, SourceError
from brim.meter.engines import FileEngine
from properties import examples

CONTROL = "<|end|>"


def byte_level(**changes):
    """Return the text of a small tokenizer.json, one that adds, pads and truncates on its own."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[CONTROL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the quick brown fox jumps over the lazy dog " * 9], trainer)
    tokenizer.add_tokens([AddedToken("<tool>", special=False)])
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{CONTROL} $A", special_tokens=[(CONTROL, 0)])
    tokenizer.enable_padding(length=64, pad_token=CONTROL)
    tokenizer.enable_truncation(16)
    return json.dumps({**json.loads(tokenizer.to_str()), **changes})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("model") / "tokenizer.json"
    found.write_text(byte_level(), encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def engine(path):
    return FileEngine(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("the", 1),
        ("the quick", 2),
        ("the " * 100, 101),
        (CONTROL, 7),
        ("the<tool>", 2),
        ("\x00", 1),
        ("中", 3),
    ],
    ids=["nothing", "word", "words", "longer than the file allows", "control string", "added piece", "NUL", "bytes"],
)
def test_text_is_counted_without_what_the_file_adds(engine, text, expected):
    assert engine.count(text) == expected


@examples(80)
@given(text=strategies.texts.map(lambda text: text.encode("utf-8", "replace").decode()))
def test_no_byte_is_lost_and_no_control_string_found(engine, text):
    """Every token of a byte-level vocabulary stands for at least one byte, and the ids give the text back."""
    [encoding] = engine._tokenizer.encode_batch_fast([text + CONTROL], add_special_tokens=False)
    assert engine.count(text + CONTROL) == len(encoding.ids)
    assert 0 not in encoding.ids
    assert engine.count(text) <= len(text.encode())


def test_a_text_path_and_a_byte_order_mark_will_do(tmp_path):
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + byte_level().encode())
    assert FileEngine(str(marked)).count("the") == 1


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"", 1, "not a tokenizer: EOF"),
        (b"{\n\n  nope", 3, "not a tokenizer: "),
        (b"[1, 2]", 1, "not a tokenizer: invalid type: sequence"),
        (b'{"model": {}}', 1, "not a tokenizer: "),
        (b'{"messages": []}', 1, "not a tokenizer: "),
        (b"[" * 100_000, 1, "not a tokenizer: "),
        (b"GGUF\x03\x00\x00\xff\xfe", None, "a binary file, not text: byte 5 is NUL"),
        (byte_level(version="9").encode(), 1, "not a tokenizer: Unknown tokenizer version '9'"),
    ],
    ids=["empty", "broken", "list", "no model", "other JSON", "deep", "binary", "of the future"],
)
def test_a_file_that_is_no_tokenizer_is_refused_with_its_path_and_line(tmp_path, content, line, problem):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(SourceError) as refused:
        FileEngine(path)
    assert (refused.value.path, refused.value.line) == (str(path), line)
    assert refused.value.problem.startswith(problem)


def test_a_missing_file_a_directory_and_a_pipe_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, problem in [("gone.json", "no such file"), (".", "not a regular file"), ("pipe", "not a regular file")]:
        with pytest.raises(SourceError, match=problem):
            FileEngine(tmp_path / name)


def test_without_the_package_the_error_names_the_extra(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(SourceError, match=r"tokenizer\.json: .*pip install 'brim\[open\]'"):
        FileEngine(path)


def test_a_vocabulary_that_counts_nothing_is_refused(tmp_path):
    """With it, everything fits."""
    empty = Tokenizer(models.BPE())
    empty.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InvalidValue, match="a meter that counts text"):
        brim.meter(str(tmp_path / "tokenizer.json"))


def test_a_history_fits_a_server_that_renders_it_by_a_chat_template(tmp_path):
    """`400 request (1231 tokens) exceeds the available context size (1024 tokens)`, of a prompt that counted 970."""
    tokenizer = Tokenizer.from_str(byte_level(truncation=None, padding=None, post_processor=None))
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens(["system", "user", "assistant"])
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    said = [{"role": ("user", "assistant")[i % 2], "content": f"ship {i} passed"} for i in range(200)]
    fitted = brim.fit_messages([{"role": "system", "content": "the fox"}, *said], 1_000, meter=str(path))

    rendered = "".join(f"<|im_start|>{each['role']}\n{each['content']}<|im_end|>\n" for each in fitted.messages)
    size = len(tokenizer.encode(rendered + "<|im_start|>assistant\n").ids)
    assert 800 < size <= fitted.used <= 1_000
    assert not fitted.receipt.exact
