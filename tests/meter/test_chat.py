"""What a request counts: framing, names, calls, tools, images and the start of the reply."""

import json

import pytest

import brim
from brim.errors import InvalidValue
from brim.meter import meter_for
from brim.meter.media import count_media
from brim.meter.schemas import tool_counts
from brim.testing import CharMeter, PieceMeter
from talk import (
    Dumped,
    answer,
    calling,
    gives,
    item_call,
    item_output,
    model,
    picture,
    png,
    reasoning,
    result,
    says,
    sealed,
    system,
    text,
    thinking,
    use,
    user,
)

CHARS, PIECES = CharMeter(), PieceMeter()
PER_MESSAGE = 3
"""Of no model: three units a message, and nothing for its role, its ids, its calls or the reply."""
ROLE, PER_CALL, REPLY = 1, 3, 3
"""A model's own, as published: one for each role and three that prime the reply; three for each call."""
FLAT = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a place",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string", "description": "Where it is"}},
            "required": ["place"],
        },
    },
}
DEEP = {
    "type": "function",
    "function": {
        "name": "plan",
        "description": "Make a plan",
        "parameters": {"type": "object", "properties": {"steps": {"type": "array", "items": {"type": "string"}}}},
    },
}


def words(*texts):
    return sum(PIECES.count(said) for said in texts)


def pictured(detail=None, width=1024, height=1024):
    image = {"url": "data:image/png;base64," + png(width, height)}
    return {
        "role": "user",
        "content": [{"type": "image_url", "image_url": image | ({"detail": detail} if detail else {})}],
    }


# --- framing


def test_no_message_at_all_counts_nothing_and_with_a_model_what_primes_the_reply():
    assert PIECES.count_messages([]) == 0
    assert brim.meter("o200k_base").count_messages([]) == 0
    assert brim.meter("gpt-4o").count_messages([]) == REPLY


COUNTED = {
    "a message": ([user("hello there")], ["hello there"], 0),
    "two messages": ([system("be brief"), user("hello there")], ["be brief", "hello there"], 0),
    "each by itself, not as one text": ([user("thirteenlette"), user("rs")], ["thirteenlette", "rs"], 0),
    "no content": ([{"role": "assistant", "content": None}], [], 0),
    "an empty text": ([{"role": "assistant", "content": ""}], [], 0),
    "an empty list": ([{"role": "assistant", "content": []}], [], 0),
    "a name and one token for it": ([{**user("hi"), "name": "ann"}], ["hi", "ann"], 1),
    "parts": ([gives(text("one"), text("two"))], ["one", "two"], 0),
    "a call": ([calling("call_1", text="so", arguments='{"x":1}')], ["so", "f", '{"x":1}'], 0),
    "two calls": ([calling("call_1", "call_2", arguments='{"x":1}')], ["f", '{"x":1}'] * 2, 0),
    "a result": ([result("call_1", "fine")], ["fine"], 0),
    "a refusal": ([{"role": "assistant", "content": None, "refusal": "no way"}], ["no way"], 0),
    "thinking in a field": ([{**model("so"), "reasoning_content": "let me see"}], ["so", "let me see"], 0),
    "something unknown as its JSON": ([gives({"type": "odd", "x": 1})], ['{"type":"odd","x":1}'], 0),
    "control strings": ([user("<|endoftext|><|im_start|>")], ["<|endoftext|><|im_start|>"], 0),
    "half of a surrogate pair": ([user("a\ud800b")], ["a\ud800b"], 0),
    "blocks": (
        [says(thinking("let me see"), text("so"), use("toolu_1", x=1))],
        ["let me see", "so", "f", '{"x":1}'],
        0,
    ),
    "a result of blocks": ([gives(answer("toolu_1", [text("a"), text("b")]), text("go on"))], ["a", "b", "go on"], 0),
    "sealed thinking by its length": ([says(sealed("x" * 41))], [], 11),
    "items": ([item_call("c", '{"x":1}'), item_output("c", "fine")], ["f", '{"x":1}', "fine"], 0),
    "reasoning": ([reasoning("let me see")], ["let me see"], 0),
}


@pytest.mark.parametrize(("messages", "texts", "more"), COUNTED.values(), ids=COUNTED)
def test_messages_count_their_texts_and_a_frame_each(messages, texts, more):
    assert PIECES.count_messages(messages) == PER_MESSAGE * len(messages) + words(*texts) + more


# --- a model's own


LOOP = [
    system("You are brief."),
    {**user("What is up?"), "name": "ann"},
    calling("call_1", "call_2", text="so", arguments='{"x":1}'),
    result("call_1", "fine"),
    result("call_2", "well"),
]
SPOKEN = ("You are brief.", "What is up?", "ann", "so", "f", '{"x":1}', "f", '{"x":1}', "fine", "well")


