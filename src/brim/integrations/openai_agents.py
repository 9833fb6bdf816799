"""OpenAI Agents SDK: a provider whose models fit every call.

Use `RunConfig(model_provider=BrimProvider())`. The items of a run are not changed: only the input of each call is
fitted, with its instructions, its tools and the schema of its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCall, FittedCalls, arun, astream
from brim.meter.window import Window

try:
    from agents import Model, ModelProvider
    from agents.models.multi_provider import MultiProvider
    from agents.models.openai_responses import Converter
except ImportError as error:
    raise missing("openai-agents", error) from error

_ARGUMENTS = ("system_instructions", "input", "model_settings", "tools", "output_schema", "handoffs", "tracing")
"""The arguments of a model's methods that may be passed by position."""


class BrimProvider(FittedCalls, ModelProvider):
    """Fits each call into the model's window, records the reported usage, and retries a refused call once."""

    def __init__(
        self,
        window: Window | int | None = None,
        *,
        provider: ModelProvider | None = None,
        **options: Any,
    ) -> None:
        """Begin.

        Args:
            window: the window of the models; by default that of the settings or the catalogue.
            provider: the provider of the models; by default that of the SDK.
            options: more arguments of `FittedCalls`: `session`, `conversations`, `store`, ...
        """
        super().__init__(window, **options)
        self._provider = provider or MultiProvider()

    def get_model(self, model_name: str | None) -> Model:
        """Return the model of a name; its calls fit."""
        return self.model(self._provider.get_model(model_name))

    def model(self, model: Model) -> Model:
        """Return a model whose calls fit, for an agent with a model object of its own."""
        return _FittedModel(model, self)

    async def aclose(self) -> None:
        """Close the models."""
        await self._provider.aclose()


class _FittedModel(Model):
    def __init__(self, model: Model, calls: FittedCalls) -> None:
        self._model, self._calls = model, calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def get_retry_advice(self, request: Any) -> Any:
        """Return the model's advice on a retry after other errors."""
        return self._model.get_retry_advice(request)

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        """Return the model's answer to the fitted input."""
        fields = _fields(args, kwargs)
        call = await self._fitted(fields)
        if call is None:
            return await self._model.get_response(**fields)
        return await arun(
            call,
            lambda call: self._model.get_response(**{**fields, "input": call.messages}),
            lambda answer: answer.usage if answer.usage.input_tokens else None,
        )

    async def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        """Yield the events of the model's answer to the fitted input."""

        async def send(call: FittedCall) -> Any:
            return self._model.stream_response(**{**fields, "input": call.messages})

        fields = _fields(args, kwargs)
        call = await self._fitted(fields)
        events = self._model.stream_response(**fields) if call is None else astream(call, send, _streamed_usage)
        async for event in events:
            yield event

    async def _fitted(self, fields: Mapping[str, Any]) -> FittedCall | None:
        """Return a call that fits, or `None` if the provider stores the history, which cannot be counted."""
        if fields.get("previous_response_id") or fields.get("conversation_id"):
            return None
        items, form = fields["input"], fields["output_schema"]
        tools: list[Any] = list(Converter.convert_tools(fields["tools"], fields["handoffs"]).tools)
        if form is not None and not form.is_plain_text():
            tools.append({"type": "function", "name": "final_output", "parameters": form.json_schema()})
        name = getattr(self._model, "model", None)
        request = await asyncio.to_thread(
            self._calls.conversations.request,
            [{"role": "user", "content": items}] if isinstance(items, str) else items,
            model=name.rsplit("/", 1)[-1] if isinstance(name, str) else None,
            tools=tools or None,
            system=fields["system_instructions"],
            format="responses",
            answer=fields["model_settings"].max_tokens,
            session=self._calls.session,
        )
        return FittedCall(request)


def _fields(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    return {**dict(zip(_ARGUMENTS, args, strict=False)), **kwargs}


def _streamed_usage(event: Any) -> Any:
    """Return the usage in the last event of a stream; `None` for any other event."""
    return getattr(getattr(event, "response", None), "usage", None)
