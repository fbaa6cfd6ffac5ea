"""A member of Kafka's own Java consumer."""

from __future__ import annotations

import time
from typing import Any

from membership_client import TopicPartition
from tests.peers.history import History
from tests.peers.jvm import PeerJvm
from tests.peers.peer import POLL_S, Seat
from tests.peers.polling import PollingPeer

_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


class _Listener:
    """Called by the JVM, which waits for us, so times are taken while the callback runs."""

    def __init__(self, history: History) -> None:
        self._history = history

    def onPartitionsAssigned(self, partitions: Any) -> None:  # noqa: N802 - Java's name
        at = time.monotonic()
        self._history.add("assigned", _parse(partitions), at)

    def onPartitionsRevoked(self, partitions: Any) -> None:  # noqa: N802 - Java's name
        self._history.add("revoked", _parse(partitions), time.monotonic())

    def onPartitionsLost(self, partitions: Any) -> None:  # noqa: N802 - Java's name
        self._history.add("lost", _parse(partitions), time.monotonic())

    class Java:
        """What Py4J looks for."""

        implements = ("org.apache.kafka.clients.consumer.ConsumerRebalanceListener",)


class JavaPeer(PollingPeer):
    def __init__(self, seat: Seat, jvm: PeerJvm) -> None:
        super().__init__(seat)
        self._java = jvm.java
        self._config = self._java.java.util.HashMap(config_of(seat))
        self._poll_time = self._java.java.time.Duration.ofMillis(int(1000 * POLL_S))
        self._consumer: Any = None

    def _open(self) -> None:
        self._consumer = self._java.org.apache.kafka.clients.consumer.KafkaConsumer(self._config)
        self._consumer.subscribe([self.seat.topic], _Listener(self.history))

    def _poll(self) -> str | None:
        self._consumer.poll(self._poll_time)
        return None

    def _ask_member_id(self) -> str:
        return str(self._consumer.groupMetadata().memberId())

    def _close(self) -> None:
        if not self._for_good:
            self._consumer.close()
            return
        options = self._java.org.apache.kafka.clients.consumer.CloseOptions
        self._consumer.close(options.groupMembershipOperation(options.GroupMembershipOperation.LEAVE_GROUP))


def config_of(seat: Seat) -> dict[str, str]:
    """What a consumer in that seat is configured with."""
    config = {
        "bootstrap.servers": seat.bootstrap_servers,
        "group.id": seat.group_id,
        "group.protocol": "consumer",
        "enable.auto.commit": "false",
        "key.deserializer": _DESERIALIZER,
        "value.deserializer": _DESERIALIZER,
    }
    static = {} if seat.instance_id is None else {"group.instance.id": seat.instance_id}
    return config | static | seat.settings


def _parse(partitions: Any) -> list[TopicPartition]:
    """From "[orders-0, orders-1]": one question to the JVM instead of three per partition."""
    text = partitions.toString().strip("[]")
    pairs = (name.rpartition("-") for name in text.split(", ") if name)
    return [TopicPartition(topic, int(number)) for topic, _, number in pairs]
