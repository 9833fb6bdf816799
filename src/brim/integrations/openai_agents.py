"""OpenAI Agents SDK: a filter under which the input of every call fits, and a session in brim's store.

`RunConfig(call_model_input_filter=fit)` with `fit = fit_input()` is all; `hooks=fit.hooks` beside it feeds back what
the answers report, and `model_provider=fit.provider()` tries a refused call again. The items of a run stay whole: only
what is sent to the model is fitted, before each call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from brim.errors import Conflict
from brim.integrations import missing
from brim.meter.window import Window
from brim.sessions.conversations import Conversations
from brim.store import Store, open_store

try:
    from agents import Agent, AgentOutputSchema, Handoff, Model, ModelProvider, RunContextWrapper, RunHooks, handoff
    from agents.models import get_default_model
    from agents.models.multi_provider import MultiProvider
    from agents.models.openai_responses import Converter
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise missing("openai-agents") from error

Sent = ContextVar[Any]
"""What a run has sent last, as a list that grows by one where that was refused."""

_ITEM, _POPPED, _CLEARED = "item", "item_popped", "items_cleared"
"""What the log of a session's items has."""


def fit_input(
    given: Conversations | Window | int | None = None,
    *,
    model: str | None = None,
    session: str | None = None,
    **settings: Any,
) -> FitInput:
    """Return a filter for `RunConfig(call_model_input_filter=...)`.

    Args:
        given: what the models hold, or the conversations of the program; without it, what the catalogue knows.
        model: the model that is asked, where that is not the agent's own.
        session: the name of the conversation, where the filter serves but one.
        settings: further arguments of `Conversations`: `store`, `summarise`, `on_notice`, ...
    """
    conversations = given if isinstance(given, Conversations) else Conversations(given, **settings)
    return FitInput(conversations, model, session)


class FitInput:
    """A filter that fits the input of each call."""

    def __init__(self, conversations: Conversations, model: str | None = None, session: str | None = None) -> None:
        self.conversations = conversations
        self._model, self._session = model, session
        self._sent: Sent = ContextVar("brim_sent", default=())
        self.hooks = FitHooks(self._sent)
        """Hooks for `Runner.run(..., hooks=...)`: what each answer reports corrects the count."""

    def model(self, model: Model) -> FitModel:
        """Return a model that is asked once more, with a smaller input, where it refuses one as too long."""
        return FitModel(model, self._sent)

    def provider(self, provider: ModelProvider | None = None) -> FitProvider:
        """Return a provider of such models, for `RunConfig(model_provider=...)`; without one, of the SDK's own."""
        return FitProvider(MultiProvider() if provider is None else provider, self)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the input that fits.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        given, agent = data.model_data, data.agent
        tools = await _tools(agent, RunContextWrapper(data.context))
        fitted = await asyncio.to_thread(
            self.conversations.request,
            given.input,
            model=self._model or _name(agent.model),
            tools=tools or None,
            system=given.instructions,
            format="responses",
            answer=agent.model_settings.max_tokens,
            session=self._session,
        )
        self._sent.set([fitted])
        return ModelInputData(input=fitted.messages, instructions=given.instructions)


class FitHooks(RunHooks[Any]):
    """Hooks that learn from what the answers report."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:  # noqa: ARG002 - the SDK calls it so
        """Take the usage of an answer."""
        sent, usage = self._sent.get(), response.usage
        if sent and usage.requests == 1 and usage.input_tokens:
            await asyncio.to_thread(sent[-1].answered, usage)


class FitModel(Model):
    """A model that is asked once more where it refuses an input as too long."""

    def __init__(self, model: Model, sent: Sent) -> None:
        self._own, self._sent = model, sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    async def close(self) -> None:
        """Let go of what the model holds."""
        await self._own.close()

    def get_retry_advice(self, request: Any) -> Any:
        """Return what the model says of trying again after other errors."""
        return self._own.get_retry_advice(request)

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> Any:  # noqa: A002
        """Return the model's answer."""
        try:
            return await self._own.get_response(system_instructions, input, *rest, **more)
        except Exception as error:  # Whatever a provider raises may tell of an overflow; all else goes on.
            smaller = await self._smaller(error)
        return await self._own.get_response(system_instructions, smaller, *rest, **more)

    async def stream_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> Any:  # noqa: A002
        """Yield the events of the model's answer; after the first of them it is not asked again."""
        begun = False
        try:
            async for event in self._own.stream_response(system_instructions, input, *rest, **more):
                begun = True
                yield event
        except Exception as error:  # As above.
            if begun:
                raise
            smaller = await self._smaller(error)
        else:
            return
        async for event in self._own.stream_response(system_instructions, smaller, *rest, **more):
            yield event

    async def _smaller(self, error: Exception) -> list[Any]:
        """Return a smaller input after a refusal; any other error goes on."""
        sent = self._sent.get()
        smaller = await asyncio.to_thread(sent[-1].refused, error) if sent else None
        if smaller is None:
            raise error
        sent.append(smaller)
        messages: list[Any] = smaller.messages
        return messages


