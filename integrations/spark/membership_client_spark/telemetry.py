"""Metrics of pipelines and slot jobs, by OpenTelemetry's API: nothing is recorded unless the driver sets up an SDK."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Generic, TypeVar

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Meter, Observation

from membership_client import MemberState
from membership_client_spark.pipeline.interface import EpochsProgress
from membership_client_spark.pipeline.listener import EpochCommitted, EpochsListener, PipelineEnded, PipelineStarted
from membership_client_spark.slot_progress import WAITING, SlotTotals

SCOPE = "membership_client_spark"

# --- attributes ------------------------------------------------------------------------------------------------------

SYSTEM = "messaging.system"
GROUP = "messaging.consumer.group.name"
JOB = "membership.job.name"
SLOT_STATE = "membership.slot.state"
ERROR_TYPE = "error.type"

# --- metrics ---------------------------------------------------------------------------------------------------------

EPOCH_DURATION = "membership.epoch.duration"
EPOCH_RECORDS = "membership.epoch.records"
EPOCH_AGE = "membership.epoch.age"
EPOCH_LAG = "membership.epoch.lag"
EPOCH_FAILURES = "membership.epoch.failures"
SLOTS = "membership.slots"
SLOT_RECORDS = "membership.slot.records"
SLOT_RESTARTS = "membership.slot.restarts"
SLOT_LAG = "membership.slot.lag"

Labels = dict[str, str]
T = TypeVar("T")

_STATES = ("waiting", "starting", "failed", *(state.value for state in MemberState))
_BUCKETS_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""From an epoch of some records to one that takes an hour."""


def labels_of(group_id: str, name: str) -> Labels:
    """`name` is that of the job, which stays the same over restarts, so it makes no new time series."""
    return {SYSTEM: "kafka", GROUP: group_id, JOB: name}


class Running(Generic[T]):
    """The running jobs of this process with their labels. `add` and `discard` are for any thread; exporters iterate."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[object, tuple[Labels, Callable[[], T]]] = {}

    def add(self, key: object, labels: Labels, look: Callable[[], T]) -> None:
        with self._lock:
            self._jobs[key] = labels, look

    def discard(self, key: object) -> None:
        with self._lock:
            self._jobs.pop(key, None)

    def __iter__(self) -> Iterator[tuple[Labels, T]]:
        with self._lock:
            jobs = list(self._jobs.values())
        return ((labels, look()) for labels, look in jobs)


class SparkInstruments:
    """The counters, histograms and gauges that all jobs of the process share."""

    def __init__(self, meter: Meter) -> None:
        self.pipelines: Running[EpochsProgress] = Running()
        self.slot_jobs: Running[SlotTotals] = Running()
        self.epoch_duration = meter.create_histogram(
            EPOCH_DURATION,
            "s",
            "from planning an epoch to its commit",
            explicit_bucket_boundaries_advisory=_BUCKETS_S,
        )
        self.epoch_records = meter.create_counter(EPOCH_RECORDS, "{record}", "records of committed epochs")
        self.epoch_failures = meter.create_counter(EPOCH_FAILURES, "{pipeline}", "pipelines that an error has ended")
        meter.create_observable_gauge(EPOCH_AGE, [self._epoch_age], "s", "since the epoch that runs was planned")
        meter.create_observable_gauge(EPOCH_LAG, [self._epoch_lag], "{record}", "records in no committed epoch")
        meter.create_observable_up_down_counter(SLOTS, [self._slots], "{slot}", "slots in each state")
        meter.create_observable_counter(
            SLOT_RECORDS, [self._slot_records], "{record}", "records that slots have handled"
        )
        meter.create_observable_counter(
            SLOT_RESTARTS, [self._slot_restarts], "{restart}", "how often a new attempt took a slot over"
        )
        meter.create_observable_gauge(SLOT_LAG, [self._slot_lag], "{record}", "records that slots have not handled yet")

    def _epoch_age(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, now in self.pipelines:
            if now.running_s is not None:
                yield Observation(now.running_s, labels)

    def _epoch_lag(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, now in self.pipelines:
            yield Observation(now.lag, labels)

    def _slots(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, now in self.slot_jobs:
            states = Counter("waiting" if one.state == WAITING else one.state for one in now.slots)
            for state in _STATES:
                yield Observation(states[state], {**labels, SLOT_STATE: state})

    def _slot_records(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, now in self.slot_jobs:
            yield Observation(now.records, labels)

    def _slot_restarts(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, now in self.slot_jobs:
            yield Observation(now.restarts, labels)

    def _slot_lag(self, _: CallbackOptions) -> Iterator[Observation]:
        for labels, now in self.slot_jobs:
            yield Observation(sum(one.lag for one in now.slots), labels)


@functools.cache
def of_process() -> SparkInstruments:
    """The driver's provider, whether it is set before or after."""
    return SparkInstruments(metrics.get_meter(SCOPE, _version()))


def _version() -> str:
    """Empty in a checkout that is not installed."""
    try:
        return version("membership-client")
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True, eq=False)
class EpochMetrics(EpochsListener):
    """The metrics of one pipeline, told as its listener."""

    look: Callable[[], EpochsProgress]
    """The progress at this moment; called on exporters' threads."""
    instruments: SparkInstruments

    def on_started(self, event: PipelineStarted) -> None:
        labels = labels_of(event.group_id, event.name)
        self.instruments.pipelines.add(self, labels, self.look)
        self.instruments.epoch_records.add(0, labels)

    def on_epoch(self, event: EpochCommitted) -> None:
        labels = labels_of(event.group_id, event.name)
        self.instruments.epoch_duration.record(event.epoch.seconds, labels)
        self.instruments.epoch_records.add(event.epoch.records, labels)

    def on_ended(self, event: PipelineEnded) -> None:
        self.instruments.pipelines.discard(self)
        if event.error is not None:
            labels = labels_of(event.group_id, event.name) | {ERROR_TYPE: type(event.error).__name__}
            self.instruments.epoch_failures.add(1, labels)
