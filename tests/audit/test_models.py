from brim.audit import Policy
from brim.audit.models import facts_of
from brim.meter import catalogue


def test_a_long_prompt_costs_what_long_prompts_cost():
    facts = facts_of("claude-sonnet-4-5", None)
    prices = catalogue.find("claude-sonnet-4-5").prices
    (above, dearer), *_ = prices.tiers
    assert facts.cost(above, 0, written=True) == above * round(prices.cache_write * 1e6)
    assert facts.cost(above + 1, 1, written=True) == above * round(dearer.cache_write * 1e6) + round(
        dearer.cached_read * 1e6
    )
    least = facts.minimum
    assert facts.cost(least, 0, written=True) == least * round(prices.cache_write * 1e6)
    assert facts.cost(least - 1, 0, written=True) == (least - 1) * round(prices.input * 1e6), "too short to be kept"
    assert (facts.cached(least), facts.cached(least - 1)) == (least, 0)


def test_an_answer_costs_what_the_prompt_costs_and_its_own_price():
    facts, prices = facts_of("gpt-4o", None), catalogue.find("gpt-4o").prices
    assert facts.cost(10, 0, 5) == 10 * round(prices.input * 1e6) + 5 * round(prices.output * 1e6)


def test_a_window_that_is_passed_takes_the_place_of_the_catalogue_s():
    known = catalogue.find("gpt-4o")
    assert facts_of("gpt-4o", None).room(1_000) == known.window - 1_000
    assert facts_of("gpt-4o", 5_000).room(1_000) == facts_of("nobody-knows", 5_000).room(1_000) == 4_000
    assert facts_of("nobody-knows", None).room(1_000) is None
    for options, room in (({"reserve": 2_000}, 3_000), ({"reserve": 500}, 4_000), ({"cap": 0.5}, 2_500)):
        assert facts_of("nobody-knows", 5_000).room(1_000, Policy(name="own", **options)) == room
    policy = Policy(name="own", window=6_000)
    assert facts_of("nobody-knows", None).room(1_000, policy) == facts_of("gpt-4o", None).room(1_000, policy) == 5_000
