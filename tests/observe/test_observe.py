"""Events reach whoever watches, as lines, metrics and spans, and hold no text of a prompt."""

import io
import json
import threading

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from brim import observe
from brim.errors import InvalidValue
from brim.observe.log import JsonLines
from brim.observe.metrics import Family, Metrics


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
    assert "Broken could not take 'prompt_assembled'" in caplog.text


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(InvalidValue, match="event name"):
        event("prompt_asembled")


def test_a_line_of_json_holds_the_event_and_its_fields():
    out = io.StringIO()
    JsonLines(out).observe(event(used_tokens=10, odd={1, 2} - {2}))
    assert json.loads(out.getvalue()) == {
        "event": "prompt_assembled",
        "at": 1_700_000_000.5,
        "session": "s1",
        "model": "gpt-5",
        "used_tokens": 10,
        "odd": "{1}",
    }
    assert out.getvalue().count("\n") == 1


def samples(page):
    """Return the values of a page by name and labels."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line[0] != "#"}


def test_metrics_count_what_the_events_say():
    metrics = Metrics()
    metrics.observe(event(used_tokens=900, budget_tokens=1000, truncated=True, stable_prefix=800))
    metrics.observe(event(used_tokens=100, budget_tokens=1000))
    metrics.observe(event("compacted", freed=500, trigger="cap"))
    metrics.observe(event("warning"))
    metrics.observe(event("sub_tick"))
    metrics.observe(event("overflow", retried=True))
    assert metrics.prompts.value(model="gpt-5") == 2
    assert metrics.input.value(model="gpt-5") == 2
    assert metrics.truncated.value(model="gpt-5") == 1
    assert metrics.compactions.value(model="gpt-5", trigger="cap") == 1
    assert metrics.freed.value(model="gpt-5") == 500
    assert metrics.warnings.value(model="gpt-5") == metrics.sub_ticks.value(model="gpt-5") == 1
    assert metrics.overflows.value(model="gpt-5", retried="true") == 1
    page = samples(metrics.text())
    assert page['brim_input_tokens_sum{model="gpt-5"}'] == 1000
    assert page['brim_budget_use_ratio_bucket{le="0.1",model="gpt-5"}'] == 1
    assert page['brim_budget_use_ratio_bucket{le="+Inf",model="gpt-5"}'] == 2
    assert not any("_created" in name for name in page)


def test_the_page_keeps_to_the_text_format():
    metrics = Metrics()
    name = 'a"b\\c\nd'
    metrics.observe(observe.Event(name="warning", at=0.0, model=name))
    metrics.observe(event(used_tokens=5, budget_tokens=10))
    page = metrics.text()
    assert page.endswith("\n")
    assert "# TYPE brim_warnings_total counter" in page
    read = {family.name: family for family in text_string_to_metric_families(page)}
    assert [sample.labels for sample in read["brim_warnings"].samples] == [{"model": name}]
    assert read["brim_input_tokens"].type == "histogram"


def test_a_page_has_the_sums_of_other_processes():
    one, two = Metrics(), Metrics()
    one.observe(event(used_tokens=5, budget_tokens=10))
    two.observe(event(used_tokens=7, budget_tokens=10))
    two.observe(event("sub_tick"))
    page = samples(one.text([json.loads(json.dumps(two.to_dict()))]))
    assert page['brim_prompts_total{model="gpt-5"}'] == 2
    assert page['brim_input_tokens_bucket{le="4.0",model="gpt-5"}'] == 0
    assert page['brim_input_tokens_bucket{le="16.0",model="gpt-5"}'] == 2
    assert page['brim_input_tokens_sum{model="gpt-5"}'] == 12
    assert page['brim_sub_ticks_total{model="gpt-5"}'] == 1
    assert samples(one.text())['brim_prompts_total{model="gpt-5"}'] == 1


def test_a_registry_of_the_program_takes_the_metrics_too():
    metrics, registry = Metrics(), CollectorRegistry()
    registry.register(metrics)
    metrics.observe(event("warning"))
    assert registry.get_sample_value("brim_warnings_total", {"model": "gpt-5"}) == 1


def test_a_counter_never_goes_down_and_labels_are_bounded():
    family = Family("c_total", "counter", "told")
    for i in range(1_100):
        family.add(model=f"m{i}")
    with pytest.raises(ValueError, match="non-negative"):
        family.add(-1, model="m0")
    assert len(family.samples()) == 1_001
    assert family.value(model="other") == 100
    assert family.total() == 1_100


def test_first_values_of_several_threads_are_all_counted():
    def add(family, start):
        start.wait()
        family.add(model="a")

    for _ in range(50):
        family = Family("c_total", "counter", "told")
        threads = [threading.Thread(target=add, args=(family, start)) for start in [threading.Barrier(4)] * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert family.value(model="a") == 4


def test_a_gauge_is_what_it_was_last_set_to():
    family = Family("g", "gauge", "told")
    assert family.value() == 0
    family.put(4)
    family.put(2.5)
    assert family.value() == 2.5
