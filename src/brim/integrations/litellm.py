"""LiteLLM: a callback under which every call fits, in the SDK, in a Router and in the proxy.

LiteLLM asks its callbacks once for each attempt, when the deployment is chosen and nothing is sent yet. That is where
a call is fitted, so the model is the real one and a fallback to a smaller one is fitted anew. A plain
`litellm.completion`, which is not async, asks nobody: `hook.completion` takes its place.
"""

from __future__ import annotations

import asyncio
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from brim.errors import InvalidType
from brim.integrations import missing
from brim.meter.window import Window
from brim.sessions.call import ClientCall
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest
from brim.settings import load_config
from brim.store import Store

try:
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise missing("litellm") from error

_FORMATS = {
    "completion": "openai",
    "acompletion": "openai",
    "responses": "responses",
    "aresponses": "responses",
    "anthropic_messages": "anthropic",
}
"""The shape of the messages by the kind of call."""
_MOST = 4_096
"""Calls that are remembered, the oldest going first: of one that was given up nothing more is heard."""
_ID = "litellm_call_id"
_own: ContextVar[bool] = ContextVar("brim_own", default=False)
"""Whether a call is one of the hook itself, which fits it and learns from it."""


class BrimHook(CustomLogger):
    """Put it into `litellm.callbacks`, or name it in the proxy's `config.yaml`."""

    def __init__(
        self, window: Window | int | None = None, *, store: Store | str | None = None, **settings: Any
    ) -> None:
        """Begin with no conversations.

        Args:
            window: what the models hold and what of it a prompt may use; without it, that of the settings, or the
                window of each model.
            store: where the sessions are kept, or its URL; without it, the `store.url` of the settings, or memory.
            settings: further arguments of `Conversations`: `meter`, `summarise`, `on_notice`, ...

        Raises:
            StoreError: the store cannot be opened.
        """
        super().__init__()
        given = {"window": window, "store": store, **settings}
        asked = {name: value for name, value in given.items() if value is not None}
        self.brim: Conversations = load_config().resolve().conversations(**asked)
        """The conversations: `hook.brim.last.receipt`, `hook.brim.sessions`."""
        self._open: OrderedDict[str, FittedRequest] = OrderedDict()
        self._told: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._warned = False

    def completion(self, **asked: Any) -> Any:
        """Call `litellm.completion` with what fits; an overflow is tried once more, smaller.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        call, asked = _named(asked)
        request = self._fitted(call, asked)
        try:
            return self._answered(asked, litellm.completion(**call.written(request)))
        except litellm.BadRequestError as error:
            if (smaller := request.refused(error)) is None:
                raise
            self._keep(asked, smaller)
            return self._answered(asked, litellm.completion(**call.written(smaller)))

    async def acompletion(self, **asked: Any) -> Any:
        """Call `litellm.acompletion` with what fits; an overflow is tried once more, smaller.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
        """
        call, asked = _named(asked)
        request = await asyncio.to_thread(self._fitted, call, asked)
        token = _own.set(True)
        try:
            return self._answered(asked, await litellm.acompletion(**call.written(request)))
        except litellm.BadRequestError as error:
            if (smaller := await asyncio.to_thread(request.refused, error)) is None:
                raise
            self._keep(asked, smaller)
            return self._answered(asked, await litellm.acompletion(**call.written(smaller)))
        finally:
            _own.reset(token)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Return the call with what fits; called by LiteLLM for each attempt."""
        format = _FORMATS.get(str(getattr(call_type, "value", call_type)))
        if format is None or _own.get() or kwargs.get(_ID) in self._open:  # a call inside a call is fitted already
            return None
        call = ClientCall.of(_whole(kwargs), format)
        if call is None:
            return None
        request = await asyncio.to_thread(self._fitted, call, kwargs)
        written = call.written(request)
        return {**kwargs, **{key: written[key] for key in ("messages", "input") if key in written}}

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, *_: Any) -> None:
        """Learn from an answer; called by LiteLLM."""
        self._answered(request_data, response)

    async def async_post_call_failure_deployment_hook(
        self, request_data: Mapping[str, Any], exception: Exception, *_: Any, **__: Any
    ) -> None:
        """Learn from a refusal, so that the next attempt is smaller; called by LiteLLM."""
        request = None if _own.get() else self._open.pop(str(request_data.get(_ID)), None)
        if request is not None:
            await asyncio.to_thread(request.refused, exception)

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: Any) -> None:  # noqa: ARG002
        """Warn, once, of a call that no callback could fit; called by LiteLLM."""
        if not self._warned and kwargs.get("call_type") == "completion" and kwargs.get(_ID) not in self._open:
            self._warned = True
            told = "litellm.completion asks no callback before it sends, so this call is not fitted"
            warnings.warn(f"{told}: call hook.completion, or await litellm.acompletion", stacklevel=2)

    def log_success_event(self, kwargs: Any, response_obj: Any, *_: Any, **__: Any) -> None:
        """Learn from an answer that was streamed; called by LiteLLM."""
        self._answered(kwargs, response_obj)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, *_: Any, **__: Any) -> None:
        """Learn from an answer that was streamed; called by LiteLLM."""
        self._answered(kwargs, response_obj)

    async def async_post_call_response_headers_hook(
        self, data: dict[str, Any], *_: Any, **__: Any
    ) -> dict[str, str] | None:
        """Return what the answer's headers say of the fit; called by LiteLLM's proxy."""
        return self._told.get(str(data.get(_ID)))

    def _fitted(self, call: ClientCall, asked: Mapping[str, Any]) -> FittedRequest:
        request = call.fit(self.brim, _session(asked))
        self._keep(asked, request)
        return request

    def _keep(self, asked: Mapping[str, Any], request: FittedRequest) -> None:
        if asked.get(_ID) is None:
            return
        key = str(asked[_ID])
        self._open[key], self._told[key] = request, _headers(request)
        for known in (self._open, self._told):
            while len(known) > _MOST:
                known.popitem(last=False)

    def _answered(self, asked: Mapping[str, Any], response: Any) -> Any:
        """Take the usage of an answer, once, if it is the provider's; a stream has none before it ends."""
        usage = response.get("usage") if isinstance(response, Mapping) else getattr(response, "usage", None)
        if usage is not None and (request := self._open.pop(str(asked.get(_ID)), None)) and _is_told(asked, usage):
            request.answered(usage)
        return response


