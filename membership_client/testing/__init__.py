"""Brokers for tests and demonstrations: embedded in this process, or real Kafka."""

from membership_client.testing.admin import ClusterAdmin
from membership_client.testing.described import DescribedMember, GroupDescription
from membership_client.testing.embedded.kafka import EmbeddedKafka
from membership_client.testing.jars import cached_kafka_jars
from membership_client.testing.java import find_java
from membership_client.testing.kafka import KafkaCluster, KafkaStartError, KafkaUnavailableError
from membership_client.testing.settings import Listener

__all__ = [
    "ClusterAdmin",
    "DescribedMember",
    "EmbeddedKafka",
    "GroupDescription",
    "KafkaCluster",
    "KafkaStartError",
    "KafkaUnavailableError",
    "Listener",
    "cached_kafka_jars",
    "find_java",
]
