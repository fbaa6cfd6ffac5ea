"""A member of confluent-kafka, that is of librdkafka."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka

from membership_client import TopicPartition
from tests.peers.history import Kind
from tests.peers.peer import POLL_S, Seat
from tests.peers.polling import PollingPeer

# Whatever it logs is also in the errors, and a refused instance id is no emergency here.
_SILENT = logging.getLogger("tests.peers.confluent")
_SILENT.setLevel(logging.CRITICAL + 1)

_Error = confluent_kafka.KafkaError
_HOPELESS = {_Error._FATAL, _Error.GROUP_MAX_SIZE_REACHED, _Error.INCONSISTENT_GROUP_PROTOCOL}
"""What ends the membership; the last two it would try again for ever, where Java's consumer raises."""

_Callback = Callable[[Any, list[confluent_kafka.TopicPartition]], None]


class ConfluentPeer(PollingPeer):
    def __init__(self, seat: Seat) -> None:
        super().__init__(seat)
        self._consumer: confluent_kafka.Consumer | None = None

    def _open(self) -> None:
        self._consumer = confluent_kafka.Consumer(config_of(self.seat), logger=_SILENT)
        self._consumer.subscribe(
            [self.seat.topic],
            on_assign=self._recorder("assigned"),
            on_revoke=self._recorder("revoked"),
            on_lost=self._recorder("lost"),
        )

    def _recorder(self, kind: Kind) -> _Callback:
        def record(_consumer: Any, partitions: list[confluent_kafka.TopicPartition]) -> None:
            named = [TopicPartition(partition.topic, partition.partition) for partition in partitions]
            self.history.add(kind, named, time.monotonic())

        return record

    def _poll(self) -> str | None:
        assert self._consumer is not None
        message = self._consumer.poll(POLL_S)
        error = message.error() if message is not None else None
        # It is the code that tells: for these errors `fatal()` is false.
        return str(error) if error is not None and error.code() in _HOPELESS else None

    def _ask_member_id(self) -> str:
        assert self._consumer is not None
        return self._consumer.memberid() or ""

    def _close(self) -> None:
        assert self._consumer is not None
        assert not (self._for_good and self.seat.instance_id), "a static member of librdkafka always keeps its place"
        self._consumer.close()


def config_of(seat: Seat) -> dict[str, Any]:
    """What a consumer in that seat is configured with."""
    config = {
        "bootstrap.servers": seat.bootstrap_servers,
        "group.id": seat.group_id,
        "group.protocol": "consumer",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    static = {} if seat.instance_id is None else {"group.instance.id": seat.instance_id}
    return config | static | seat.settings
