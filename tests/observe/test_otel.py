"""Events as spans and histograms, under the names of the GenAI conventions."""

import pytest

from brim import observe
from brim.observe import otel

trace = pytest.importorskip("opentelemetry.sdk.trace")
metrics = pytest.importorskip("opentelemetry.sdk.metrics")


def told(events, *, inside=False):
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracer = provider.get_tracer("test")
    observer = otel.OpenTelemetry(tracer=tracer, meter=metrics.MeterProvider([reader]).get_meter("test"))
    if inside:
        with tracer.start_as_current_span("chat gpt-5"):
            for event in events:
                observer.observe(event)
    else:
        for event in events:
            observer.observe(event)
    made = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    return spans.get_finished_spans(), {metric.name: metric.data.data_points for metric in made}


PROMPT = observe.Event(
    name="prompt_assembled",
    at=0.0,
    session="s1",
    model="gpt-5",
    fields={"used_tokens": 90, "categories": {"user": 40}, "sections_dropped": ["a"], "none": None},
)
COMPACTED = observe.Event(name="compacted", at=0.0, session="s1", fields={"freed": 10})


def test_an_event_outside_any_span_is_a_span_of_its_own():
    spans, counted = told([PROMPT])
    assert spans[0].name == "brim.prompt_assembled"
    assert dict(spans[0].attributes) == {
        "gen_ai.conversation.id": "s1",
        "gen_ai.request.model": "gpt-5",
        "brim.used_tokens": 90,
        "brim.categories.user": 40,
        "brim.sections_dropped": ("a",),
    }
    point = counted["gen_ai.client.token.usage"][0]
    assert (point.sum, dict(point.attributes)) == (90, {"gen_ai.token.type": "input", "gen_ai.request.model": "gpt-5"})
    assert counted["brim.events"][0].value == 1


def test_an_event_inside_a_span_is_added_to_it():
    spans, _ = told([COMPACTED], inside=True)
    assert [span.name for span in spans] == ["chat gpt-5"]
    assert spans[0].events[0].name == "brim.compacted"
    assert spans[0].attributes["gen_ai.conversation.compacted"] is True
