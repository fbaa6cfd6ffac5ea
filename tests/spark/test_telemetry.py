"""Metrics of pipelines and slot jobs: the numbers that exporters get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from membership_client_spark import EpochReport, EpochsProgress, telemetry
from membership_client_spark.incarnation import Incarnation
from membership_client_spark.pipeline.listener import Events
from membership_client_spark.slot_progress import ProgressRegistry
from membership_client_spark.telemetry import EpochMetrics, SparkInstruments, labels_of

LABELS = {
    "messaging.system": "kafka",
    "messaging.consumer.group.name": "shop",
    "membership.job.name": "orders",
}


@dataclass
class Exported:
    """What an exporter would get at this moment."""

    reader: InMemoryMetricReader
    instruments: SparkInstruments

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return [
            point
            for scope in scopes
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    def values(self, name: str) -> list[tuple[dict[str, Any], float]]:
        return [(dict(point.attributes), point.value) for point in self.points(name)]


@pytest.fixture
def exported() -> Iterator[Exported]:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    yield Exported(reader, SparkInstruments(provider.get_meter("test")))
    provider.shutdown()


def progress(running_s: float | None = None) -> EpochsProgress:
    running = None if running_s is None else 3
    return EpochsProgress(epochs=2, records=30, last=None, running=running, running_s=running_s, slots=())


def test_epochs_are_counted_and_timed(exported: Exported) -> None:
    """By group and name of the job. The counter begins at 0, so that an increase of the first epoch is seen."""
    events = Events("orders", "shop")
    events.add(EpochMetrics(progress, exported.instruments))
    events.started()
    assert exported.values("membership.epoch.records") == [(LABELS, 0)]
    for epoch in (1, 2):
        events.epoch(EpochReport(epoch, (), 10 * epoch, None, 0.25), progress())
    assert exported.values("membership.epoch.records") == [(LABELS, 30)]
    (point,) = exported.points("membership.epoch.duration")
    assert (dict(point.attributes), point.count, point.sum) == (LABELS, 2, 0.5)


def test_the_gauges_are_those_of_the_running_pipeline(exported: Exported) -> None:
    """The age of an epoch is there while one runs, and nothing is when the pipeline has ended."""
    now = [progress()]
    events = Events("orders", "shop")
    events.add(EpochMetrics(lambda: now[0], exported.instruments))
    events.started()
    assert exported.values("membership.epoch.lag") == [(LABELS, 0)]
    assert exported.values("membership.epoch.age") == []
    now[0] = progress(running_s=7.5)
    assert exported.values("membership.epoch.age") == [(LABELS, 7.5)]
    events.ended(progress(), None)
    assert exported.values("membership.epoch.age") == exported.values("membership.epoch.lag") == []
    assert exported.values("membership.epoch.failures") == []


def test_an_error_that_ended_a_pipeline_is_counted_by_its_type(exported: Exported) -> None:
    """Its message is never told, because it may quote a record."""
    events = Events("orders", "shop")
    events.add(EpochMetrics(progress, exported.instruments))
    events.started()
    events.ended(progress(), ValueError("two pears"))
    assert exported.values("membership.epoch.failures") == [(LABELS | {"error.type": "ValueError"}, 1)]


def test_slots_are_counted_by_state_zeros_included(exported: Exported) -> None:
    """Also those that wait for a free core."""
    registry = ProgressRegistry()
    registry.expect(0)
    registry.expect(1)
    exported.instruments.slot_jobs.add("job", labels_of("shop", "orders"), registry.totals)
    registry.hear(0, Incarnation(1, 1), {"host": "h"})
    registry.hear(0, Incarnation(1, 1), {"report": report("stable", records=7, lag=5)})
    states = {labels["membership.slot.state"]: count for labels, count in exported.values("membership.slots")}
    assert {state: count for state, count in states.items() if count} == {"stable": 1, "waiting": 1}
    assert {"starting", "failed", "joining", "fatal"} < states.keys()
    assert exported.values("membership.slot.records") == [(LABELS, 7)]
    assert exported.values("membership.slot.lag") == [(LABELS, 5)]


def test_the_sums_of_slots_never_fall(exported: Exported) -> None:
    """A slot that is restarted, and one that is removed, have handled what they have."""
    registry = ProgressRegistry()
    for slot in (0, 1):
        registry.expect(slot)
        registry.hear(slot, Incarnation(1, 1), {"host": "h"})
        registry.hear(slot, Incarnation(1, 1), {"report": report("stable", records=10, lag=5)})
    registry.hear(1, Incarnation(1, 2), {"host": "h"})
    exported.instruments.slot_jobs.add("job", labels_of("shop", "orders"), registry.totals)
    registry.forget(1)
    assert exported.values("membership.slot.records") == [(LABELS, 20)]
    assert exported.values("membership.slot.restarts") == [(LABELS, 1)]
    exported.instruments.slot_jobs.discard("job")
    assert exported.values("membership.slot.records") == []


def test_every_name_is_documented() -> None:
    """Metrics and attributes, on the page of telemetry."""
    page = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text()
    told = [name for key, name in vars(telemetry).items() if key.isupper() and isinstance(name, str) and "." in name]
    assert len(told) > 10
    assert [name for name in told if f"`{name}`" not in page] == []


def report(state: str, *, records: int, lag: int) -> dict[str, Any]:
    return {"state": state, "partitions": [], "records": records, "rate": 1.0, "lag": lag}
