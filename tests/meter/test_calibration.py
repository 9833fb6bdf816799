"""An estimate that learns from reported usage: rarely below, soon not far above, the same everywhere."""

import json
import random

import pytest

import brim
from brim.errors import InvalidValue
from brim.meter.calibration import MILLION, Calibrated, Calibration, CallSize
from talk import calling, loop, system, user

QUARTERS = brim.meter("chars/4")
ENGLISH = (
    "The gate of the garden squeaks whenever somebody opens it. Nobody has oiled it since the winter, although the "
    "neighbours complained twice. What it takes is a drop of oil and five minutes of a patient person's time. "
)
CODE = 'def load_file(path: str, *, limit: int = 4096) -> list[str]:\n    """Return its lines."""\n    return open(path).read()[:limit].split("\\n")\n\n'
JSON = '{"id": 48213, "name": "gate", "tags": ["garden", "oil"], "score": 0.8131, "owner": null, "active": true},\n'
CHINESE = "我们今天需要一个新的方法来解决这个问题。他说时间不够了，但是结果很好，学生和老师都在城市里工作。"
KINDS = {"English": ENGLISH, "code": CODE, "JSON": JSON, "Chinese": CHINESE}
TOOL = {
    "name": "search_tickets",
    "description": "Search the tickets of a project by status, author and words in the title; returns at most fifty.",
    "input_schema": {
        "type": "object",
        "properties": {
            "status": {
                "type": "string",
                "enum": ["open", "closed", "merged"],
                "description": "The status to look for.",
            },
            "author": {"type": "string", "description": "The login of the person who opened the ticket."},
            "words": {"type": "array", "items": {"type": "string"}, "description": "Words that the title contains."},
        },
    },
}


def texts(kind, rng, count):
    """Return texts of a kind that differ in their words and sizes."""
    made = []
    for _ in range(count):
        source = KINDS[rng.choice(list(KINDS)) if kind == "mixed" else kind]
        words = (source * 6).split(" ") if source is not CHINESE else list(source * 6)
        rng.shuffle(words)
        made.append((" " if source is not CHINESE else "").join(words[: rng.randrange(20, len(words))]))
    return made


def request(said):
    return [user(text) for text in said]


def learned(truth, kind, calls, inner=QUARTERS):
    """Return a calibration after some calls of a growing session, and the texts of the session."""
    rng = random.Random(f"1{kind}")
    meter, said = Calibrated(inner), []
    known = meter.calibration
    for _ in range(calls):
        said += texts(kind, rng, 3)
        known = known.record(meter.size_of(request(said)), truth.count_messages(request(said)))
    return known, said, rng


@pytest.mark.slow
@pytest.mark.requirement("S3.3", "X4")
@pytest.mark.parametrize(
    ("inner", "vocabulary"), [("chars/4", "gemma3"), ("chars/4", "o200k_base"), ("qwen3", "llama2")]
)
def test_after_twenty_calls_counts_are_not_below_and_little_above(inner, vocabulary):
    truth, meter = brim.meter(vocabulary), brim.meter(inner)
    for kind, most in (*dict.fromkeys(KINDS, 0.08).items(), ("mixed", 0.15)):
        known, said, rng = learned(truth, kind, 20, meter)
        above = []
        for _ in range(15):
            said += texts(kind, rng, 3)
            counting = Calibrated(meter, known)
            took = truth.count_messages(request(said))
            above.append((counting.count_messages(request(said)) - took) / took)
            known = known.record(counting.size_of(request(said)), took)
        assert min(above) >= 0, kind
        assert sum(above) / len(above) < most, kind


def test_tool_schemas_count_as_much_when_counting_as_when_learning():
    # A client with many tools sends more schemas than text: what is learned with them has to hold with them.
    truth, messages, tools = brim.meter("cl100k_base"), [system(), user("Go on.")], [TOOL] * 30
    for name in ("other", "chars/4"):
        meter = Calibrated(brim.meter(name))
        took = truth.count_messages(messages, tools, format="anthropic")
        known = meter.calibration
        for _ in range(20):
            known = known.record(meter.size_of(messages, tools, format="anthropic"), took)
        counted = Calibrated(meter.inner, known).count_messages(messages, tools, format="anthropic")
        assert took <= counted <= 1.08 * took, name


@pytest.mark.parametrize("name", ["other", "gpt-4o"])
def test_the_size_of_a_request_is_its_count(name):
    inner, messages = brim.meter(name), [system(), *loop(3), calling("c9")]
    tool = {"type": "function", "function": {"name": "f", "description": "Does it.", "parameters": {"type": "object"}}}
    size = Calibrated(inner).size_of(messages, [tool])
    assert size.estimate + size.fixed == inner.count_messages(messages, [tool])
    assert size.fixed > 3 * len(messages)


