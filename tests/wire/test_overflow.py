"""Answers that providers and servers really gave, and what else sounds like them."""

import json

import pytest

from brim.errors import ModelError
from brim.wire.overflow import Overflow, is_overflow

OPENAI = {
    "error": {
        "message": "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens."
        " Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}
RESPONSES = {
    "error": {
        "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "type": "invalid_request_error",
        "param": "input",
        "code": "context_length_exceeded",
    }
}
ANTHROPIC = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "prompt is too long: 200251 tokens > 200000 maximum"},
    "request_id": "req_011",
}


def said(message, **fields):
    return {"error": {"message": message, "type": "invalid_request_error", **fields}}


REAL = {
    "chat": (OPENAI, 4097, 4294),
    "responses": (RESPONSES, None, None),
    "responses, in a stream": ({"type": "response.failed", "response": {"error": RESPONSES["error"]}}, None, None),
    "anthropic": (ANTHROPIC, 200_000, 200_251),
    "anthropic with the reply": (
        said(
            "input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000, decrease input length or"
            " `max_tokens` and try again"
        ),
        200_000,
        143_653,
    ),
    "anthropic, accepted and stopped": (
        {
            "type": "message",
            "content": [{"type": "text", "text": "..."}],
            "stop_reason": "model_context_window_exceeded",
        },
        None,
        None,
    ),
    "vllm": (
        said(
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the"
            " messages, 1000 in the completion). Please reduce the length of the messages or completion."
        ),
        4096,
        4000,
    ),
    "openrouter": (
        said(
            "This endpoint's maximum context length is 32768 tokens. However, you requested about 40010 tokens (39010"
            " of text input, 1000 in the output). Please reduce the length of either one."
        ),
        32_768,
        39_010,
    ),
    "deepseek": (
        said(
            "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (70000 in the"
            " messages, 0 in the completion). Please reduce the length of the messages or completion.",
            code="invalid_request_error",
        ),
        65_536,
        70_000,
    ),
    "gemini": (
        {
            "error": {
                "code": 400,
                "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                "status": "INVALID_ARGUMENT",
            }
        },
        1_048_576,
        1_200_000,
    ),
    "mistral": (
        {
            "object": "error",
            "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context"
            " length",
            "type": "invalid_request_prompt",
        },
        32_768,
        40_000,
    ),
    "xai": (
        {"error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."},
        131_072,
        537_812,
    ),
    "cohere": (
        {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."},
        4081,
        5000,
    ),
    "kimi": (said("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"), 8192, 9000),
    "copilot": (said("prompt token count of 130000 exceeds the limit of 128000"), 128_000, 130_000),
    "vertex": (
        {
            "error": {
                "code": 400,
                "message": "Unable to submit request because the input token count is 1200000 but the model only supports"
                " up to 1048576. Reduce the input token count and try again.",
                "status": "INVALID_ARGUMENT",
            }
        },
        1_048_576,
        1_200_000,
    ),
    "vertex, a list": (
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (9000) exceeds the maximum number of tokens allowed (8192).",
                }
            }
        ],
        8192,
        9000,
    ),
    "bedrock": ({"message": "Input is too long for requested model."}, None, None),
    "bedrock, Claude": (
        {"message": "The model returned the following errors: prompt is too long: 200251 tokens > 200000 maximum"},
        200_000,
        200_251,
    ),
    "bedrock, old models": ({"message": "ValidationException: too many total text bytes: 120000 > 100000"}, None, None),
    "bedrock, at the end": ({"output": {"message": {}}, "stopReason": "model_context_window_exceeded"}, None, None),
    "bedrock, other": ({"message": "The model returned the following errors: Input Tokens Exceeded: 1"}, None, None),
    "tgi": (
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4500 `inputs`"
            " tokens and 512 `max_new_tokens`",
            "error_type": "validation",
        },
        4097,
        4500,
    ),
    "llama.cpp": (
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9001,
                "n_ctx": 8192,
            }
        },
        8192,
        9001,
    ),
    "lm studio": (
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length."},
        None,
        None,
    ),
    "a size in bytes": ({"type": "error", "error": {"type": "request_too_large", "message": "Too big"}}, None, None),
}