def _named(asked: Mapping[str, Any]) -> tuple[ClientCall, dict[str, Any]]:
    """Return a call by keywords, with an id by which its answer is known."""
    known = {_ID: str(uuid4()), **asked}
    call = ClientCall.of(known, "openai")
    if call is None:
        raise InvalidType("messages", asked.get("messages"), "a list of messages")
    return call, known


def _whole(kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a call, with the model that it was asked for by place.

    Raises:
        InvalidType: the messages were given by place, where no callback can change them.
    """
    log = kwargs.get("litellm_logging_obj")
    if not any(key in kwargs for key in ("messages", "input")) and getattr(log, "messages", None):
        raise InvalidType("messages", "given by place", "given by name: acompletion(model=..., messages=...)")
    return {"model": getattr(log, "model", None), **kwargs}


def _session(asked: Mapping[str, Any]) -> str | None:
    """Return the session that a call names; keys of a proxy share none."""
    metadata = [each for key in ("litellm_metadata", "metadata") if isinstance(each := asked.get(key), Mapping)]
    found = [asked.get("litellm_session_id"), *(each.get("session_id") for each in metadata)]
    name = next((str(each) for each in found if each), None)
    key = next((str(each["user_api_key_hash"]) for each in metadata if each.get("user_api_key_hash")), "")
    return f"{key[:12]}.{name}" if name and key else name


def _headers(request: FittedRequest) -> dict[str, str]:
    receipt = request.receipt
    if receipt is None or request.session is None:
        return {"x-brim-passthrough": "window-unknown"}
    return {
        "x-brim-tokens-after": str(receipt.used),
        "x-brim-budget": str(receipt.budget),
        "x-brim-count-method": "exact" if receipt.exact else "estimate",
        "x-brim-edits": str(sum(place is None for place in request.places) if request.changed else 0),
        "x-brim-session-id": request.session.id,
    }


def _is_told(asked: Mapping[str, Any], usage: Any) -> bool:
    """Return whether the provider has counted; LiteLLM makes up what a stream of chat does not report."""
    values = usage if isinstance(usage, Mapping) else vars(usage)
    if not (values.get("prompt_tokens") or values.get("input_tokens")):
        return False
    options = {**asked, **(asked.get("optional_params") or {})}
    reports = (options.get("stream_options") or {}).get("include_usage")
    return bool(reports or not options.get("stream") or "input_tokens" in values)


def __getattr__(name: str) -> BrimHook:
    """Return `hook`, made by the settings, for a proxy whose configuration names it."""
    if name != "hook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: BrimHook = globals().setdefault("hook", BrimHook())
    return found
