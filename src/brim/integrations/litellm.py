"""LiteLLM: a callback that fits every call, in the SDK, in a Router and in the proxy.

LiteLLM runs callbacks for each attempt, after choosing the deployment and before sending. So the model is known, and a
fallback to a smaller model is fitted again. The sync `litellm.completion` runs no callback: use `hook.completion`.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from brim.errors import InvalidType
from brim.integrations import missing
from brim.integrations.calls import ClientCall, FittedCalls, OpenCalls, run
from brim.meter.window import Window
from brim.wire import Format

try:
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise missing("litellm", error) from error

_FORMATS: dict[str, Format] = {
    "completion": "openai",
    "acompletion": "openai",
    "responses": "responses",
    "aresponses": "responses",
    "anthropic_messages": "anthropic",
}
"""The format of the messages by the type of the call."""
_ID = "litellm_call_id"


class LiteLLMCall(ClientCall):
    """A call whose other fields are mostly those of LiteLLM, which are not sent to the provider."""

    sent = ("response_format", "prediction", "tool_choice", "text", "output_config", "guided_json")


class BrimHook(FittedCalls, CustomLogger):
    """A callback for `litellm.callbacks`, or for the `config.yaml` of the proxy.

    The framework's name of a conversation is `litellm_session_id`, or `session_id` in the metadata.
    """

    def __init__(self, window: Window | int | None = None, **options: Any) -> None:
        CustomLogger.__init__(self)
        FittedCalls.__init__(self, window, **options)
        self._open: OpenCalls[ClientCall] = OpenCalls()
        """Calls whose usage is not yet reported."""
        self._warned = False

    def completion(self, **fields: Any) -> Any:
        """Call `litellm.completion` with a request that fits; an overflow is retried once with a smaller one.

        Raises:
            DoesNotFit: the required messages exceed the budget.
        """
        fields = {_ID: str(uuid4()), **fields}
        answer = run(self._own_call(fields), lambda call: litellm.completion(**call.fields))
        return self._answered(fields, answer)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Return the fields of a fitted call, for each attempt."""
        format = _FORMATS.get(str(getattr(call_type, "value", call_type)))
        if format is None or kwargs.get(_ID) in self._open:  # An inner call is already fitted.
            return None
        call = await asyncio.to_thread(self._call, _with_model(kwargs), format)
        if call is None:
            return None
        return {**kwargs, **{key: call.fields[key] for key in ("messages", "input") if key in call.fields}}

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, *_: Any) -> None:
        """Record the usage of an answer."""
        self._answered(request_data, response)

    async def async_post_call_failure_deployment_hook(
        self, request_data: Mapping[str, Any], exception: Exception, *_: Any, **__: Any
    ) -> None:
        """Learn from a refusal, so that the next attempt is smaller."""
        call = self._open.pop(str(request_data.get(_ID)), None)
        if call is not None:
            await asyncio.to_thread(call.shrink, exception)

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: Any) -> None:  # noqa: ARG002
        """Warn once about a call that no callback could fit."""
        if not self._warned and kwargs.get("call_type") == "completion" and kwargs.get(_ID) not in self._open:
            self._warned = True
            problem = "litellm.completion runs no callback before it sends, so this call is not fitted"
            warnings.warn(f"{problem}: call hook.completion, or await litellm.acompletion", stacklevel=2)

    def log_success_event(self, kwargs: Any, response_obj: Any, *_: Any, **__: Any) -> None:
        """Record the usage of a streamed answer."""
        self._answered(kwargs, response_obj)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, *_: Any, **__: Any) -> None:
        """Record the usage of a streamed answer."""
        self._answered(kwargs, response_obj)

    def _own_call(self, fields: Mapping[str, Any]) -> ClientCall:
        call = self._call(fields, "openai")
        if call is None:
            raise InvalidType("messages", fields.get("messages"), "a list of messages")
        return call

    def _call(self, fields: Mapping[str, Any], format: Format) -> ClientCall | None:
        """Return a fitted call and remember it by its id, or `None` if the fields do not contain the messages."""
        call = LiteLLMCall.of(fields, format, self.conversations, self.session or _session(fields))
        if call is not None and fields.get(_ID) is not None:
            self._open[str(fields[_ID])] = call
        return call

    def _answered(self, fields: Mapping[str, Any], response: Any) -> Any:
        """Record the usage of an answer once, if the provider counted it."""
        usage = response.get("usage") if isinstance(response, Mapping) else getattr(response, "usage", None)
        if usage is not None and (call := self._open.pop(str(fields.get(_ID)), None)) and _is_counted(fields, usage):
            call.answered(usage)
        return response


def _with_model(kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a call with its model, which may be a positional argument.

    Raises:
        InvalidType: the messages are a positional argument, which callbacks cannot change.
    """
    log = kwargs.get("litellm_logging_obj")
    if not any(key in kwargs for key in ("messages", "input")) and getattr(log, "messages", None):
        raise InvalidType("messages", "a positional argument", "passed by name: acompletion(model=..., messages=...)")
    return {"model": getattr(log, "model", None), **kwargs}


def _session(fields: Mapping[str, Any]) -> str | None:
    """Return the name of a call's session; keys of a proxy do not share sessions."""
    metadata = [each for key in ("litellm_metadata", "metadata") if isinstance(each := fields.get(key), Mapping)]
    names = [fields.get("litellm_session_id"), *(each.get("session_id") for each in metadata)]
    name = next((str(each) for each in names if each), None)
    key = next((str(each["user_api_key_hash"]) for each in metadata if each.get("user_api_key_hash")), "")
    return f"{key[:12]}.{name}" if name and key else name


def _is_counted(fields: Mapping[str, Any], usage: Any) -> bool:
    """Return whether the usage is the provider's; LiteLLM estimates that of a stream without usage."""
    values = usage if isinstance(usage, Mapping) else vars(usage)
    if not (values.get("prompt_tokens") or values.get("input_tokens")):
        return False
    options = {**fields, **(fields.get("optional_params") or {})}
    reports = (options.get("stream_options") or {}).get("include_usage")
    return bool(reports or not options.get("stream") or "input_tokens" in values)


def __getattr__(name: str) -> BrimHook:
    """Return `hook`, created with the settings, for the configuration of a proxy."""
    if name != "hook":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: BrimHook = globals().setdefault("hook", BrimHook())
    return found
