"""Uses a configuration: a member joins, and a consumer reads."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer

from membership_client import Consumer, GroupMember, MemberState
from tests.security.secure_kafka import PATIENCE_S, SecureKafka


def join_and_commit(secured: SecureKafka, config: dict[str, Any]) -> None:
    """A member owns its partitions, commits, and leaves."""
    topic = secured.new_topic()
    with GroupMember({**config, "group.id": topic}) as member:
        member.subscribe([topic])
        owned = member.wait_until(lambda s: s.state is MemberState.STABLE and len(s.owned) == 2, PATIENCE_S).owned
        member.commit(dict.fromkeys(owned, 7))
        assert {offset.offset for offset in member.committed(owned).values() if offset} == {7}
        assert member.close().clean


def read_a_record(secured: SecureKafka, config: dict[str, Any]) -> None:
    """A consumer is in the group and fetches."""
    topic = secured.new_topic()
    producer = Producer({"bootstrap.servers": secured.cluster.bootstrap_servers})
    producer.produce(topic, b"a secret recipe")
    producer.flush()
    consumer = Consumer({**config, "group.id": topic, "auto.offset.reset": "earliest", "log_level": 0})
    try:
        consumer.subscribe([topic])
        record = consumer.poll(PATIENCE_S)
        assert record is not None
        assert record.value() == b"a secret recipe"
    finally:
        consumer.close()
