"""Members that keep what happened to them, the group of a test, and functions that wait for a condition."""

from __future__ import annotations

import functools
import itertools
import math
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from membership_client import (
    CallbackContext,
    GroupMember,
    LeaveMode,
    MemberConfig,
    MemberState,
    RebalanceListener,
    Snapshot,
    TopicPartition,
)
from membership_client.core.events import Effect
from membership_client.core.machine import Step
from membership_client.testing import ClusterAdmin, GroupDescription, KafkaCluster

T = TypeVar("T")

PATIENCE_S = 40.0
"""How long a test waits for a condition on a busy machine. Only a failure takes so long."""

QUICK = {"consumer_heartbeat_interval_ms": 200, "consumer_assignment_interval_ms": 0}
"""Group settings for tests that are not about these: heartbeats come often, and assignments at once."""


def eventually(check: Callable[[], T], what: str, timeout_s: float = PATIENCE_S) -> T:
    """The first true value of `check`; an AssertionError that names `what` if there is none in time."""
    give_up_at = time.monotonic() + timeout_s
    while not (value := check()):
        assert time.monotonic() < give_up_at, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.02)
    return value


@dataclass(slots=True)
class Call:
    """One callback: what it was given, and when it ran."""

    kind: str
    partitions: frozenset[TopicPartition]
    context: CallbackContext
    began_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None


class RecordingListener(RebalanceListener):
    """Records every callback; `assigned`, `revoked` and `lost` are called in the callbacks of that name."""

    def __init__(self, **actions: Callable[[Call], None]) -> None:
        self.calls: list[Call] = []
        self._actions = actions

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._record(Call("assigned", frozenset(partitions), context))

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._record(Call("revoked", frozenset(partitions), context))

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        self._record(Call("lost", frozenset(partitions), context))

    def of(self, kind: str) -> list[Call]:
        """The calls of one kind, in order."""
        return [call for call in self.calls if call.kind == kind]

    def _record(self, call: Call) -> None:
        self.calls.append(call)
        try:
            if call.kind in self._actions:
                self._actions[call.kind](call)
        finally:
            call.ended_at = time.monotonic()


class WatchedMember(GroupMember):
    """A GroupMember that keeps its callbacks and its steps."""

    def __init__(self, config: MemberConfig, listener: RecordingListener) -> None:
        self.listener = listener
        self.steps: list[Step] = []
        super().__init__(config, listener=listener, observers=(self.steps.append,))

    @property
    def calls(self) -> list[Call]:
        return self.listener.calls

    @property
    def states(self) -> list[MemberState]:
        """The states it went through, in order."""
        return [step.after.state for step in self.steps if step.after.state is not step.before.state]

    @property
    def effects(self) -> list[Effect]:
        """All effects of the member, in order."""
        return [effect for step in self.steps for effect in step.effects]

    def wait(self, condition: MemberState | Callable[[Snapshot], bool]) -> Snapshot:
        """Wait for the state, for as long as PATIENCE_S."""
        return self.wait_until(condition, PATIENCE_S)

    def wait_stable(self) -> Snapshot:
        return self.wait(MemberState.STABLE)


