"""Every counter and histogram there is. One set per process: members differ in their labels."""

from __future__ import annotations

import time
from collections.abc import Callable

from opentelemetry.metrics import Histogram, Meter

from membership_client.telemetry import names
from membership_client.telemetry.gauges import Gauges
from membership_client.telemetry.live_members import LiveMembers

_REQUEST_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""As the messaging conventions advise."""
_REBALANCE_BUCKETS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""From a round trip to twice the default poll interval, which is how long a group waits for one member."""


class Instruments:
    def __init__(self, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        self._meter = meter
        self.rebalance_duration = self._histogram(names.REBALANCE_DURATION, "from one rest to the next", slow=True)
        self.phase_duration = self._histogram(names.PHASE_DURATION, "one phase of a rebalance", slow=True)
        self.callback_duration = self._histogram(names.CALLBACK_DURATION, "a callback, while it runs", slow=True)
        self.heartbeat_duration = self._histogram(names.HEARTBEAT_DURATION, "from a heartbeat to its answer")
        self.operation_duration = self._histogram(names.OPERATION_DURATION, "a commit, with its retries")
        self.rebalance_failures = meter.create_counter(
            names.REBALANCE_FAILURES, "{rebalance}", "rebalances that came to nothing"
        )
        self.fences = meter.create_counter(names.FENCES, "{fence}", "how often the coordinator dropped a member")
        self.warnings = meter.create_counter(names.WARNINGS, "{warning}", "how often a budget was running out")
        self.moved = meter.create_counter(names.MOVED, "{partition}", "partitions that changed hands")
        self.poll_time = meter.create_counter(names.POLL_TIME, "s", "inside poll() and between two polls")
        self.live_members = LiveMembers()
        self._gauges = Gauges(meter, self.live_members, clock)

    def _histogram(self, name: str, description: str, *, slow: bool = False) -> Histogram:
        buckets = _REBALANCE_BUCKETS_S if slow else _REQUEST_BUCKETS_S
        return self._meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=buckets)