OTHER = {
    "rate limit": {"error": {"message": "rate limit exceeded", "type": "rate_limit_error"}},
    "tokens a minute": said(
        "Request too large for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Requested 41217. The"
        " input or output tokens must be reduced in order to run successfully.",
        code="rate_limit_exceeded",
    ),
    "quota": said("You exceeded your current quota, please check your plan and billing details."),
    "a long answer": said("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens"),
    "key": said("Incorrect API key provided"),
    "overloaded": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "an answer that speaks of it": {
        "choices": [{"finish_reason": "stop", "message": {"content": "The prompt is too long: use a context window."}}]
    },
    "an answer of the other maker": {
        "type": "message",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "maximum context length exceeded"}],
    },
    "an answer cut off": {"choices": [{"finish_reason": "length", "message": {"content": "and so"}}]},
    "a file": "OSError: file name too long",
    "nothing": None,
    "a number": 413,
    "empty": "",
    "half of JSON": '{"error": {"mess',
}


@pytest.mark.requirement("X3")
@pytest.mark.parametrize(("body", "limit", "sent"), REAL.values(), ids=REAL)
def test_a_prompt_that_was_too_long_is_known_by_its_answer(body, limit, sent):
    for given in (body, json.dumps(body), json.dumps(body).encode(), "data: " + json.dumps(body)):
        found = is_overflow(given)
        assert found is not None
        assert (found.limit, found.sent) == (limit, sent)


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("body", OTHER.values(), ids=OTHER)
def test_what_is_refused_for_another_reason_is_no_overflow(body):
    assert is_overflow(body) is None


class BadRequestError(Exception):
    """As the clients of OpenAI and Anthropic raise it."""

    def __init__(self, message, *, status_code, body):
        super().__init__(message)
        self.status_code, self.body = status_code, body


def test_an_exception_of_a_client_is_read_by_its_body_and_its_cause():
    error = BadRequestError("Error code: 400", status_code=400, body=OPENAI["error"])
    assert is_overflow(error).limit == 4097
    outer = RuntimeError("the step failed")
    outer.__cause__ = error
    assert is_overflow(outer).sent == 4294


def test_an_error_of_our_own_client_is_read_by_its_excerpt():
    told = ModelError("the model refused", status=400, excerpt=json.dumps(ANTHROPIC))
    assert is_overflow(told).limit == 200_000


def test_a_status_of_429_is_never_an_overflow():
    error = BadRequestError("the context window is full of requests", status_code=429, body=None)
    assert is_overflow(error) is None


class ContextWindowExceededError(Exception):
    pass


def test_the_name_of_an_error_counts_as_its_code():
    assert is_overflow(ContextWindowExceededError("no")) is not None


def test_the_factor_takes_the_reply_from_what_the_model_holds():
    found = is_overflow(said("input length and `max_tokens` exceed context limit: 180000 + 64000 > 200000"))
    assert found.reply == 64_000
    assert found.factor == pytest.approx((200_000 - 64_000) / 180_000)
    assert is_overflow(RESPONSES).factor is None


def test_a_refused_prompt_that_fits_was_refused_for_the_answer_beside_it():
    told = Overflow(reason="too long", limit=1_000, sent=540)
    assert told.beside(600).reply == 600
    assert 540 * told.beside(600).retry_share <= 400
    unchanged = (
        (told, None),
        (told, 460),  # Both fit: it was something else.
        (told, 1_000),  # No server counts an answer as long as the window.
        (Overflow(reason="too long", limit=1_000, sent=1_200), 600),
        (Overflow(reason="too long"), 600),
        (Overflow(reason="too long", limit=1_000, sent=540, accepted=True), 600),
    )
    assert all(overflow.beside(answer) is overflow for overflow, answer in unchanged)
