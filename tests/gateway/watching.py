"""Runs `brim` with the arguments after the first, and writes to the folder that the first names all that it tells.

Its log at the loudest, and its telemetry: `watched.py` starts it and reads them.
"""

import logging
import sys
from pathlib import Path


def main():
    folder = Path(sys.argv[1])
    logging.basicConfig(level=logging.DEBUG, filename=folder / "log")
    logging.getLogger("uvicorn.error").setLevel(logging.DEBUG)
    from brim.cli import main as brim
    from brim.observe import watch
    from brim.observe.otel import OpenTelemetry

    tracer, meter = _telemetry((folder / "otel").open("a", buffering=1))
    watch(OpenTelemetry(tracer=tracer, meter=meter))
    sys.exit(brim(sys.argv[2:]))


def _telemetry(out):
    """Return what writes every span and every number to a file at once."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    spans = TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
    reader = PeriodicExportingMetricReader(ConsoleMetricExporter(out=out), export_interval_millis=200)
    return spans.get_tracer("brim"), MeterProvider([reader]).get_meter("brim")


if __name__ == "__main__":
    main()
