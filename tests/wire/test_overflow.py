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
    outer.__cause__ = outer
    assert is_overflow(outer) is None


def test_an_error_of_our_own_client_is_read_by_its_excerpt():
    told = ModelError("the model refused", status=400, excerpt=json.dumps(ANTHROPIC))
    assert is_overflow(told).limit == 200_000


@pytest.mark.parametrize(
    ("around", "deepest"),
    [
        (lambda body: [body], 6),
        (lambda body: {"error": body} if isinstance(body, dict) else {"message": body}, 7),
        (lambda body: {"choices": [{"error": [body]}]}, 3),
        (lambda body: {"output": [], "error": [body]}, 3),
        (lambda body: {"message": "", "metadata": {"raw": [body]}}, 3),
        (lambda body: json.dumps([body]), 3),
        (lambda body: BadRequestError("", status_code=400, body=body), 6),
    ],
    ids=["lists", "errors", "choices", "answers", "metadata", "text", "exceptions"],
)
def test_a_body_is_read_six_levels_deep(around, deepest):
    body = "prompt is too long"
    for _ in range(deepest):
        body = around(body)
    assert is_overflow(body) is not None
    for _ in range(2_000 if not isinstance(body, str) else 1):
        body = around(body)
    assert is_overflow(body) is None


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


WITH_ANSWER = {
    "vllm, a long answer": (
        "'max_tokens' or 'max_completion_tokens' is too large: 131072. This model's maximum context length is 32768"
        " tokens and your request has 15014 input tokens (131072 > 32768 - 15014). None",
        (32_768, 15_014, 131_072),
    ),
    "vllm, the input alone": (
        "This model's maximum context length is 32768 tokens. However, your request has 40014 input tokens. Please"
        " reduce the length of the input messages.",
        (32_768, 40_014, None),
    ),
    "vllm, before the model": (
        "The decoder prompt (length 40014) is longer than the maximum model length of 32768. Make sure that"
        " `max_model_len` is no smaller than the number of text tokens.",
        (32_768, 40_014, None),
    ),
    "vllm, with pictures": (
        "The prompt (total length 40014) is too long to fit into the model (context length 32768). Make sure that"
        " `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
        (32_768, 40_014, None),
    ),
    "fireworks": ("The prompt is too long: 40014, model maximum context length: 32767", (32_767, 40_014, None)),
    "cerebras": (
        "Please reduce the length of the messages or completion. Current length is 40014 while limit is 32768",
        (32_768, 40_014, None),
    ),
    "github models": ("Request body too large for gpt-4o model. Max size: 8000 tokens.", (8_000, None, None)),
    "vllm, output before input": (
        "This model's maximum context length is 32768 tokens. However, you requested 131072 output tokens and your"
        " prompt contains at least 15015 input tokens, for a total of at least 146087 tokens.",
        (32_768, 15_015, 131_072),
    ),
    "vllm, passed and requested": (
        "You passed 15014 input tokens and requested 131072 output tokens. However, the model's context length is only"
        " 32768 tokens, resulting in a maximum input length of 0 tokens. Please reduce the length of the input prompt.",
        (32_768, 15_014, 131_072),
    ),
    "openai, an answer longer than the window": (
        "This model's maximum context length is 32768 tokens. However, you requested 146086 tokens (15014 in the"
        " messages, 131072 in the completion). Please reduce the length of the messages or completion.",
        (32_768, 15_014, 131_072),
    ),
    "openai, with functions": (
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (4000 in the messages,"
        " 1000 in the functions, and 4000 in the completion). Please reduce the length of the messages, functions, or"
        " completion.",
        (8_192, 5_000, 4_000),
    ),
    "openai, completions": (
        "This model's maximum context length is 4097 tokens, however you requested 5360 tokens (1360 in your prompt;"
        " 4000 for the completion). Please reduce your prompt; or completion length.",
        (4_097, 1_360, 4_000),
    ),
    "openai, configured": (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please"
        " reduce the length of the messages.",
        (272_000, 509_178, None),
    ),
    "openrouter, with tools": (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 138668 tokens (67000 of"
        " text input, 328 of tool input, 71340 in the output). Please reduce the length of either one.",
        (131_072, 67_328, 71_340),
    ),
    "sglang": (
        "Requested token count exceeds the model's maximum context length of 64000 tokens. You requested a total of"
        " 71897 tokens: 7897 tokens from the input messages and 64000 tokens for the completion. Please reduce the"
        " number of tokens in the input messages or the completion to fit within the limit.",
        (64_000, 7_897, 64_000),
    ),
    "sglang and together": (
        "The input (250000 tokens) is longer than the model's context length (200000 tokens).",
        (200_000, 250_000, None),
    ),
    "sglang, another server": (
        "Input length (265330) exceeds model's maximum context length (262144).",
        (262_144, 265_330, None),
    ),
    "poolside": (
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        (131_040, 131_393, None),
    ),
    "litellm": (
        "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException -"
        " This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        (8_192, 9_000, None),
    ),
    "lm studio": (
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context"
        " length of only 32768 tokens, which is not enough. Try to load the model with a larger context length.",
        (32_768, 111_490, None),
    ),
    "lm studio, in the middle": ("Context size has been exceeded.", (None, None, None)),
    "llama.cpp": (
        "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
        (8_192, 9_001, None),
    ),
    "ollama": ("prompt too long; exceeded max context length by 4072 tokens", (None, None, None)),
    "ollama, embeddings": ("the input length exceeds the context length", (None, None, None)),
    "groq": ("Please reduce the length of the messages or completion.", (None, None, None)),
    "a limit alone": ("maximum context length is 1,025 tokens", (1_025, None, None)),
    "qwen": ("Range of input length should be [1, 129024]", (129_024, None, None)),
    "minimax": ("invalid params, context window exceeds limit (2013)", (None, None, None)),
    "text-generation-inference": (
        "`inputs` must have less than 4096 tokens. Given: 5000",
        (4_096, 5_000, None),
    ),
    "xai, flat": (
        "maximum context length is 256000 tokens, but the request has 300000 tokens",
        (256_000, 300_000, None),
    ),
}


@pytest.mark.parametrize(("message", "numbers"), WITH_ANSWER.values(), ids=WITH_ANSWER)
def test_the_numbers_of_a_refusal_are_told_apart_by_the_words_around_them(message, numbers):
    found = is_overflow(said(message))
    assert (found.limit, found.sent, found.reply) == numbers
    assert is_overflow(
        {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(said(message))}}}
    )