class Group:
    """A group of a test's own, with a topic of its own and the members that the test makes."""

    def __init__(self, bootstrap_servers: str, name: str) -> None:
        self.id = f"{name}-{uuid.uuid4().hex[:8]}"
        self.topic = f"{self.id}-topic"
        self.bootstrap_servers = bootstrap_servers
        self.admin = ClusterAdmin(bootstrap_servers)
        self.members: list[WatchedMember] = []

    def member(
        self, instance_id: str | None = None, listener: RecordingListener | None = None, **config: Any
    ) -> WatchedMember:
        """A member that has not subscribed yet."""
        settings: dict[str, Any] = {"bootstrap_servers": self.bootstrap_servers, "group_id": self.id}
        full = MemberConfig(**(settings | {"group_instance_id": instance_id} | config))
        member = WatchedMember(full, listener or RecordingListener())
        self.members.append(member)
        return member

    def join(
        self, instance_id: str | None = None, listener: RecordingListener | None = None, **config: Any
    ) -> WatchedMember:
        """A member that has subscribed to the group's topic; nothing is awaited."""
        member = self.member(instance_id, listener, **config)
        member.subscribe([self.topic])
        return member

    def create_topic(self, name: str, partitions: int) -> None:
        """Returns when a coordinator would assign it, which is a little later than when brokers tell clients of it."""
        probe_id = f"{name}-probe"
        self.admin.set_group_config(probe_id, **QUICK)
        self.admin.create_topic(name, partitions)
        with GroupMember({"bootstrap.servers": self.bootstrap_servers, "group.id": probe_id}) as probe:
            probe.subscribe([name])
            probe.wait_until(lambda snapshot: len(snapshot.owned) == partitions, PATIENCE_S)

    def partitions(self, count: int) -> frozenset[TopicPartition]:
        """The first `count` partitions of the group's topic."""
        return frozenset(TopicPartition(self.topic, number) for number in range(count))

    def describe(self) -> GroupDescription:
        return self.admin.describe(self.id)

    @property
    def epoch(self) -> int:
        return self.admin.group_epoch(self.id)

    def knows(self, member_id: str) -> bool:
        """Does the coordinator count it as a member?"""
        return any(member.member_id == member_id for member in self.describe().members)

    def join_alone(self, listener: RecordingListener | None = None) -> WatchedMember:
        """A member that owns all six partitions."""
        member = self.join(listener=listener)
        self.wait_for_shares([member], self.partitions(6))
        return member

    def wait_for_shares(self, members: Iterable[WatchedMember], partitions: Iterable[TopicPartition]) -> None:
        """Wait until all members report the newest epoch, and together own each partition once."""
        wanted, watched = Counter(partitions), list(members)
        eventually(lambda: self._shares(watched) == wanted, f"each of {len(wanted)} partitions with one stable owner")

    def _shares(self, members: list[WatchedMember]) -> Counter[TopicPartition]:
        """How many members own each partition; empty while the group is not settled."""
        snapshots = [member.snapshot for member in members]
        if any(snapshot.state is not MemberState.STABLE for snapshot in snapshots):
            return Counter()
        group = self.describe()
        known = {member.member_id: (group.epoch, member.current) for member in group.members}
        told = {snapshot.member_id: (snapshot.epoch, snapshot.owned) for snapshot in snapshots}
        settled = group.state == "Stable" and told == known
        return Counter(partition for s in snapshots for partition in s.owned) if settled else Counter()

    def remove(self, member_id: str, instance_id: str | None = None) -> None:
        self.admin.remove_member(self.id, member_id, instance_id)

    def close(self) -> None:
        """Close all members at the same time, because some may be without a broker."""
        if self.members:
            with ThreadPoolExecutor(len(self.members)) as pool:
                list(pool.map(lambda member: member.close(LeaveMode.LEAVE, timeout_s=1), self.members))


class HasSnapshot(Protocol):
    """A member of either kind, or a consumer."""

    @property
    def snapshot(self) -> Snapshot: ...


def block_through_heartbeats(member: HasSnapshot, count: int = 5) -> None:
    """Blocks the calling thread until the coordinator has confirmed the member `count` more times.

    Shows that a session would not end while a thread is blocked, without a session that a busy machine can starve.
    """
    for _ in range(count):
        before = _confirmed_at(member)
        eventually(functools.partial(_is_confirmed_since, member, before), "the next confirmed heartbeat")


def _is_confirmed_since(member: HasSnapshot, time_s: float) -> bool:
    return _confirmed_at(member) > time_s + 0.05


def _confirmed_at(member: HasSnapshot) -> float:
    age_s = member.snapshot.heartbeat_age_s
    return -math.inf if age_s is None else time.monotonic() - age_s


def log_about(cluster: KafkaCluster, text: str) -> Callable[[], str]:
    """Reads the lines in which the brokers mention it."""

    def read() -> str:
        lines = (line for broker in cluster.brokers for line in cluster.log(broker).splitlines())
        return "\n".join(line for line in lines if text in line)

    return read


def assert_never_shared(members: Iterable[WatchedMember]) -> None:
    """Assert that no partition was held by two members at any moment, from the start of assigned to the end of revoked callbacks."""
    spans = sorted(span for member in members for span in _spans(member.calls))
    for (partition, _, end), (following, start, _) in itertools.pairwise(spans):
        assert partition != following or end <= start, f"{partition} was held twice at the same time"


def _spans(calls: list[Call]) -> list[tuple[TopicPartition, float, float]]:
    """Partition, start and end of every time it was held; the end is infinite where it is still held."""
    held: dict[TopicPartition, float] = {}
    spans: list[tuple[TopicPartition, float, float]] = []
    for call in list(calls):
        for partition in call.partitions:
            if call.kind == "assigned":
                held.setdefault(partition, call.began_at)
            elif partition in held:
                spans.append((partition, held.pop(partition), call.ended_at or float("inf")))
    return spans + [(partition, start, float("inf")) for partition, start in held.items()]
