"""progress() between a seek, or an assignment, and the first record after it."""

from __future__ import annotations

from collections.abc import Iterator

import confluent_kafka
import pytest
from confluent_kafka import Producer

from membership_client import Consumer, PartitionProgress, Progress, TopicPartition
from membership_client.testing import EmbeddedKafka

PATIENCE_S = 40.0
RECORDS = 17


@pytest.fixture
def embedded() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(topics={"orders": 2}) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(RECORDS):
            producer.produce("orders", str(number), partition=0)
        producer.flush()
        yield cluster


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize(("offset", "lag"), [(0, RECORDS), (5, RECORDS - 5), (confluent_kafka.OFFSET_BEGINNING, None)])
def test_what_a_seek_leaves_to_be_read_is_lag(
    embedded: EmbeddedKafka, commits: bool, offset: int, lag: int | None
) -> None:
    """The lag was 0 until the next record came: that of the other partition, or counted from the committed offset."""
    config = {"bootstrap.servers": embedded.bootstrap_servers, "group.id": "shop", "auto.offset.reset": "earliest"}
    with Consumer(config | {"enable.auto.commit": False}) as consumer:
        consumer.subscribe(["orders"])
        embedded.wait_for(lambda: (consumer.poll(0.05), consumer.progress().lag == 0)[1], PATIENCE_S)
        if commits:
            consumer.commit(asynchronous=False)
        consumer.seek(confluent_kafka.TopicPartition("orders", 0, offset))
        found = consumer.progress()
        assert (found.partitions[TopicPartition("orders", 0)].lag, found.lag) == (lag, lag)
        assert found.time_lag_s is None
        embedded.wait_for(lambda: (consumer.poll(0.05), consumer.progress().lag == 0)[1], PATIENCE_S)


def test_the_largest_lag_is_unknown_while_one_is() -> None:
    """The others said 0, and the partition of which nothing was known had the records."""
    read = PartitionProgress(position=3, committed=3, end=3, time_lag_s=0.0)
    unknown = PartitionProgress(position=None, committed=None, end=None, time_lag_s=None)
    one, other = TopicPartition("orders", 0), TopicPartition("orders", 1)
    assert (Progress({one: read}).lag, Progress({one: read}).time_lag_s) == (0, 0.0)
    found = Progress({one: read, other: unknown})
    assert (found.lag, found.time_lag_s) == (None, None)
    assert (Progress({}).lag, Progress({}).time_lag_s) == (None, None)
