"""OpenAI Agents SDK: a filter that fits the input of every model call.

Use `fit = fit_input()` and `RunConfig(call_model_input_filter=fit)`. `hooks=fit.hooks` also records the reported usage,
and `model_provider=fit.provider()` retries refused calls. The items of a run are not changed, only the model's input.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from brim.integrations import missing
from brim.integrations.calls import FittedCall, arun, astream, configured
from brim.meter.window import Window
from brim.sessions.conversations import Conversations

try:
    from agents import (
        Agent,
        AgentOutputSchema,
        Handoff,
        Model,
        ModelProvider,
        RunContextWrapper,
        RunHooks,
        handoff,
    )
    from agents.models import get_default_model
    from agents.models.multi_provider import MultiProvider
    from agents.models.openai_responses import Converter
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise missing("openai-agents") from error

CurrentCall = ContextVar[FittedCall | None]
"""The newest call of a run."""


def fit_input(
    given: Conversations | Window | int | None = None,
    *,
    model: str | None = None,
    session: str | None = None,
    **settings: Any,
) -> FitInput:
    """Return a filter for `RunConfig(call_model_input_filter=...)`.

    Args:
        given: the window of the models, or conversations to share; by default the windows of the catalogue.
        model: the model that is called, if it is not the agent's.
        session: the name of the conversation, for a filter with only one.
        settings: more arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
    """
    conversations = given if isinstance(given, Conversations) else configured(given, **settings)
    return FitInput(conversations, model, session)


class FitInput:
    """A filter that fits the input of each call."""

    def __init__(self, conversations: Conversations, model: str | None = None, session: str | None = None) -> None:
        self.conversations = conversations
        self._model, self._session = model, session
        self._current: CurrentCall = ContextVar("brim_current_call", default=None)
        self.hooks = FitHooks(self._current)
        """Hooks for `Runner.run(..., hooks=...)` that record the reported usage."""

    def model(self, model: Model) -> FitModel:
        """Return a model that retries a call once with a smaller input after an overflow."""
        return FitModel(model, self._current)

    def provider(self, provider: ModelProvider | None = None) -> FitProvider:
        """Return a provider of such models for `RunConfig(model_provider=...)`; by default of the SDK's models."""
        return FitProvider(MultiProvider() if provider is None else provider, self)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the fitted input.

        Raises:
            DoesNotFit: the required items exceed the budget.
        """
        given, agent = data.model_data, data.agent
        tools = await _tools(agent, RunContextWrapper(data.context))
        request = await asyncio.to_thread(
            self.conversations.request,
            given.input,
            model=self._model or _model_name(agent.model),
            tools=tools or None,
            system=given.instructions,
            format="responses",
            answer=agent.model_settings.max_tokens,
            session=self._session,
        )
        self._current.set(FittedCall(request))
        return ModelInputData(input=request.messages, instructions=given.instructions)


class FitHooks(RunHooks[Any]):
    """Hooks that record the reported usage."""

    def __init__(self, current: CurrentCall) -> None:
        self._current = current

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:  # noqa: ARG002 - the SDK calls it so
        """Record the usage of an answer."""
        call, usage = self._current.get(), response.usage
        if call is not None and usage.requests == 1 and usage.input_tokens:
            await asyncio.to_thread(call.answered, usage)


class FitModel(Model):
    """A model that retries a call once with a smaller input after an overflow."""

    def __init__(self, model: Model, current: CurrentCall) -> None:
        self._model, self._current = model, current

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def get_retry_advice(self, request: Any) -> Any:
        """Return the model's advice on a retry after other errors."""
        return self._model.get_retry_advice(request)

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> Any:  # noqa: A002
        """Return the model's answer."""
        call = self._current.get()
        if call is None:
            return await self._model.get_response(system_instructions, input, *rest, **more)
        inputs = _inputs(call, input)
        return await arun(call, lambda _: self._model.get_response(system_instructions, next(inputs), *rest, **more))

    async def stream_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> Any:  # noqa: A002
        """Yield the events of the model's answer; there is no retry after the first event."""

        async def send(_: FittedCall | None = None) -> Any:
            return self._model.stream_response(system_instructions, next(inputs), *rest, **more)

        call = self._current.get()
        inputs = _inputs(call, input)
        async for event in await send() if call is None else astream(call, send):
            yield event


def _inputs(call: FittedCall | None, first: Any) -> Iterator[Any]:
    """Yield the SDK's input, then that of the smaller request."""
    yield first
    if call is not None:
        yield call.messages


class FitProvider(ModelProvider):
    """A provider of models that retry a call once with a smaller input after an overflow."""

    def __init__(self, provider: ModelProvider, fit: FitInput) -> None:
        self._provider, self._fit = provider, fit

    def get_model(self, model_name: str | None) -> FitModel:
        """Return the model of a name."""
        return self._fit.model(self._provider.get_model(model_name))

    async def aclose(self) -> None:
        """Close the models."""
        await self._provider.aclose()


def _model_name(model: Any) -> str | None:
    """Return the name of an agent's model, or the SDK's default."""
    named = get_default_model() if model is None else model if isinstance(model, str) else getattr(model, "model", None)
    return named.rsplit("/", 1)[-1] if isinstance(named, str) else None


async def _tools(agent: Agent[Any], context: RunContextWrapper[Any]) -> list[Any]:
    """Return the tools as sent to the model: the agent's tools, its handoffs, and the schema of its answer."""
    own = await agent.get_all_tools(context)
    ways = [each if isinstance(each, Handoff) else handoff(each) for each in agent.handoffs]
    tools: list[Any] = list(Converter.convert_tools(own, ways).tools)
    form = agent.output_type
    if form is not None and form is not str:
        schema = form if hasattr(form, "json_schema") and not isinstance(form, type) else AgentOutputSchema(form)
        if not schema.is_plain_text():
            tools.append({"type": "function", "name": "final_output", "parameters": schema.json_schema()})
    return tools