def of_a_model(meter, *texts, roles=("system", "user", "assistant", "tool", "tool"), names=1, calls=2):
    """Return the published sum: each message with its role, texts, names and one for each, calls, the reply."""
    said = sum(map(meter.load, (*roles, *texts)))
    return len(roles) * PER_MESSAGE + said + names + calls * PER_CALL + REPLY


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-4", "gpt-3.5-turbo", "gpt-5", "openai/gpt-5-2025-08-07"])
def test_a_model_s_meter_counts_roles_call_frames_and_the_reply(name):
    meter = brim.meter(name)
    assert meter.count_messages(LOOP) == of_a_model(meter, *SPOKEN)
    assert meter.count_messages([user("hi")]) == of_a_model(meter, "hi", roles=("user",), names=0, calls=0)


def test_a_conversation_counts_with_gpt_4o_what_its_maker_published_for_it():
    """The maker's own example of counting tokens, with the numbers that its API answered."""
    example = [
        (
            "system",
            None,
            "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
        ),
        ("system", "example_user", "New synergies will help drive top-line growth."),
        ("system", "example_assistant", "Things working well together will increase revenue."),
        (
            "system",
            "example_user",
            "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
        ),
        ("system", "example_assistant", "Let's talk later when we're less busy about how to do better."),
        ("user", None, "This late pivot means we don't have time to boil the ocean for the client deliverable."),
    ]
    messages = [{"role": role, "content": said} | ({"name": name} if name else {}) for role, name, said in example]
    assert brim.meter("gpt-4o").count_messages(messages) == 124
    assert brim.meter("gpt-4").count_messages(messages) == 129


def test_a_vocabulary_counts_what_is_no_model_s_own():
    meter, own = brim.meter("o200k_base"), brim.meter("gpt-4o")
    assert meter.count_messages(LOOP) == len(LOOP) * PER_MESSAGE + sum(map(meter.count, SPOKEN)) + 1
    assert own.count_messages(LOOP) - meter.count_messages(LOOP) == len(LOOP) * ROLE + 2 * PER_CALL + REPLY


@pytest.mark.parametrize("name", ["claude-sonnet-4-5", "mistral-large-4", "llama-3.3-70b-instruct", "gemini-2.5-pro"])
def test_ids_count_where_the_maker_is_not_openai_so_that_no_template_makes_the_count_too_small(name):
    meter = brim.meter(name)
    ids = ("call_1", "call_2") * 2
    assert meter.count_messages(LOOP) == of_a_model(meter, *SPOKEN, *ids)
    items = [user("hi"), item_call("call_1", '{"x":1}'), item_output("call_1", "fine")]
    said = ("hi", "f", '{"x":1}', "call_1", "fine", "call_1")
    assert meter.count_messages(items) == of_a_model(
        meter, *said, roles=("user", "assistant", "tool"), names=0, calls=1
    )
    blocks = [user("hi"), says(use("toolu_1", x=1)), gives(answer("toolu_1", "fine"))]
    said = ("hi", "f", '{"x":1}', "toolu_1", "fine", "toolu_1")
    assert meter.count_messages(blocks) == of_a_model(
        meter, *said, roles=("user", "assistant", "user"), names=0, calls=1
    )


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-5", "gpt-oss-120b", "o200k_base", "chars", "chars/4"])
def test_ids_do_not_count_where_the_maker_is_openai_or_there_is_no_model(name):
    meter = brim.meter(name)
    formats = (
        lambda i: [calling(i), result(i)],
        lambda i: [item_call(i), item_output(i)],
        lambda i: [says(use(i)), gives(answer(i))],
    )
    for made in formats:
        assert meter.count_messages(made("i" * 64)) == meter.count_messages(made("i"))


# --- the other shapes


def test_the_objects_of_a_client_library_count_like_their_fields():
    call = Dumped(id="a", type="function", function=Dumped(name="f", arguments="{}"))
    raw = Dumped(role="assistant", content=None, refusal=None, tool_calls=[call])
    assert PIECES.count_messages([user(), raw]) == PIECES.count_messages([user(), calling("a")])


def test_a_shape_can_be_given():
    odd = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "fine"}]}]
    assert PIECES.count_messages(odd, format="anthropic") == PER_MESSAGE + words("fine")
    assert PIECES.count_messages(odd, format="openai") > PIECES.count_messages(odd, format="anthropic")


# --- units that are no tokens


def test_characters_have_no_frame():
    messages = [
        system("rules"),
        {**user("task"), "name": "ann"},
        calling("call_1", arguments='{"x":1}'),
        result("call_1"),
    ]
    said = ("rules", "task", "ann", "f", '{"x":1}', "ok")
    assert CHARS.count_messages(messages) == sum(map(len, said))
    assert brim.meter("chars").count_messages(messages) == sum(map(len, said))
    assert CHARS.count_messages([]) == 0