class FitProvider(ModelProvider):
    """A provider of models that are asked once more where they refuse an input as too long."""

    def __init__(self, provider: ModelProvider, fit: FitInput) -> None:
        self._own, self._fit = provider, fit

    def get_model(self, model_name: str | None) -> FitModel:
        """Return the model of a name."""
        return self._fit.model(self._own.get_model(model_name))

    async def aclose(self) -> None:
        """Let go of what the models hold."""
        await self._own.aclose()


class BrimSession:
    """The items of a conversation, in brim's store: a `Session` of the SDK."""

    session_settings = None

    def __init__(self, session_id: str, store: Store | str) -> None:
        """Open the items of a session; where there are none yet, it is a new one.

        Args:
            session_id: its name.
            store: the store, or its URL.

        Raises:
            StoreError: the store cannot be opened.
        """
        self.session_id = session_id
        self._store = open_store(store) if isinstance(store, str) else store
        self._log = f"{session_id}/items"

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items, or the newest of them."""
        items, _ = await asyncio.to_thread(self._read)
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end."""
        lines = [(_ITEM, {"item": _values(item)}) for item in items]
        if lines:
            await asyncio.to_thread(self._store.append, self._log, lines)

    async def pop_item(self) -> Any | None:
        """Remove the newest item and return it; nothing where there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove all items."""
        await asyncio.to_thread(self._store.append, self._log, [(_CLEARED, {})])

    def _read(self) -> tuple[list[Any], int]:
        """Return the items, and the number of the last entry of their log."""
        items: list[Any] = []
        number = 0
        for entry in self._store.entries(self._log):
            number = entry.number
            if entry.kind == _ITEM:
                items.append(entry.body["item"])
            elif entry.kind == _POPPED:
                items = items[:-1]
            elif entry.kind == _CLEARED:
                items = []
        return items, number

    def _pop(self) -> Any | None:
        while True:
            items, number = self._read()
            if not items:
                return None
            try:
                self._store.append(self._log, [(_POPPED, {})], after=number)
            except Conflict:  # Somebody wrote in the meantime, so another item may be the newest.
                continue
            return items[-1]


def _values(item: Any) -> Any:
    dump: Callable[..., Any] | None = getattr(item, "model_dump", None)
    return item if dump is None else dump(exclude_unset=True)


def _name(model: Any) -> str | None:
    """Return the name of an agent's model: its own, that of its object, or the default."""
    named = get_default_model() if model is None else model if isinstance(model, str) else getattr(model, "model", None)
    return named.rsplit("/", 1)[-1] if isinstance(named, str) else None


async def _tools(agent: Agent[Any], context: RunContextWrapper[Any]) -> list[Any]:
    """Return the tools as they are sent: the agent's own, its handoffs, and the form of its answer."""
    own = await agent.get_all_tools(context)
    ways = [each if isinstance(each, Handoff) else handoff(each) for each in agent.handoffs]
    tools: list[Any] = list(Converter.convert_tools(own, ways).tools)
    form = agent.output_type
    if form is not None and form is not str:
        schema = form if hasattr(form, "json_schema") and not isinstance(form, type) else AgentOutputSchema(form)
        if not schema.is_plain_text():
            tools.append({"type": "function", "name": "final_output", "parameters": schema.json_schema()})
    return tools