@pytest.mark.parametrize(("calls", "margin"), [(0, 250_000), (1, 250_000), (4, 125_000), (25, 50_000), (100, 30_000)])
def test_the_margin_shrinks_with_evidence(calls, margin):
    known = Calibration()
    for _ in range(calls):
        known = known.record(1_000, 1_200)
    assert known.margin == margin


def test_the_bound_follows_the_highest_recent_ratio():
    known, size = Calibration(), CallSize(estimate=1_000, fixed=7)
    for actual in (1_500, 1_000, 1_100, 1_100):
        known = known.record(1_000, actual)
    assert known.upper(size) == 1_688 + 7  # 1,500 and an eighth
    for _ in range(32):
        known = known.record(1_000, 1_100)
    assert known.upper(size) == 1_146 + 7  # 1,100 and a quarter of a sixth


def test_a_few_tokens_of_structure_in_a_short_prompt_are_not_learned_as_texts():
    short = Calibration().record(29, 38)
    assert short.ratios == ((38 + 483) * MILLION // 512,)
    assert Calibration().record(512, 640).ratios == (1_250_000,)
    assert short.record(2_000, 2_040).rate == 1_020_000 * (MILLION + short.record(1, 1).margin) // MILLION


def test_a_script_that_was_never_seen_is_not_undercounted_for_it():
    truth = brim.meter("cl100k_base")
    known = learned(truth, "English", 30)[0]
    counted = Calibrated(QUARTERS, known).count(CHINESE * 20)
    assert 0.85 * truth.count(CHINESE * 20) <= counted <= 2 * truth.count(CHINESE * 20)
    assert QUARTERS.count(CHINESE * 20) < 0.4 * truth.count(CHINESE * 20)


def test_a_model_that_changes_is_learned_anew():
    known, said, rng = learned(brim.meter("o200k_base"), "Chinese", 20)
    truth = brim.meter("llama2")
    for _ in range(40):
        said = texts("Chinese", rng, 6)
        known = known.record(Calibrated(QUARTERS).size_of(request(said)), truth.count_messages(request(said)))
    counted = Calibrated(QUARTERS, known).count_messages(request(said))
    assert 1 <= counted / truth.count_messages(request(said)) < 1.12


def test_a_calibration_is_whole_numbers_of_bounded_size_that_go_through_json():
    for calls in (0, 3, 160):
        known = Calibration(model="x")
        for call in range(calls):
            known = known.record(1_000 + call, 1_300)
        written = json.dumps(known.to_dict())
        assert Calibration.from_dict(json.loads(written)) == known
        assert len(known.ratios) == min(calls, 16)
        assert len(written) < 400
        assert all(type(number) is int for number in (*known.ratios, known.margin, known.rate))


@pytest.mark.parametrize(
    ("name", "value"),
    [("ratios", ["x"]), ("ratios", [0]), ("ratios", None), ("ratios", [5]), ("calls", -1), ("calls", 3), ("model", 1)],
)
def test_an_invalid_calibration_is_refused(name, value):
    with pytest.raises(InvalidValue, match="calibration"):
        Calibration.from_dict({**Calibration().to_dict(), name: value})
    with pytest.raises(InvalidValue, match="calibration"):
        Calibration.from_dict({})


@pytest.mark.parametrize(("estimated", "actual"), [(-1, 5), (5, -1), ("5", 5), (5, 1.5), (True, 5)])
def test_invalid_usage_is_refused(estimated, actual):
    with pytest.raises(InvalidValue):
        Calibration().record(estimated, actual)


def test_an_answer_without_text_is_not_recorded():
    assert Calibration().record(0, 10).calls == 0
    assert Calibration().record(10, 0).calls == 0
    assert Calibration().record(CallSize(estimate=1, fixed=50), 40).calls == 0


def test_before_the_first_answer_the_bound_is_the_estimates_own():
    inner = brim.meter("claude-sonnet-4-5")
    assert Calibrated(inner).count(ENGLISH) == inner.upper_load(ENGLISH)
    assert Calibrated(inner).overhead == inner.upper(ENGLISH) - inner.upper_load(ENGLISH) > 0
    assert Calibrated(QUARTERS).count(CHINESE * 5) == brim.meter("other").upper_load(CHINESE * 5)


def test_a_system_prompt_apart_is_part_of_the_size():
    meter = Calibrated(brim.meter("other"))
    plain, apart = (meter.size_of([user()], system=text, format="anthropic") for text in (None, ENGLISH))
    assert apart.estimate - plain.estimate == meter.inner.count(ENGLISH)


def test_fixed_tokens_are_not_learned_from():
    known, plain = Calibration(), Calibration()
    for _ in range(20):
        known = known.record(CallSize(estimate=200, fixed=5_000), 5_170)
        plain = plain.record(200, 170)
    assert known == plain
    assert known.upper(CallSize(estimate=200, fixed=5_000)) == 5_000 + plain.upper(CallSize(estimate=200))
