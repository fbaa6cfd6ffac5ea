"""Between our values and confluent-kafka's."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

import confluent_kafka
from confluent_kafka import Message

from membership_client.consumer.arguments import checked_record
from membership_client.consumer.kafka_errors import refusal
from membership_client.types import Offset, Snapshot, TopicPartition

Places = list[confluent_kafka.TopicPartition]


def theirs(partitions: Iterable[TopicPartition]) -> Places:
    """As confluent-kafka's, without offsets."""
    return [confluent_kafka.TopicPartition(*partition) for partition in partitions]


def theirs_at(offsets: Mapping[TopicPartition, Offset]) -> Places:
    return [their_offset(partition, offset) for partition, offset in offsets.items()]


def their_offset(partition: TopicPartition, offset: Offset) -> confluent_kafka.TopicPartition:
    epoch = -1 if offset.leader_epoch is None else offset.leader_epoch
    if offset.metadata:
        return confluent_kafka.TopicPartition(*partition, offset.offset, offset.metadata.split(_NUL)[0], epoch)
    return confluent_kafka.TopicPartition(*partition, offset.offset, leader_epoch=epoch)


_NUL = "\0"
"""confluent-kafka commits metadata with a NUL at the end, and cuts it off when it reads. So it can tell "" from None, which
brokers cannot, and metadata that are read here may end with one."""


def ours(partitions: Iterable[confluent_kafka.TopicPartition]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(partition.topic, partition.partition) for partition in partitions)


def ours_at(partitions: Iterable[confluent_kafka.TopicPartition]) -> dict[TopicPartition, Offset]:
    """The offsets of partitions that have one: a number, not a logical offset such as "the end"."""
    return {
        TopicPartition(p.topic, p.partition): Offset(
            p.offset, p.leader_epoch, _NUL if p.metadata == "" else p.metadata or ""
        )
        for p in partitions
        if p.offset >= 0
    }


def after(message: Message) -> dict[TopicPartition, Offset]:
    """The offset to commit once this record is done."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    if topic is None or partition is None or offset is None:
        raise refusal(f"This message is no record of a partition: {message.error()}.")
    return {TopicPartition(topic, partition): Offset(offset + 1, message.leader_epoch())}


def partition_of(record: Message | confluent_kafka.TopicPartition | TopicPartition) -> TopicPartition:
    """The partition of a record, or the partition itself in either library's type. ConfigError for anything else."""
    if isinstance(record, TopicPartition):
        return record
    if isinstance(record, Message):
        (partition,) = after(record)
        return partition
    checked_record(record)
    return TopicPartition(record.topic, record.partition)


def group_metadata(snapshot: Snapshot, *, as_member: bool) -> bytes:
    """The identity of the member that commits, as librdkafka serialises it, for a producer's send_offsets_to_transaction().

    Brokers always refuse epoch 0, which a member outside of the group gets here. The -1 of a client that never joined would be
    accepted in an empty group, also from a member that was dropped and whose records other members have processed since.
    """
    instance = snapshot.instance_id if as_member else None
    tail = b"\x01" if instance is None else b"\x00" + _terminated(instance)
    epoch, member_id = (max(0, snapshot.epoch), snapshot.member_id) if as_member else (-1, "")
    return b"CGMDv2:" + struct.pack("=i", epoch) + _terminated(snapshot.group_id) + _terminated(member_id) + tail


def _terminated(text: str) -> bytes:
    return text.encode() + b"\x00"
