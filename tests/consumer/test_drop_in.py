"""Programs written for confluent-kafka do the same with our Consumer, once their import is changed and nothing else."""

from __future__ import annotations

from pathlib import Path

import confluent_kafka
import pytest

from membership_client.testing import KafkaCluster
from tests.consumer.drop_in import PARTITIONS, RECORDS, Outcome, Stand

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

ONE_TOPIC = [
    "all_settings",
    "at_least_once",
    "backpressure",
    "batch_commits",
    "lookups",
    "manual_assignment",
    "replay",
    "stored_offsets",
]


@pytest.fixture
def stand(kafka: KafkaCluster, tmp_path: Path) -> Stand:
    return Stand(kafka.bootstrap_servers, tmp_path)


@pytest.mark.parametrize("program", ONE_TOPIC)
def test_a_program_that_reads_one_topic(stand: Stand, program: str) -> None:
    """It prints the same, and the same is committed: offsets, metadata and leader epochs."""
    ours, theirs = stand.run_both(program, stand.topic())
    assert ours == theirs


def test_a_program_that_changes_its_subscription(stand: Stand) -> None:
    """The same callbacks in the same order, commits in them included, and a closed consumer that says so."""
    ours, theirs = stand.run_both("hooks", stand.topic(), stand.topic())
    assert ours == theirs


def test_a_program_that_subscribes_to_a_pattern(stand: Stand) -> None:
    """It matches beginnings of names, as librdkafka's do, although brokers evaluate ours and match whole names."""
    topic = stand.topic("pattern")
    stand.topic("no-pattern")
    ours, theirs = stand.run_both("pattern", f"^{topic[:-2]}", str(PARTITIONS * RECORDS))
    assert ours == theirs


def test_a_program_that_transforms_in_transactions(stand: Stand, kafka: KafkaCluster) -> None:
    """The offsets are committed by its producer, in the member's name, with what it produced."""
    source = stand.topic()
    outcomes: list[tuple[Outcome, set[tuple[int | None, bytes | None]]]] = []
    for run in (stand.run_ours, stand.run_theirs):
        target = stand.topic("transformed", records=0)
        outcomes.append((run("transform", source, target), _committed_records(kafka, target)))
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0][1]) == PARTITIONS * RECORDS


def test_seek_in_on_assign_is_more_than_a_drop_in(stand: Stand) -> None:
    """It decides the start. confluent-kafka refuses it as an erroneous state, unless a fetch happens to have begun."""
    assert stand.run_ours("replay_in_on_assign", stand.topic()).printed.count("90, 91") == PARTITIONS


def _committed_records(kafka: KafkaCluster, topic: str) -> set[tuple[int | None, bytes | None]]:
    """Partition and value of each record, as another consumer reads them, without open and aborted transactions."""
    config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "enable.partition.eof": True}
    reader = confluent_kafka.Consumer({**config, "isolation.level": "read_committed", "log_level": 0})
    reader.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    records: set[tuple[int | None, bytes | None]] = set()
    ended = 0
    while ended < PARTITIONS:
        for message in reader.consume(500, 1.0):
            if (error := message.error()) is None:
                records.add((message.partition(), message.value()))
            else:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF
                ended += 1
    reader.close()
    return records
