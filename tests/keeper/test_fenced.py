"""A member that the group removes although its keeper sends heartbeats."""

from __future__ import annotations

from confluent_kafka import Producer

from membership_client.testing import EmbeddedKafka
from tests.keeper.holding import holding, wait

HEARTBEAT_MS, HOLD_S = 1000, 6

THEN = """
record = None
while record is None:
    record = consumer.poll(0.1)
say("record", 1)
say("polled")
consumer.close()
"""


def test_a_member_that_was_fenced_while_held_learns_that_before_it_hands_out_a_record() -> None:
    """The keeper does not join again. Fetched records wait, and the partition's new owner reads them."""
    settings = {"group.consumer.heartbeat.interval.ms": HEARTBEAT_MS, "group.consumer.assignment.interval.ms": 0}
    with EmbeddedKafka(topics={"orders": 1}, settings=settings) as embedded:
        producer = Producer({"bootstrap.servers": embedded.bootstrap_servers, "log_level": 0})
        for number in range(100):
            producer.produce("orders", str(number))
        producer.flush()
        config = {
            "bootstrap.servers": embedded.bootstrap_servers,
            "group.id": "fenced",
            "group.protocol": "consumer",
            "heartbeat.keeper": "process",
            "auto.offset.reset": "earliest",
        }
        with holding(config, "orders", HOLD_S, then=THEN) as holder:
            holder.wait_for("holds")
            seen = embedded.requests("ConsumerGroupHeartbeat")
            wait(lambda: embedded.requests("ConsumerGroupHeartbeat") > seen, "heartbeat of the keeper")
            (member,) = embedded.describe("fenced").members
            embedded.fence(member.member_id)
            holder.wait_for("free")
            assert [kind for kind, _ in holder.wait_for("polled")] == ["lost", "assigned", "record"]
