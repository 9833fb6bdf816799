"""Events reach whoever watches, as lines, metrics and spans, and hold no text of a prompt."""

import pytest
from prometheus_client import CollectorRegistry

from brim import observe
from brim.errors import InvalidValue
from brim.observe.metrics import Metrics


def event(name="prompt_assembled", **fields):
    return observe.Event(name=name, at=1_700_000_000.5, session="s1", model="gpt-5", fields=fields)


class Seen:
    def __init__(self):
        self.events = []

    def observe(self, event):
        self.events.append(event)


class Broken:
    def observe(self, event):
        raise RuntimeError("the collector is down")


def test_an_event_reaches_those_who_watch_the_process_and_those_it_is_given():
    everywhere, here = Seen(), Seen()
    end = observe.watch(everywhere)
    observe.emit(event(), [here])
    end()
    end()
    observe.emit(event(), [here])
    assert (len(everywhere.events), len(here.events)) == (1, 2)


def test_an_observer_that_fails_is_logged_and_the_others_are_still_told(caplog):
    seen = Seen()
    observe.emit(event(), [Broken(), seen])
    assert len(seen.events) == 1
    assert "Broken failed on the event 'prompt_assembled'" in caplog.text


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(InvalidValue, match="event name"):
        event("prompt_asembled")


def samples(page):
    """Return the values of a page by name and labels."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line[0] != "#"}


def test_metrics_count_what_the_events_say():
    metrics = Metrics()
    metrics.observe(event(used_tokens=900, budget_tokens=1000, truncated=True, stable_prefix=800))
    metrics.observe(event(used_tokens=100, budget_tokens=1000))
    metrics.observe(event("compacted", freed=500, trigger="cap"))
    metrics.observe(event("compacted", freed=-5, trigger="cap"))
    metrics.observe(event("warning"))
    metrics.observe(event("sub_tick"))
    metrics.observe(event("overflow", retried=True))

    def value(name, **labels):
        return metrics.registry.get_sample_value(name, labels)

    assert value("brim_prompts_total", model="gpt-5") == 2
    assert value("brim_input_tokens_count", model="gpt-5") == 2
    assert value("brim_prompts_truncated_total", model="gpt-5") == 1
    assert value("brim_compactions_total", model="gpt-5", trigger="cap") == 2
    assert value("brim_compaction_freed_tokens_total", model="gpt-5") == 500
    assert value("brim_warnings_total", model="gpt-5") == value("brim_sub_ticks_total", model="gpt-5") == 1
    assert value("brim_overflows_total", model="gpt-5", retried="true") == 1
    page = samples(metrics.text())
    assert page['brim_input_tokens_sum{model="gpt-5"}'] == 1000
    assert page['brim_budget_use_ratio_bucket{le="0.1",model="gpt-5"}'] == 1
    assert page['brim_budget_use_ratio_bucket{le="+Inf",model="gpt-5"}'] == 2
    assert not any("_created" in name for name in page)


def test_a_registry_of_the_program_takes_the_metrics_too():
    metrics, registry = Metrics(), CollectorRegistry()
    registry.register(metrics)
    metrics.observe(event("warning"))
    assert registry.get_sample_value("brim_warnings_total", {"model": "gpt-5"}) == 1
