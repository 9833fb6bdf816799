"""Conversations for the tests of sessions: talk with tools in every shape, the same each time."""

import random

import brim

SYSTEM = "You are a careful engineer. Never touch production."


def window(size=4_000, cap=0.5, warn=0.3, **more):
    return brim.Window(size, cap=cap, warn=warn, **more)


def asked(**more):
    return {"window": window(), "meter": "o200k_base", **more}


def session(**more):
    return brim.Session(**asked(**more))


def turn(i, *, words=30, lines=20):
    """Return one turn of Chat Completions: a question, a call, its result, an answer."""
    chance = random.Random(i)
    call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": f'{{"path": "/srv/m{i}.py"}}'}}
    return [
        {"role": "user", "content": f"Question {i}: why did build {i * 7} fail? " + "word " * chance.randint(1, words)},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{i}", "content": f"line of /srv/m{i}.py\n" * chance.randint(1, lines)},
        {"role": "assistant", "content": f"We decided to use queue {i}. " + "answer " * chance.randint(1, words)},
    ]


def anthropic_turn(i, *, lines=20):
    """Return the same in the shape of Anthropic."""
    chance = random.Random(i)
    use = {"type": "tool_use", "id": f"t{i}", "name": "read", "input": {"path": f"/srv/m{i}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"t{i}", "content": f"line {i}\n" * chance.randint(1, lines)}
    return [
        {"role": "user", "content": f"Question {i}: why did build {i * 7} fail?"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": f"We decided to use queue {i}. " + "answer " * 20}]},
    ]


def responses_turn(i, *, lines=20):
    """Return the same as items of Responses."""
    chance = random.Random(i)
    return [
        {"role": "user", "content": f"Question {i}: why did build {i * 7} fail?"},
        {"type": "function_call", "call_id": f"f{i}", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"f{i}", "output": f"line {i}\n" * chance.randint(1, lines)},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"Use queue {i}. " * 9}]},
    ]


TURNS = {"openai": turn, "anthropic": anthropic_turn, "responses": responses_turn}


class Seen:
    """Remembers the events that it is told of."""

    def __init__(self):
        self.events = []

    def observe(self, event):
        self.events.append(event)

    def names(self):
        return [event.name for event in self.events]

    def of(self, name):
        return [event.fields for event in self.events if event.name == name]
