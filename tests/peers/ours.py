"""Our own member as a peer among others."""

from __future__ import annotations

import time

from membership_client import GroupMember, LeaveMode, MemberConfig, MemberState, RebalanceListener, TopicPartition
from membership_client.runtime.worker import Observer
from tests.peers.history import History
from tests.peers.peer import Peer, Seat


class _Listener(RebalanceListener):
    def __init__(self, history: History) -> None:
        self._history = history

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...], _context: object) -> None:
        self._history.add("assigned", partitions, time.monotonic())

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], _context: object) -> None:
        self._history.add("revoked", partitions, time.monotonic())

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...], _context: object) -> None:
        self._history.add("lost", partitions, time.monotonic())


class OurPeer(Peer):
    def __init__(self, seat: Seat, observers: tuple[Observer, ...] = ()) -> None:
        super().__init__(seat)
        # A seat may have come as JSON, which has lists where a configuration has tuples.
        config = MemberConfig.from_dict(
            {
                "bootstrap.servers": seat.bootstrap_servers,
                "group.id": seat.group_id,
                "group.instance.id": seat.instance_id,
                **seat.settings,
            }
        )
        self.member = GroupMember(config, listener=_Listener(self.history), observers=observers)

    @property
    def member_id(self) -> str:
        return self.member.snapshot.member_id

    @property
    def error(self) -> str | None:
        snapshot = self.member.snapshot
        return str(snapshot.error) if snapshot.state is MemberState.FATAL else None

    def join(self) -> None:
        self.member.subscribe([self.seat.topic])

    def leave_for_good(self) -> None:
        self.member.close(LeaveMode.LEAVE)

    def leave(self) -> None:
        self.member.close()
