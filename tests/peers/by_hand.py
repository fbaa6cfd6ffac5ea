"""A classic member made of our assignors and blobs, and of requests one by one: leader or not, as the broker decides."""

from __future__ import annotations

import datetime as dt
import socket
import struct
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self

from kio.index import load_payload_module
from kio.static.constants import EntityType

from membership_client.core.assignors.registry import Assignor
from membership_client.net.codec import frame, read_answer
from membership_client.net.consumer_blobs import (
    SubscriptionReader,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from tests.peers.group import PATIENCE_S

_APIS = {"JoinGroup": (11, 7), "Heartbeat": (12, 4), "LeaveGroup": (13, 4), "SyncGroup": (14, 5)}
_NOT_YET = {14, 15, 16}
_REBALANCING = 27
_MEMBER_ID_REQUIRED = 79


class MemberByHand:
    """Wants all the topics it knows. Its broker is the only one, so it is the coordinator.

    What it writes to other members is theirs to read: a subclass may write otherwise.
    """

    protocol_type = "consumer"

    def __init__(
        self, bootstrap_servers: str, group_id: str, assignor: Assignor, topics: Mapping[str, TopicLayout]
    ) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._identity: dict[str, Any] = {"group_id": group_id, "member_id": ""}
        self._assignor = assignor
        self._topics = topics
        self._generation = -1
        self.owned: frozenset[TopicPartition] = frozenset()
        self.subscriptions: list[MemberSubscription] = []
        """What all members said, if we were the leader last time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        member = {"members": (_wire("LeaveGroup").MemberIdentity(member_id=self.member_id),)}
        self._ask("LeaveGroup", group_id=self._identity["group_id"], **member)
        self._socket.close()

    @property
    def member_id(self) -> str:
        return str(self._identity["member_id"])

    @property
    def generation(self) -> int:
        return self._generation

    def subscription(self, me: MemberSubscription) -> bytes:
        return encode_subscription(me, self._assignor.name)

    def assignment(self, _member_id: str, share: Iterable[TopicPartition]) -> bytes:
        return encode_assignment(share)

    def follow(self) -> None:
        """One heartbeat, and whatever it calls for."""
        beat = self._ask("Heartbeat", generation_id=self._generation, **self._identity)
        if beat.error_code == _REBALANCING:
            self.join()

    def join(self) -> None:
        """Join and sync, again and again until we have a share that nobody contests."""
        while True:
            synced = self._sync(self._join())
            if synced.error_code == _REBALANCING:
                continue
            assert not synced.error_code, synced
            before, self.owned = self.owned, decode_assignment(synced.assignment)
            if not self._assignor.cooperative or before <= self.owned:
                return

    def _join(self) -> dict[str, bytes]:
        """Everybody's share, if it is for us to say."""
        me = MemberSubscription(
            member_id="", topics=frozenset(self._topics), owned=self.owned, generation=self._generation
        )
        name = self._assignor.name
        offer = _wire("JoinGroup").JoinGroupRequestProtocol(name=name, metadata=self.subscription(me))
        timeouts = dict.fromkeys(("session_timeout", "rebalance_timeout"), dt.timedelta(seconds=PATIENCE_S))
        joined = self._ask(
            "JoinGroup", protocol_type=self.protocol_type, protocols=(offer,), **timeouts, **self._identity
        )
        self._identity["member_id"] = joined.member_id
        if joined.error_code == _MEMBER_ID_REQUIRED:
            return self._join()
        assert not joined.error_code, joined
        self._generation = joined.generation_id
        reader = SubscriptionReader(name)
        self.subscriptions = [reader.read(m.member_id, m.group_instance_id, m.metadata) for m in joined.members]
        plan = self._assignor.assign(self.subscriptions, self._topics)
        return {member_id: self.assignment(member_id, share) for member_id, share in plan.items()}

    def _sync(self, shares: Mapping[str, bytes]) -> Any:
        share = _wire("SyncGroup").SyncGroupRequestAssignment
        return self._ask(
            "SyncGroup",
            generation_id=self._generation,
            protocol_type=self.protocol_type,
            protocol_name=self._assignor.name,
            assignments=tuple(share(member_id=member_id, assignment=data) for member_id, data in shares.items()),
            **self._identity,
        )

    def _ask(self, api: str, **fields: Any) -> Any:
        while True:
            self._socket.sendall(frame(getattr(_wire(api), f"{api}Request")(**fields), 0, "by-hand"))
            answer = read_answer(*_APIS[api], self._receive(struct.unpack(">i", self._receive(4))[0]))
            if answer.error_code not in _NOT_YET:
                return answer
            time.sleep(0.1)

    def _receive(self, size: int) -> bytes:
        data = self._socket.recv(size, socket.MSG_WAITALL)
        assert len(data) == size, "the broker hung up"
        return data


def _wire(api: str) -> Any:
    return load_payload_module(*_APIS[api], EntityType.request)
