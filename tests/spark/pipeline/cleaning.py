"""Compaction and deletion that come when a test wants them, and a look at what they left."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from membership_client.testing import KafkaCluster
from tests.spark.pipeline.stage import Stage


def clean_logs_often(kafka: KafkaCluster) -> None:
    """By default brokers look only four times a minute whether there is something to compact."""
    entry = ConfigEntry("log.cleaner.backoff.ms", "100", incremental_operation=AlterConfigOpType.SET)
    for broker in kafka.brokers:
        resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=[entry])
        client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        for changed in client.incremental_alter_configs([resource]).values():
            changed.result()


def delete_before(stage: Stage, offset: int) -> None:
    """The head of partition 0, as retention would."""
    client = AdminClient({"bootstrap.servers": stage.bootstrap_servers, "log_level": 0})
    for deleted in client.delete_records([TopicPartition(stage.topic, 0, offset)]).values():
        deleted.result()


def offsets_in(stage: Stage) -> list[int]:
    """Of the records that partition 0 still has."""
    consumer = Consumer({**stage.config(), "enable.partition.eof": True, "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(stage.topic, 0, 0)])
        offsets: list[int] = []
        while (message := consumer.poll(10)) is not None and message.error() is None:
            offsets.append(message.offset() or 0)
        error = message.error() if message else None
        assert error is not None
        assert error.code() == KafkaError._PARTITION_EOF
        return offsets
    finally:
        consumer.close()
