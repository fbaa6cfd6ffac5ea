"""Kafka's own assignors in a JVM. What goes in and comes out is what travels between members, so both sides read both."""

from __future__ import annotations

import datetime as dt
import io
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType

from membership_client.net.consumer_blobs import decode_assignment, encode_subscription
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from tests.core.assignors.groups import Group
from tests.peers.jvm import PeerJvm

_CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
Said = tuple[str, str | None, bytes]
"""A member id, its instance id, and the subscription in bytes."""

_METADATA_VERSION = 12
_WIRE: Any = load_payload_module(3, _METADATA_VERSION, EntityType.response)


class JavaAssignors:
    def __init__(self, jvm: PeerJvm) -> None:
        self._java: Any = jvm.java

    def assign(
        self, name: str, subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]
    ) -> dict[str, frozenset[TopicPartition]]:
        """What the assignor of that name gives each member."""
        said = [(m.member_id, m.instance_id, encode_subscription(m, name)) for m in subscriptions]
        plan = self.assignor(name).assign(self.cluster(topics), self.group(said)).groupAssignment()
        return {
            member.member_id: decode_assignment(self._encoded(plan.get(member.member_id))) for member in subscriptions
        }

    def assignor(self, name: str) -> Any:
        """A new one: those of Java remember."""
        return getattr(self._java.org.apache.kafka.clients.consumer, _CLASSES[name])()

    def cpu_s(self) -> float:
        """What the thread that does our bidding has spent so far."""
        return float(
            self._java.java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e9
        )

    def group(self, said: Iterable[Said]) -> Any:
        """The members, by what they said."""
        members = self._java.java.util.HashMap()
        for member_id, instance_id, data in said:
            members.put(member_id, self.subscription(data, instance_id))
        partition_assignor = self._java.org.apache.kafka.clients.consumer.ConsumerPartitionAssignor
        return partition_assignor.GroupSubscription(members)

    def subscription(self, data: bytes, instance_id: str | None = None) -> Any:
        protocol = self._java.org.apache.kafka.clients.consumer.internals.ConsumerProtocol
        subscription = protocol.deserializeSubscription(self._java.java.nio.ByteBuffer.wrap(data))
        subscription.setGroupInstanceId(self._java.java.util.Optional.ofNullable(instance_id))
        return subscription

    def cluster(self, topics: Mapping[str, TopicLayout]) -> Any:
        """What a consumer knows once a broker has told it about these topics."""
        buffer = self._java.java.nio.ByteBuffer.wrap(_metadata(topics))
        accessor = self._java.org.apache.kafka.common.protocol.ByteBufferAccessor(buffer)
        response = self._java.org.apache.kafka.common.requests.MetadataResponse
        return response.parse(accessor, self._java.java.lang.Short(str(_METADATA_VERSION))).buildCluster()

    def _encoded(self, assignment: Any) -> bytes:
        protocol = self._java.org.apache.kafka.clients.consumer.internals.ConsumerProtocol
        return bytes(protocol.serializeAssignment(assignment).array())


def leaves_a_choice(group: Group) -> bool:
    """More members could keep an extra partition than there are: Java takes them as its hash map has them."""
    if len({member.topics for member in group.members}) > 1:
        return False
    total = len(group.subscribed())
    low, extra = divmod(total, len(group.members))
    return sum(len(member.owned) > low for member in group.members) > extra


def _metadata(topics: Mapping[str, TopicLayout]) -> bytes:
    """A broker per rack, and one that tells none."""
    racks = [None, *sorted({rack for layout in topics.values() for racks in layout.racks for rack in racks})]
    message = _WIRE.MetadataResponse(
        throttle_time=dt.timedelta(0),
        brokers=tuple(
            _WIRE.MetadataResponseBroker(node_id=number, host="127.0.0.1", port=9092, rack=rack)
            for number, rack in enumerate(racks)
        ),
        topics=tuple(_topic(name, layout, racks) for name, layout in topics.items()),
    )
    out = io.BytesIO()
    entity_writer(type(message))(out, message)
    return out.getvalue()


def _topic(name: str, layout: TopicLayout, racks: Sequence[str | None]) -> Any:
    return _WIRE.MetadataResponseTopic(
        error_code=ErrorCode.none,
        name=name,
        topic_id=uuid.uuid5(uuid.NAMESPACE_DNS, name),
        partitions=tuple(_partition(number, layout, racks) for number in range(layout.partitions)),
    )


def _partition(number: int, layout: TopicLayout, racks: Sequence[str | None]) -> Any:
    homes = layout.racks[number] if layout.racks else frozenset()
    replicas = tuple(racks.index(rack) for rack in sorted(homes)) or (0,)
    return _WIRE.MetadataResponsePartition(
        error_code=ErrorCode.none,
        partition_index=number,
        leader_id=replicas[0],
        replica_nodes=replicas,
        isr_nodes=replicas,
    )
