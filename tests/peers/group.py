"""A group that peers of different kinds share, and what it takes to call it settled."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from membership_client import TopicPartition
from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin
from tests.peers.coordinator import Coordinator
from tests.peers.history import History, assert_never_shared
from tests.peers.jvm import PeerJvm
from tests.peers.kinds import new_peer
from tests.peers.peer import Peer, PeerKind, Seat
from tests.peers.process import PeerProcess

PATIENCE_S = 60.0
"""How long a fact may take on a machine that runs everything else at once. Nothing is slow when all is well."""


class Member(Protocol):
    """A peer, in this process or in one of its own."""

    history: History

    @property
    def member_id(self) -> str: ...
    @property
    def error(self) -> str | None: ...
    def leave(self) -> None: ...


def eventually(check: Callable[[], bool], what: Callable[[], str], timeout_s: float = PATIENCE_S) -> None:
    """Until it is true; an AssertionError that says `what` was awaited if it does not become so in time."""
    give_up_at = time.monotonic() + timeout_s
    while not check():
        assert time.monotonic() < give_up_at, f"not within {timeout_s:g} s: {what()}"
        time.sleep(0.02)


class PeerGroup:
    """A group and its topic, both with a name of their own; `settings` are the group's, such as consumer_session_timeout_ms."""

    def __init__(self, bootstrap_servers: str, jvm: PeerJvm, name: str, partitions: int = 6, **settings: int) -> None:
        self.id = f"{name}-{uuid.uuid4().hex[:8]}"
        self.partitions = frozenset(TopicPartition(self.id, number) for number in range(partitions))
        self.members: list[Member] = []
        self._bootstrap_servers = bootstrap_servers
        self._jvm = jvm
        self._admin = ClusterAdmin(bootstrap_servers)
        self._coordinator = Coordinator(bootstrap_servers)
        if settings:
            self._admin.set_group_config(self.id, **settings)
        # In this order: a broker that knows the topic has also read the settings, which were logged before it.
        self._admin.create_topic(self.id, partitions)
        # librdkafka may abort the process if it asks for a group while brokers are only beginning to be coordinators.
        with GroupAdmin(bootstrap_servers) as admin:
            admin.committed(self.id, self.partitions)

    @property
    def epoch(self) -> int:
        return self._admin.group_epoch(self.id)

    def new(self, kind: PeerKind, instance_id: str | None = None, **settings: Any) -> Peer:
        """A peer that has not joined yet."""
        peer = new_peer(kind, self.seat(instance_id, **settings), self._jvm)
        self.members.append(peer)
        return peer

    def join(self, kind: PeerKind, instance_id: str | None = None, **settings: Any) -> Peer:
        """A peer that joins; nothing is awaited."""
        peer = self.new(kind, instance_id, **settings)
        peer.join()
        return peer

    def join_process(self, kind: PeerKind, instance_id: str | None = None, **settings: Any) -> PeerProcess:
        """A peer that joins in a process of its own."""
        process = PeerProcess(kind, self.seat(instance_id, **settings))
        self.members.append(process)
        return process

    def seat(self, instance_id: str | None = None, **settings: Any) -> Seat:
        return Seat(
            bootstrap_servers=self._bootstrap_servers,
            group_id=self.id,
            topic=self.id,
            instance_id=instance_id,
            settings=settings,
        )

    def wait_settled(self, members: Iterable[Member], *, at_least: int = 0) -> None:
        """Until these members, by their own and the coordinator's account, share all partitions, each held once.

        And until each holds `at_least` so many, at the same moment: a group that is settled may rebalance once more.
        """
        present = list(members)
        eventually(lambda: self._is_settled(present, at_least), lambda: self._account(present))

    def _is_settled(self, members: list[Member], at_least: int) -> bool:
        described = self._coordinator.describe(self.id)
        told = {member.member_id: member.history.owned for member in members}
        if any(len(owned) < at_least for owned in told.values()):
            return False
        shares = sorted(partition for owned in told.values() for partition in owned)
        wanted = sorted(self.partitions) if members else []
        return described.settled and told == described.shares and shares == wanted

    def _account(self, members: list[Member]) -> str:
        told = {member.member_id: (sorted(member.history.owned), member.error) for member in members}
        return f"{self.id} settled.\nMembers say {told}.\nThe coordinator says {self._coordinator.describe(self.id)}."

    def assert_never_shared(self) -> None:
        """Over the whole life of the group."""
        assert_never_shared(member.history for member in self.members)

    def close(self) -> None:
        for member in self.members:
            member.leave()
