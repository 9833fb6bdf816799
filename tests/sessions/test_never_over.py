"""No prompt is over the window by the count of a provider whose reports begin low."""

import pytest

import brim
from reported_traffic import DOORS, Case, check
from simulated_provider import LOWEST, ROWS, Provider

OVER = (0, 1, 2, 3, 4, 9, 12, 13, 18, 19, 21, 23)
"""Seeds of conversations in which prompts were over the window when one ratio corrected every count."""


@pytest.mark.parametrize("seed", OVER)
def test_low_reports_on_one_kind_of_text_make_no_room_for_another(seed):
    """ "5,222 for a window of 4,000: 4,008 to 4,452 by the provider's count when base64, German or code followed." """
    check(seed)


@pytest.mark.parametrize("kind", sorted(ROWS))
def test_the_highest_count_of_the_provider_is_near_the_bound(kind):
    for row in ROWS[kind]:
        messages = [{"role": "user", "content": "\n".join([row] * 20)}]
        bound = brim.Session(9_000, model="claude-sonnet-4-5")
        bound.add(messages)
        assert 0.93 < Provider(9_000).size(messages) / bound.estimate() <= 1


@pytest.mark.parametrize("door", sorted(DOORS))
def test_an_honest_provider_is_used_almost_to_the_end(door):
    ratios = dict.fromkeys(ROWS, 0.85)
    case = Case(door, "claude-sonnet-4-5", 6_000, [Provider(6_000, ratios)], sorted(ROWS), False, 0.0)
    sent = case.run(2, 40)
    late = sent[next(at for at, each in enumerate(sent) if each.cut) :]
    assert sum(each.used for each in late) / len(late) > 0.9 * 6_000
    assert sum(each.size for each in late) / len(late) > 0.8 * 6_000


def test_a_report_that_is_about_the_whole_prompt_gives_room_to_what_follows():
    """Low reports are believed for what they are about: without any, the window held less."""
    fills = []
    for unreported in (0.0, 1.0):
        case = Case("session", "claude-sonnet-4-5", 6_000, [Provider(6_000, LOWEST)], ["english"], False, unreported)
        fills.append(max(each.size for each in case.run(2, 25)))
    assert fills[0] > fills[1] * 1.1
    assert max(fills) <= 6_000
