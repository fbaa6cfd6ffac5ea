"""Gauges with a series for each partition: its lag, and which member owns it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from membership_client.telemetry import names
from membership_client.telemetry.live_members import LiveMember, LiveMembers
from membership_client.telemetry.names import owner_labels, partition_labels
from membership_client.types import PartitionProgress, Progress, largest

OfPartition = Callable[[PartitionProgress], float | None]


class PartitionGauges:
    """Lag and owner of each partition. Exporters read them on their own threads."""

    def __init__(self, meter: Meter, live_members: LiveMembers) -> None:
        self._live_members = live_members
        gauge = meter.create_observable_gauge
        gauge(names.PARTITION_LAG, [self._lags], "{record}", "records of a partition that are still to be read")
        gauge(names.PARTITION_TIME_LAG, [self._time_lags], "s", "age of the next record of a partition")
        gauge(names.LAG_MAX, [self._largest_lag], "{record}", "the largest lag of a partition")
        gauge(names.TIME_LAG_MAX, [self._largest_time_lag], "s", "the largest time lag of a partition")
        gauge(names.PARTITION_OWNER, [self._owners], "", "1 for each partition, with the member that owns it")

    def _lags(self, _: CallbackOptions) -> Iterator[Observation]:
        return self._by_partition(lambda one: one.lag)

    def _time_lags(self, _: CallbackOptions) -> Iterator[Observation]:
        return self._by_partition(lambda one: one.time_lag_s)

    def _by_partition(self, number: OfPartition) -> Iterator[Observation]:
        for live, progress in self._progress():
            for partition, one in progress.partitions.items():
                if (value := number(one)) is not None:
                    yield Observation(value, live.labels | partition_labels(partition))

    def _largest_lag(self, _: CallbackOptions) -> Iterable[Observation]:
        return self._largest(lambda one: one.lag)

    def _largest_time_lag(self, _: CallbackOptions) -> Iterable[Observation]:
        return self._largest(lambda one: one.time_lag_s)

    def _largest(self, number: OfPartition) -> Iterator[Observation]:
        """The largest number among the members of this process with the same labels."""
        for labels, group in self._live_members.groups():
            found = [live.progress() for live in group if live.progress is not None]
            value = largest(number(one) for progress in found for one in progress.partitions.values())
            if value is not None:
                yield Observation(value, labels)

    def _progress(self) -> Iterator[tuple[LiveMember, Progress]]:
        for live in self._live_members:
            if live.progress is not None:
                yield live, live.progress()

    def _owners(self, _: CallbackOptions) -> Iterator[Observation]:
        host = socket.gethostname()
        for live in self._live_members:
            member = live.worker.known
            labels = live.labels | owner_labels(member, host)
            for partition in member.owned.named(member.names) if member.epoch > 0 else ():
                yield Observation(1, labels | partition_labels(partition))
