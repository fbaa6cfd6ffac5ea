"""Records telemetry in memory with the SDK's own exporter and reader, and answers the questions of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, MetricReader, NumberDataPoint
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from opentelemetry.trace import Tracer

from membership_client.core.machine import Step
from membership_client.core.member import Member
from membership_client.telemetry import Telemetry
from membership_client.telemetry.backend import MONOTONIC, Backend, Clock
from membership_client.telemetry.metrics import Instruments

Labels = Mapping[str, str]
NO_LABELS: Labels = MappingProxyType({})
Point = NumberDataPoint | HistogramDataPoint

NANOSECONDS = 1_000_000_000


class OpenSpans(SpanProcessor):
    """Counts spans that have begun and not ended."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, span: ReadableSpan, parent_context: object = None) -> None:
        self.count += 1

    def on_end(self, span: ReadableSpan) -> None:
        self.count -= 1


@dataclass
class Recorder:
    """A backend for one test. With a virtual clock, spans begin in 1970."""

    clock: Clock = MONOTONIC
    readers: tuple[MetricReader, ...] = ()
    sampler: Sampler = ALWAYS_ON
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    open: OpenSpans = field(default_factory=OpenSpans)

    def __post_init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = TracerProvider(self.sampler, shutdown_on_exit=False)
        self.provider.add_span_processor(self.open)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader, *self.readers], shutdown_on_exit=False)
        instruments = Instruments(self.meters.get_meter("membership_client"), self.clock.now)
        self.backend = Backend(self.tracer, instruments, lambda: True, self.clock)

    @property
    def tracer(self) -> Tracer:
        return self.provider.get_tracer("membership_client")

    def close(self) -> None:
        self.provider.shutdown()
        self.meters.shutdown()

    def told(self, steps: Iterable[Step], member: Member) -> Telemetry:
        """The recorder of a Telemetry that has observed these steps."""
        telemetry = Telemetry(member, self.backend)
        for step in steps:
            telemetry.on_step(step)
        return telemetry

    def spans(self, name: str | None = None) -> list[ReadableSpan]:
        """All spans, sorted by their beginning."""
        found = [span for span in self.exporter.get_finished_spans() if name in {None, span.name}]
        return sorted(found, key=lambda span: (span.start_time or 0, -(span.end_time or 0)))

    def children(self, parent: ReadableSpan) -> list[ReadableSpan]:
        return [span for span in self.spans() if span.parent and span.parent.span_id == id_of(parent)]

    def points(self, name: str, labels: Labels = NO_LABELS) -> list[Point]:
        """The newest data points of the metric that have these attributes, among others."""
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        metrics = [m for r in data.resource_metrics for scope in r.scope_metrics for m in scope.metrics]
        points: list[Point] = [p for metric in metrics if metric.name == name for p in metric.data.data_points]  # type: ignore[misc]
        return [point for point in points if labels.items() <= dict(point.attributes or {}).items()]

    def count(self, name: str, labels: Labels = NO_LABELS) -> float:
        """The number of values of a histogram; the sum of other metrics."""
        return sum(p.count if isinstance(p, HistogramDataPoint) else p.value for p in self.points(name, labels))

    def total(self, name: str, labels: Labels = NO_LABELS) -> float:
        """The sum of the values of a histogram."""
        return sum(p.sum for p in self.points(name, labels) if isinstance(p, HistogramDataPoint))


def virtual(now: Callable[[], float]) -> Clock:
    return Clock(now, lambda: 0)


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def times(span: ReadableSpan) -> tuple[int, int]:
    """Beginning and end of the span, in nanoseconds."""
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time, span.end_time


def seconds(span: ReadableSpan) -> float:
    began, ended = times(span)
    return (ended - began) / NANOSECONDS


def facts(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})
