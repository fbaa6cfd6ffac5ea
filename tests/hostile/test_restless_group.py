"""A coordinator that changes its mind with every heartbeat: thousands of rebalances leave nothing behind."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Mapping
from uuid import UUID

import pytest

from membership_client import GroupMember, MemberState, TopicPartition
from membership_client.net.consumer_blobs import encode_assignment
from tests.net import answers
from tests.net.answers import Asked
from tests.net.patience import open_descriptors, until
from tests.net.scripted_broker import MODERN, Peer, ScriptedBroker
from tests.net.test_classic_codec import joined

TOPIC = UUID(int=10)
WARM_UP = 300
"""After so many everything that is kept for a while, such as the last steps, is full."""
REBALANCES = 2000


class Restless:
    """Half of the topic, then the other half: the next target comes with the answer to the last one's acknowledgement."""

    CONFIG: Mapping[str, object] = {}

    def __init__(self) -> None:
        self.targets = 0
        self.port = 0

    def go_on(self, rebalances: int) -> None:
        """Returns after so many more; a busy machine may take its time, as long as there is some progress."""
        end = self.targets + rebalances
        for target in (*range(self.targets, end, 100), end):
            until(lambda target=target: self.targets > target)  # type: ignore[misc]

    def script(self, peer: Peer) -> None:
        peer.welcome(
            {**MODERN, answers.JOIN_GROUP: (0, 9), answers.SYNC_GROUP: (0, 5), answers.CLASSIC_HEARTBEAT: (0, 4)}
        )
        while True:
            asked = peer.request()
            self.reply(peer, asked, self._answer(asked))

    def reply(self, peer: Peer, asked: Asked, answer: object) -> None:
        peer.answer(asked, answer)

    def _answer(self, asked: Asked) -> object:
        match asked.api_key:
            case answers.FIND_COORDINATOR:
                group = asked.message.coordinator_keys[0]
                return answers.coordinator(asked.version, group=group, host="127.0.0.1", port=self.port)
            case answers.METADATA:
                return answers.metadata(asked.version, [(TOPIC, "orders", 0)])
            case answers.LEAVE_GROUP:
                return answers.group_left()
        return self._beat(asked)

    def _beat(self, asked: Asked) -> object:
        owned = asked.message.topic_partitions
        held = [p for topic in owned or () for p in topic.partitions]
        if self.targets == 0 or (owned is not None and sorted(held) == self._target()):
            self.targets += 1
        return answers.heartbeat(epoch=self.targets, interval_ms=100, assignment=[(TOPIC, self._target())])

    def _target(self) -> list[int]:
        return [0, 1, 2] if self.targets % 2 else [3, 4, 5]


class RestlessLeader(Restless):
    """The same in the classic protocol: another member leads, and wants to rebalance at every heartbeat."""

    CONFIG: Mapping[str, object] = {"group.protocol": "classic", "heartbeat.interval.ms": 5}

    def _answer(self, asked: Asked) -> object:
        wire = answers.module(asked.api_key, asked.version)
        well = {"throttle_time": answers.milliseconds(0), "error_code": answers.Code(0)}
        match asked.api_key:
            case answers.JOIN_GROUP:
                self.targets += 1
                return joined(asked.version, generation_id=self.targets, leader="another")
            case answers.SYNC_GROUP:
                share = encode_assignment(TopicPartition("orders", number) for number in self._target())
                return wire.SyncGroupResponse(**well, protocol_type="consumer", protocol_name="range", assignment=share)
            case answers.CLASSIC_HEARTBEAT:
                return wire.HeartbeatResponse(**well | {"error_code": answers.Code(27)})
        return super()._answer(asked)


@pytest.mark.timeout(600)  # Thousands of them take minutes on a busy machine.
@pytest.mark.parametrize("kind", [Restless, RestlessLeader])
def test_thousands_of_rebalances_leave_nothing_behind(kind: type[Restless]) -> None:
    """Neither memory nor threads nor descriptors grow, in a whole member with its trace and its telemetry."""
    restless = kind()
    tracemalloc.start()
    with ScriptedBroker(restless.script) as broker:
        restless.port = broker.node.port
        config = {"bootstrap.servers": f"127.0.0.1:{restless.port}", "group.id": "g", **restless.CONFIG}
        with GroupMember(config) as member:
            member.subscribe(["orders"])
            restless.go_on(WARM_UP)
            before = held_now()
            restless.go_on(REBALANCES)
            after = held_now()
            assert member.snapshot.state not in {MemberState.FATAL, MemberState.UNSUBSCRIBED}
    tracemalloc.stop()
    (memory, threads, descriptors), (memory_then, threads_then, descriptors_then) = before, after
    assert memory_then - memory < 300_000
    assert threads_then <= threads
    assert descriptors_then <= descriptors


def held_now() -> tuple[int, int, int]:
    """Bytes, threads and descriptors."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0], threading.active_count(), open_descriptors()