# --- images and what else is no text


def test_an_image_of_anthropic_costs_by_its_blocks_of_pixels():
    expected = count_media("image", png(280, 280), model="anthropic").units
    assert PIECES.count_messages([gives(picture(png(280, 280)))]) == PER_MESSAGE + expected
    inside = gives(answer("a", [picture(png(280, 280))]))
    assert PIECES.count_messages([inside]) == PER_MESSAGE + expected


def test_the_bytes_of_an_image_are_never_counted_as_text():
    small = pictured("high")
    url = small["content"][0]["image_url"]["url"]
    padded = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": url + "A" * 9_000, "detail": "high"}}],
    }
    assert PIECES.count_messages([padded]) == PIECES.count_messages([small])


# --- tools


def test_tools_are_counted_by_the_rule_of_the_models_maker_whatever_shape_the_messages_are_in():
    meter = meter_for(None, "claude-opus-4-5")
    expected = tool_counts([FLAT], meter.load, "anthropic", model="claude-opus-4-5").total
    messages = [system(), user(), calling("a"), result("a")]
    fitted = brim.fit_messages(messages, 100_000, model="claude-opus-4-5", tools=[FLAT])
    assert fitted.receipt.part("tools").used == expected


@pytest.mark.parametrize(
    ("name", "indent"),
    [("llama-3.1-8b", 4), ("qwen3-8b", None), ("deepseek-v3", None), ("mistral-large-latest", None), ("grok-4", None)],
)
def test_tools_of_open_models_count_no_less_than_the_json_that_their_templates_write(name, indent):
    """In OpenAI's format they were counted by its own rule for a namespace: 53 tokens for 88."""
    meter = brim.meter(name)
    before = meter.count_messages([system(), user()])
    for tools in ([FLAT], [FLAT, DEEP], [FLAT] * 20):
        written = sum(meter.count(json.dumps(tool, ensure_ascii=False, indent=indent)) for tool in tools)
        assert meter.count_messages([system(), user()], tools=tools) - before >= written + 150


# --- exact or estimated


def exact(messages, tools=None, **chosen):
    return brim.fit_messages(messages, 100_000, tools=tools, **chosen).receipt.exact


@pytest.mark.parametrize(
    ("name", "published"),
    [("gpt-4o", True), ("gpt-4", True), ("gpt-3.5-turbo", True), ("gpt-5", False), ("claude-sonnet-4-5", False)],
)
def test_a_count_is_exact_only_where_the_frame_is_published(name, published):
    assert exact([user("hello")], model=name) is published


def test_anthropic_publishes_no_frame_so_its_messages_are_an_estimate_whatever_meter_counts():
    assert exact([user("hello"), model("so")], meter=PIECES, format="openai")
    assert not exact([user("hello"), model("so")], meter=PIECES, format="anthropic")


@pytest.mark.parametrize(
    ("message", "published"),
    [
        (pictured("high"), True),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}, False),
        ({"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]}, False),
        ({"role": "user", "content": [{"type": "odd"}]}, False),
        ({**calling("a"), "content": "so"}, False),
    ],
    ids=["image", "image far away", "file", "unknown", "call"],
)
def test_a_count_is_exact_only_where_every_part_of_it_is(message, published):
    messages = [user("hello"), message] + ([result("a")] if "tool_calls" in message else [])
    assert exact(messages, model="gpt-4o") is published


def test_tools_of_one_fit_do_not_make_an_estimate_of_the_next():
    history = brim.History(model="gpt-4o")
    history.extend([system(), user()])
    assert not history.fit(10_000, tools=[DEEP]).receipt.exact
    assert history.fit(10_000).receipt.exact


def test_a_system_prompt_that_stands_apart_is_counted_like_a_message():
    told = brim.fit_messages([user()], 1_000, meter=PIECES, system="be brief")
    assert told.used == PIECES.count_messages([system("be brief"), user()])
    blocks = brim.fit_messages([user()], 1_000, meter=PIECES, system=[text("be brief"), text("be kind")])
    assert blocks.used == PIECES.count_messages([user()]) + PER_MESSAGE + words("be brief", "be kind")
    assert brim.fit_messages([user()], 1_000, meter=PIECES, system="").used == PIECES.count_messages([user()])


# --- what cannot be counted


@pytest.mark.parametrize(
    ("messages", "format", "told"),
    [
        *((messages, None, "^messages must be a list") for messages in (None, "hello", {"role": "user"}, 5)),
        ([user(), {"content": "x"}], None, r"^messages\[1\] role"),
        *(([user()], format, "^format must be one of") for format in ("chat", "", 5)),
    ],
    ids=str,
)
def test_what_cannot_be_counted_is_named(messages, format, told):
    with pytest.raises(InvalidValue, match=told):
        PIECES.count_messages(messages, format=format)
