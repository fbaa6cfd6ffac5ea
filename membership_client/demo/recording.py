"""The recorded events, shared by the threads that add events, wait for them or show them."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from membership_client import MemberState
from membership_client.demo.events import Called, ClusterReady, DemoEvent, ProcessEnded, Seen, Started, StepBegan
from membership_client.demo.kit import Remark

if TYPE_CHECKING:
    from collections.abc import Callable


class Recording:
    """A list of events. Any thread may call any method. Watchers are called with each event, in the recorded order."""

    def __init__(self) -> None:
        self.began_at = time.monotonic()
        self._changed = threading.Condition()
        self._events: list[DemoEvent] = []
        self._group = GroupState()
        self._watchers: list[Callable[[DemoEvent], None]] = []

    def watch(self, watcher: Callable[[DemoEvent], None]) -> None:
        self._watchers.append(watcher)

    def add(self, event: DemoEvent) -> None:
        with self._changed:
            self._events.append(event)
            self._group = advance(self._group, event)
            for watcher in self._watchers:
                watcher(event)
            self._changed.notify_all()

    def remark(self, text: str) -> None:
        """Adds a sentence of the demonstration itself."""
        self.add(Remark(at=time.monotonic(), text=text))

    @property
    def events(self) -> tuple[DemoEvent, ...]:
        with self._changed:
            return tuple(self._events)

    @property
    def group(self) -> GroupState:
        """The state of the group at this moment, as an immutable value."""
        return self._group

    def wait(self, condition: Callable[[GroupState], bool], timeout_s: float) -> bool:
        """Waits until the condition holds for the group; False if it does not within this time."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self._group), timeout_s)


# --- the state of the group, computed from the events ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One member: its newest process, and the last report of this process."""

    name: str
    pid: int
    instance_id: str | None
    seen: Seen | None = None
    confirmations: int = 0
    """How often the coordinator has confirmed this process."""
    exit_code: int | None = None

    @property
    def is_stable(self) -> bool:
        return self.exit_code is None and self.seen is not None and self.seen.state is MemberState.STABLE

    @property
    def has_failed(self) -> bool:
        """Whether the member's process has ended, or a fatal error has ended the member."""
        return self.exit_code is not None or (self.seen is not None and self.seen.state is MemberState.FATAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """All members and all partitions at one moment."""

    cluster: ClusterReady | None = None
    step: StepBegan | None = None
    rows: Mapping[str, MemberRow] = field(default_factory=lambda: MappingProxyType({}))
    owners: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))

    def owned_by(self, name: str) -> tuple[int, ...]:
        return tuple(sorted(partition for partition, owner in self.owners.items() if owner == name))


def group_state(events: Iterable[DemoEvent]) -> GroupState:
    return functools.reduce(advance, events, GroupState())


def advance(group: GroupState, event: DemoEvent) -> GroupState:
    """The group after one more event."""
    match event:
        case ClusterReady():
            return replace(group, cluster=event)
        case StepBegan():
            return replace(group, step=event)
        case Called():
            return replace(group, owners=_owners_after(group.owners, event))
        case Started() | Seen() | ProcessEnded():
            rows = {**group.rows, event.name: _row_after(group.rows.get(event.name), event)}
            return replace(group, rows=rows, owners=_survivors(group.owners, event))
        case _:
            return group


def _row_after(row: MemberRow | None, event: Started | Seen | ProcessEnded) -> MemberRow:
    if isinstance(event, Started):
        return MemberRow(name=event.name, pid=event.pid, instance_id=event.instance_id)
    assert row is not None, f"{event.name} reported before it started"
    return replace(row, exit_code=event.code) if isinstance(event, ProcessEnded) else _row_with(row, event)


def _row_with(row: MemberRow, seen: Seen) -> MemberRow:
    confirmed = seen.confirmed_at is not None and (row.seen is None or seen.confirmed_at != row.seen.confirmed_at)
    return replace(row, seen=seen, confirmations=row.confirmations + confirmed)


def _owners_after(owners: Mapping[int, str], called: Called) -> Mapping[int, str]:
    """Reports of two processes may arrive in the wrong order, so only the current owner can give a partition up."""
    if called.kind == "assigned":
        return {**owners, **dict.fromkeys(called.partitions, called.name)}
    gone = {partition for partition in called.partitions if owners.get(partition) == called.name}
    return {partition: owner for partition, owner in owners.items() if partition not in gone}


def _survivors(owners: Mapping[int, str], event: Started | Seen | ProcessEnded) -> Mapping[int, str]:
    """A process that has ended owns nothing."""
    if not isinstance(event, ProcessEnded):
        return owners
    return {partition: owner for partition, owner in owners.items() if owner != event.name}