ALONE = (
    *({"error": {"code": code, "message": "no"}} for code in (
        "context_length_exceeded", "context_window_exceeded", "exceed_context_size_error", "request_too_large",
        "model_max_prompt_tokens_exceeded", "request_body_too_large_after_decoding", "string_above_max_length",
    )),
    {"type": "message", "content": [], "stop_reason": "model_context_window_exceeded"},
    *map(said, (
        "the request exceeds the available context size, try increasing it",
        "Too many input tokens.",
        "The prompt is too large for this context window.",
        "The input exceeds the maximum number of tokens allowed.",
        "The prompt is beyond the maximum context length.",
        "The prompt is longer than the model's context length.",
        "The prompt is over the maximum sequence length.",
    )),
)  # fmt: skip


@pytest.mark.parametrize("error", ALONE)
def test_a_code_or_a_phrase_without_numbers_is_enough(error):
    found = is_overflow(error)
    assert (found.limit, found.sent, found.reply) == (None, None, None)


NOT_THE_PROMPT = (
    "max_tokens is too large: 131072. This model supports at most 16384 completion tokens, whereas you provided 131072.",
    "max_tokens: 131072 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
    "'max_tokens' must be at least 1, got 0.",
    "The maximum tokens you requested exceeds the model limit of 8192. Try again with a lower maximum tokens value.",
)


@pytest.mark.parametrize("message", NOT_THE_PROMPT)
def test_an_answer_that_is_too_long_for_the_model_is_no_long_prompt(message):
    assert is_overflow(said(message)) is None


@pytest.mark.parametrize(("answer", "sent", "reply"), [(1_000, 4_000, 1_000), (None, 5_000, None)])
def test_requested_tokens_include_the_answer_if_our_count_says_so(answer, sent, reply):
    found = is_overflow(said("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."))
    split = found.beside(answer, 3_900)
    assert (split.sent, split.reply) == (sent, reply)
    assert found.beside(answer, 4_900).sent == 5_000
    assert found.beside(5_000, 100) is found, "the answer cannot be all that was requested"


SPOOF = "maximum context length is 40 tokens. However, your messages resulted in 60 tokens"
ECHOES = {
    "responses": {
        "object": "response",
        "status": "completed",
        "error": None,
        "output": [],
        "metadata": {"message": SPOOF},
    },
    "responses, instructions": {"output": [], "instructions": SPOOF, "metadata": {"error": SPOOF, "detail": SPOOF}},
    "responses, failed": {
        "type": "response.failed",
        "response": {"output": [], "error": {"code": "server_error", "message": "x"}, "metadata": {"message": SPOOF}},
    },
    "chat": {"choices": [{"finish_reason": "stop", "message": {"content": SPOOF}}], "metadata": {"message": SPOOF}},
    "messages": {"type": "message", "stop_reason": "end_turn", "content": [{"text": SPOOF}], "detail": SPOOF},
    "gemini": {"candidates": [{"content": {"parts": [{"text": SPOOF}]}}], "details": [{"message": SPOOF}]},
    "a refused value": {"detail": [{"loc": ["body", "user"], "msg": "Input should be a number", "input": SPOOF}]},
}


@pytest.mark.parametrize("body", ECHOES.values(), ids=ECHOES)
def test_what_a_client_wrote_and_an_answer_repeats_is_no_refusal(body):
    assert is_overflow(body) is None
    assert is_overflow(json.dumps(body)) is None
