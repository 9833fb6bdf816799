"""An estimate that learns from reported usage: never far below, soon not far above, the same everywhere."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brim
from brim.errors import InvalidValue
from brim.meter.calibrated import Calibrated, begin
from brim.meter.calibration import NOTHING, Calibration, Mix
from brim.meter.traits import NAMES, USUAL, traits
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


def texts(kind, rng, count):
    """Return texts of a kind that differ in their words and sizes."""
    made = []
    for _ in range(count):
        source = KINDS[rng.choice(list(KINDS)) if kind == "mixed" else kind]
        words = (source * 6).split(" ") if source is not CHINESE else list(source * 6)
        rng.shuffle(words)
        made.append((" " if source is not CHINESE else "").join(words[: rng.randrange(20, len(words))]))
    return made


def learned(truth, kind, calls, inner=QUARTERS, seed=1):
    """Return what a session knows after its calls, and its texts so far."""
    rng = random.Random(f"{seed}{kind}")
    meter, known, said = Calibrated(inner), begin(inner), []
    for _ in range(calls):
        said += texts(kind, rng, 3)
        known = known.record(sum(map(meter.mix, said), start=NOTHING), sum(map(truth.count, said)))
    return known, said, rng


@pytest.mark.requirement("S3.3", "X4")
@pytest.mark.parametrize("vocabulary", ["o200k_base", "cl100k_base", "gemma3", "llama2"])
@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
@pytest.mark.parametrize("inner", ["chars/4", "qwen3"])
def test_after_twenty_calls_counts_are_not_below_and_little_above(vocabulary, kind, inner):
    truth, meter = brim.meter(vocabulary), brim.meter(inner)
    known, said, rng = learned(truth, kind, 20, meter)
    above = []
    for _ in range(15):
        said += texts(kind, rng, 3)
        counted = sum(map(Calibrated(meter, known).count, said))
        took = sum(map(truth.count, said))
        above.append((counted - took) / took)
        known = known.record(sum(map(Calibrated(meter, known).mix, said), start=NOTHING), took)
    assert min(above) >= -0.01
    assert sum(above) / len(above) < 0.05


def test_the_bound_tightens_with_evidence():
    truth = brim.meter("gemma3")
    margins = [learned(truth, "mixed", calls)[0].margin for calls in (0, 1, 5, 10, 20, 40)]
    assert margins == sorted(margins, reverse=True)
    assert margins[0] == 300_000
    assert margins[-1] < 20_000


def test_a_script_that_was_never_seen_is_not_undercounted_for_it():
    truth = brim.meter("cl100k_base")
    known = learned(truth, "English", 30)[0]
    counted = Calibrated(QUARTERS, known).count(CHINESE * 20)
    assert counted >= 0.9 * truth.count(CHINESE * 20)
    assert QUARTERS.count(CHINESE * 20) < 0.4 * truth.count(CHINESE * 20)


def test_an_estimate_alone_teaches_a_ratio():
    known = begin(QUARTERS)
    for estimated in range(1_000, 21_000, 1_000):
        known = known.record(estimated, estimated * 3 // 2)
    meter = Calibrated(QUARTERS, known)
    assert 1_500 <= meter.count("word " * 800) <= 1_600
    assert known.calls == 20
    assert known.mixes == 0


def test_a_model_that_changes_is_learned_anew():
    known, said, rng = learned(brim.meter("o200k_base"), "Chinese", 20)
    truth = brim.meter("llama2")
    for _ in range(100):
        said = texts("Chinese", rng, 6)
        known = known.record(sum(map(Calibrated(QUARTERS).mix, said), start=NOTHING), sum(map(truth.count, said)))
    counted = sum(map(Calibrated(QUARTERS, known).count, said))
    assert 1 <= counted / sum(map(truth.count, said)) < 1.12


def test_what_is_known_is_bounded_however_many_calls():
    sizes = [len(json.dumps(learned(brim.meter("o200k_base"), "code", calls)[0].to_dict())) for calls in (40, 160)]
    assert sizes[1] < 1.2 * sizes[0]


def test_sums_stop_growing():
    mix = Calibrated(QUARTERS).mix(ENGLISH)
    known = begin(QUARTERS)
    sums = []
    for _ in range(400):
        known = known.record(mix, 50)
        sums.append(max(known.gram) + known.actual)
    assert sums[-1] < 70 * sums[0]


def test_every_machine_learns_the_same_numbers():
    known = learned(brim.meter("o200k_base"), "mixed", 20)[0]
    assert all(type(number) is int for number in (*known.prices, *known.gram, *known.errors, known.margin))
    assert learned(brim.meter("o200k_base"), "mixed", 20)[0] == known


def test_it_goes_through_json_and_back():
    for known in (begin(QUARTERS, "x"), learned(brim.meter("o200k_base"), "mixed", 3)[0]):
        assert Calibration.from_dict(json.loads(json.dumps(known.to_dict()))) == known


@pytest.mark.parametrize(
    ("name", "value"),
    [("gram", [1]), ("prices", [1]), ("errors", ["x"]), ("calls", -1), ("moments", None), ("proxy", 1), ("model", 1)],
)
def test_json_that_is_none_is_refused(name, value):
    with pytest.raises(InvalidValue, match="calibration"):
        Calibration.from_dict({**Calibration().to_dict(), name: value})
    with pytest.raises(InvalidValue, match="calibration"):
        Calibration.from_dict({})


@pytest.mark.parametrize(("estimated", "actual"), [(-1, 5), (5, -1), ("5", 5), (5, 1.5), (True, 5)])
def test_usage_that_cannot_be_is_refused(estimated, actual):
    with pytest.raises(InvalidValue):
        Calibration().record(estimated, actual)


def test_a_call_that_tells_nothing_is_not_counted():
    assert Calibration().record(0, 10).calls == 0
    assert Calibration().record(10, 0).calls == 0
    assert Calibration().record(Mix(estimate=1, traits=NOTHING.traits, fixed=50), 40).calls == 0


def test_before_the_first_call_the_own_bound_of_an_estimate_holds():
    inner = brim.meter("claude-sonnet-4-5")
    meter = Calibrated(inner)
    assert meter.count(ENGLISH) == inner.upper(ENGLISH)
    assert Calibrated(QUARTERS).count(CHINESE * 5) > 1.1 * brim.meter("o200k_base").count(CHINESE * 5)


def test_a_request_is_mixed_of_its_texts_and_what_is_fixed():
    tool = {"type": "function", "function": {"name": "f", "description": "Does it.", "parameters": {"type": "object"}}}
    messages = [system(), *loop(3), calling("c9")]
    for name in ("chars/4", "gpt-4o", "claude-sonnet-4-5"):
        inner = brim.meter(name)
        mix = Calibrated(inner).mix_of(messages, [tool])
        counted = inner.count_messages(messages, [tool])
        assert abs(mix.estimate + mix.fixed - counted) <= len(messages) + 4, name
        assert mix.traits[NAMES.index("words")] > 0


def test_a_system_prompt_apart_is_in_the_mix():
    meter = Calibrated(QUARTERS)
    apart = meter.mix_of([user()], system=ENGLISH, format="anthropic")
    assert apart.estimate >= QUARTERS.count(ENGLISH)


def test_what_is_fixed_is_not_learned_from():
    known, plain = begin(QUARTERS), begin(QUARTERS)
    meter = Calibrated(QUARTERS)
    for _ in range(20):
        mix = meter.mix(ENGLISH * 4)
        known = known.record(Mix(estimate=mix.estimate, traits=mix.traits, fixed=5_000), 5_170)
        plain = plain.record(mix, 170)
    assert known == plain
    assert known.upper(Mix(estimate=mix.estimate, traits=mix.traits, fixed=5_000)) == 5_000 + plain.upper(mix)


def test_counts_of_the_old_meter_are_not_the_new_ones_and_its_mixes_are_shared():
    first = Calibrated(QUARTERS)
    first.count(ENGLISH)
    known = first.calibration.record(first.mix(ENGLISH), 500)
    second = Calibrated(QUARTERS, known, like=first)
    assert second.count(ENGLISH) != first.count(ENGLISH)
    assert second.mix(ENGLISH) is first.mix(ENGLISH)
    assert second.name == "chars/4, calibrated by 1 calls"


@settings(max_examples=60)
@given(st.text(), st.integers(0, 60))
def test_cuts_are_never_over_the_limit(text, limit):
    meter = Calibrated(QUARTERS)
    assert meter.count(meter.head(text, limit)) <= limit
    assert meter.count(meter.tail(text, limit)) <= limit
    assert (meter.count(text) == 0) == (text == "")


@given(st.text())
def test_traits_are_whole_numbers_for_any_text(text):
    found = traits(text)
    assert len(found) == len(NAMES) == len(USUAL)
    assert all(number >= 0 for number in found)


def test_traits_count_what_they_say():
    found = dict(zip(NAMES, traits("loadFile  42 (x) ---- 你好\n"), strict=True))
    assert found["words"] == 2
    assert found["capitals inside words"] == 1
    assert found["numbers"] == 1
    assert found["digits"] == 2
    assert found["runs of marks"] == 3
    assert found["runs of four marks and more"] == 1
    assert found["Han and kana"] == 2
    assert found["runs of spaces"] == 1
    assert found["line breaks"] == 1
