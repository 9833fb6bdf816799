"""The OpenAI Agents SDK: its trimmer of tool outputs."""

# ruff: noqa: D102 - what each call does is said on the base

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bench.suite import Message
from bench.trimmers import Trimmer, plain_texts_only


class OpenAIAgents(Trimmer):
    """The OpenAI Agents SDK's trimmer of tool outputs, which knows no budget."""

    name = "OpenAI Agents ToolOutputTrimmer"

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trimmer = import_module("agents.extensions.tool_output_trimmer").ToolOutputTrimmer
            config = import_module("agents.run_config")

        self.trimmer, self.call, self.input = trimmer(), config.CallModelData, config.ModelInputData

    def take(self, messages: Sequence[Message], budget: int) -> Any:  # noqa: ARG002
        plain_texts_only(messages)
        self.known = list(messages)
        items: list[Message] = []
        for i, message in enumerate(messages):
            if message["role"] == "tool":
                answer = {"call_id": message["tool_call_id"], "output": message.get("content") or ""}
                items.append({"type": "function_call_output", **answer, "at": i})
                continue
            items.append({"role": message["role"], "content": message.get("content") or ""})
            items += [
                {"type": "function_call", "call_id": call["id"], **call["function"]}
                for call in message.get("tool_calls") or ()
            ]
        return items

    def trim(self, taken: Any, budget: int) -> Any:  # noqa: ARG002 - it has none
        told = self.input(input=taken, instructions=None)
        return self.trimmer(self.call(model_data=told, agent=None, context=None)).input

    def give(self, kept: Any) -> list[Message]:
        # It shortens outputs and drops nothing, so that each stands where it stood.
        outputs = {item["at"]: item["output"] for item in kept if item.get("type") == "function_call_output"}
        return [
            message
            if outputs.get(i, message.get("content") or "") == (message.get("content") or "")
            else {**message, "content": outputs[i]}
            for i, message in enumerate(self.known)
        ]
