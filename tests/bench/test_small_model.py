"""The model of `bench likelihood`: its arithmetic, against a llama that is written a second time, number by number."""

import cmath
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from bench import small_model

SHAPE = small_model.Shape(layers=2, heads=4, key_heads=2, window=40, epsilon=1e-5, base=50.0)
WORDS, WIDTH, INNER, HEAD = 13, 16, 24, 4
"""The vocabulary of the model, and the sizes of its states, of its inner layer and of a head."""


def weights(seed=0, *, own_head=False):
    random = np.random.default_rng(seed)
    shapes = {"token_embd": (WORDS, WIDTH), "output_norm": (WIDTH,)}
    for i in range(SHAPE.layers):
        shapes |= {f"blk.{i}.attn_norm": (WIDTH,), f"blk.{i}.ffn_norm": (WIDTH,)}
        shapes |= {f"blk.{i}.attn_q": (WIDTH, WIDTH), f"blk.{i}.attn_output": (WIDTH, WIDTH)}
        shapes |= {f"blk.{i}.attn_k": (8, WIDTH), f"blk.{i}.attn_v": (8, WIDTH)}
        shapes |= {f"blk.{i}.ffn_gate": (INNER, WIDTH), f"blk.{i}.ffn_up": (INNER, WIDTH)}
        shapes |= {f"blk.{i}.ffn_down": (WIDTH, INNER)}
    if own_head:
        shapes["output"] = (WORDS, WIDTH)
    return {f"{name}.weight": random.normal(0, 0.6, shape).astype(np.float32) for name, shape in shapes.items()}


def reference(weights, tokens):
    """Return the loss of each token after the first: no block, no cache, no array but for reading the weights."""
    given = {name.removesuffix(".weight"): value.tolist() for name, value in weights.items()}

    def times(name, state):
        return [sum(a * b for a, b in zip(row, state, strict=True)) for row in given[name]]

    def norm(name, state):
        root = math.sqrt(sum(value * value for value in state) / WIDTH + SHAPE.epsilon)
        return [value / root * weight for value, weight in zip(state, given[name], strict=True)]

    def turned(head, position):
        made = []
        for i in range(0, HEAD, 2):
            turn = cmath.exp(1j * position * SHAPE.base ** (-i / HEAD))
            value = complex(head[i], head[i + 1]) * turn
            made += [value.real, value.imag]
        return made

    def heads(values):
        return [values[i : i + HEAD] for i in range(0, len(values), HEAD)]

    def plus(one, other):
        return [a + b for a, b in zip(one, other, strict=True)]

    def chances(scores):
        total = sum(math.exp(score) for score in scores)
        return [math.exp(score) / total for score in scores]

    states = [given["token_embd"][token] for token in tokens]
    for layer in range(SHAPE.layers):
        name = f"blk.{layer}."
        normed = [norm(name + "attn_norm", state) for state in states]
        keys = [[turned(head, at) for head in heads(times(name + "attn_k", s))] for at, s in enumerate(normed)]
        values = [heads(times(name + "attn_v", state)) for state in normed]
        for at, state in enumerate(normed):
            mixed = []
            queries = [turned(head, at) for head in heads(times(name + "attn_q", state))]
            for number, query in enumerate(queries):
                shared = number // (SHAPE.heads // SHAPE.key_heads)
                scores = [
                    sum(a * b for a, b in zip(query, keys[before][shared], strict=True)) / math.sqrt(HEAD)
                    for before in range(at + 1)
                ]
                weighed = zip(chances(scores), [values[before][shared] for before in range(at + 1)], strict=True)
                parts = [[chance * value for value in row] for chance, row in weighed]
                mixed += [sum(column) for column in zip(*parts, strict=True)]
            states[at] = plus(states[at], times(name + "attn_output", mixed))
        for at, state in enumerate(states):
            inner = norm(name + "ffn_norm", state)
            gates = [value / (1 + math.exp(-value)) for value in times(name + "ffn_gate", inner)]
            wide = [a * b for a, b in zip(gates, times(name + "ffn_up", inner), strict=True)]
            states[at] = plus(state, times(name + "ffn_down", wide))
    head = "output" if "output" in given else "token_embd"
    told = [times(head, norm("output_norm", state)) for state in states[:-1]]
    return [-math.log(chances(row)[token]) for row, token in zip(told, tokens[1:], strict=True)]


TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 12, 7, 0]


@pytest.mark.parametrize("block", [1, 3, 5, 256])
@pytest.mark.parametrize("start", [1, 6, 13])
@pytest.mark.parametrize("own_head", [False, True])
def test_losses_are_those_of_a_llama_written_number_by_number(block, start, own_head):
    given = weights(own_head=own_head)
    losses = small_model.Llama(given, SHAPE, block).losses(TOKENS, start)
    assert losses == pytest.approx(reference(given, TOKENS)[start - 1 :], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("first", "then", "start", "again"),
    [
        (TOKENS, [*TOKENS[:5], 8, 8, 2], 6, 5),
        (TOKENS, [*TOKENS[:5], 8, 8, 2], 3, 2),
        (TOKENS, TOKENS, 9, 8),
        (TOKENS[:4], TOKENS, 10, 4),
        (TOKENS, [7, *TOKENS], 5, 0),
    ],
    ids=["other end", "long answer", "the same", "longer", "other start"],
)
def test_a_prompt_with_a_known_beginning_is_read_from_there_with_the_same_result(first, then, start, again):
    read = []

    class Watched(small_model.Llama):
        def _states(self, tokens, low):
            read.append(low)
            return super()._states(tokens, low)

    model = Watched(weights(), SHAPE)
    model.losses(first, 2)
    read.clear()
    assert model.losses(then, start) == pytest.approx(small_model.Llama(weights(), SHAPE).losses(then, start), rel=1e-4)
    assert read == [again]


@pytest.mark.parametrize(("count", "start"), [(41, 5), (5, 0), (5, 5)], ids=["too long", "no prompt", "no answer"])
def test_what_the_model_cannot_read_is_refused_with_the_numbers(count, start):
    with pytest.raises(ValueError, match=f"{count} tokens from {start} on for a window of 40"):
        small_model.Llama(weights(), SHAPE).losses([1] * count, start)


class Characters:
    """A tokenizer with a token for each character, and two marks."""

    marks = ("<|im_start|>", "<|im_end|>")

    def token_to_id(self, token):
        return self.marks.index(token)

    def encode(self, text, add_special_tokens):
        assert not add_special_tokens
        return SimpleNamespace(ids=[*map(ord, text)], offsets=[(i, i + 1) for i in range(len(text))])

    def text(self, ids):
        return "".join(self.marks[each] if each < 2 else chr(each) for each in ids)


def test_a_prompt_is_written_by_the_template_of_the_model():
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "\n  result \n"},
    ]
    characters = Characters()
    assert characters.text(small_model.ChatTokens(characters).prompt(messages)) == (
        "<|im_start|>user\none\ntwo<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call><|im_end|>\n'
        "<|im_start|>tool\n  result <|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_an_answer_ends_with_a_mark_that_stands_for_no_character():
    ids, spans = small_model.ChatTokens(Characters()).answer("ab")
    assert (ids, spans) == ([ord("a"), ord("b"), 1], [(0, 1), (1, 2), (2, 2)])
