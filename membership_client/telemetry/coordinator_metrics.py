"""The metrics of one member's membership that are pushed to brokers, by the names of Java's consumer (KIP-714)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from membership_client.core.events import CallbackKind
from membership_client.runtime.rebalance_tracker import (
    CallbackEnded,
    Fact,
    RebalanceEnded,
    RebalanceFailed,
    RebalanceTracker,
)
from membership_client.telemetry.metrics import confirmed_at, heartbeat_outcome
from membership_client.telemetry.otlp import Metric
from membership_client.telemetry.push_schedule import PREFIX
from membership_client.types import MemberState

if TYPE_CHECKING:
    from membership_client.core.machine import Step
    from membership_client.core.member import Member

_CALLBACKS = {
    CallbackKind.ASSIGNED: "partition.assigned",
    CallbackKind.REVOKED: "partition.revoked",
    CallbackKind.LOST: "partition.lost",
}
_MOST_COMMITS = 10_000
"""Most commits that wait for the membership thread. Each commit wakes the thread, so few wait."""
_MS = 1000.0


class CoordinatorMetrics:
    """Counts what `read` returns. `on_step` and `read` are for the membership thread; `committed` is for any thread.

    Latencies are in milliseconds. Averages and maxima are those since the last reading, and left out if there were none.
    """

    def __init__(self, now_ns: int) -> None:
        self._tracker = RebalanceTracker()
        self._totals = dict.fromkeys(("rebalance.total", "rebalance.latency.total", "failed.rebalance.total"), 0.0)
        self._totals |= dict.fromkeys(("heartbeat.total", "commit.total"), 0.0)
        self._read_totals = dict.fromkeys(self._totals, 0.0)
        self._latencies: dict[str, list[float]] = {}
        """By name, of the latencies since the last reading: their number, sum and maximum."""
        self._commits: deque[float] = deque(maxlen=_MOST_COMMITS)
        self._began_ns = self._read_ns = now_ns

    def on_step(self, step: Step) -> None:
        self._take_commits()
        if (heartbeat := heartbeat_outcome(step)) is not None:
            self._totals["heartbeat.total"] += 1
            if heartbeat.error is None:
                self._add("heartbeat.response.time", heartbeat.took_s)
        for fact in self._tracker.follow(step):
            self._count(fact)

    def committed(self, took_s: float) -> None:
        """A commit of this member has succeeded."""
        self._commits.append(took_s)

    def read(self, member: Member, now: float, now_ns: int, *, delta: bool) -> list[Metric]:
        """All metrics. With `delta`, sums count since the last reading, and else since the member was made."""
        self._take_commits()
        found = [*self._sums(delta=delta), *self._gauges(member, now)]
        self._latencies.clear()
        self._read_totals, self._read_ns = dict(self._totals), now_ns
        return found

    def _count(self, fact: Fact) -> None:
        match fact:
            case RebalanceEnded(outcome=MemberState.STABLE.value):
                took_s = fact.at - fact.began.at
                self._totals["rebalance.total"] += 1
                self._totals["rebalance.latency.total"] += took_s * _MS
                self._add("rebalance.latency", took_s)
            case RebalanceFailed():
                self._totals["failed.rebalance.total"] += 1
            case CallbackEnded(returned=True):
                self._add(f"{_CALLBACKS[fact.kind]}.latency", fact.at - fact.began_at)

    def _take_commits(self) -> None:
        while self._commits:
            self._totals["commit.total"] += 1
            self._add("commit.latency", self._commits.popleft())

    def _add(self, name: str, took_s: float) -> None:
        count, total, most = self._latencies.get(name, (0.0, 0.0, 0.0))
        self._latencies[name] = [count + 1, total + took_s * _MS, max(most, took_s * _MS)]

    def _sums(self, *, delta: bool) -> Iterator[Metric]:
        since_ns = self._read_ns if delta else self._began_ns
        for name, total in self._totals.items():
            value = total - self._read_totals[name] if delta else total
            yield Metric(name=PREFIX + name, value=value, sum_since_ns=since_ns)

    def _gauges(self, member: Member, now: float) -> Iterator[Metric]:
        yield _gauge("assigned.partitions", len(member.owned))
        if (at := confirmed_at(member)) is not None:
            yield _gauge("last.heartbeat.seconds.ago", now - at)
        if self._tracker.settled_at is not None:
            yield _gauge("last.rebalance.seconds.ago", now - self._tracker.settled_at)
        for name, (count, total, most) in self._latencies.items():
            if not name.startswith("heartbeat"):  # Java has only the maximum of it.
                yield _gauge(f"{name}.avg", total / count)
            yield _gauge(f"{name}.max", most)


def _gauge(name: str, value: float) -> Metric:
    return Metric(name=PREFIX + name, value=value)
