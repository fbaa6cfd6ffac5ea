"""Brokers for tests and demonstrations: embedded in this process, or real Kafka."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from membership_client.testing.described import DescribedMember, GroupDescription
from membership_client.testing.embedded.kafka import EmbeddedKafka
from membership_client.testing.jars import cached_kafka_jars
from membership_client.testing.java import find_java
from membership_client.testing.settings import Listener

if TYPE_CHECKING:
    from membership_client.testing.admin import ClusterAdmin
    from membership_client.testing.kafka import KafkaCluster, KafkaStartError, KafkaUnavailableError

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

_LOADED_LATER = {
    "ClusterAdmin": "membership_client.testing.admin",
    "KafkaCluster": "membership_client.testing.kafka",
    "KafkaStartError": "membership_client.testing.kafka",
    "KafkaUnavailableError": "membership_client.testing.kafka",
}
"""What loads kio's message formats, which an embedded broker needs for its first request only."""


def __getattr__(name: str) -> Any:
    if name not in _LOADED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LOADED_LATER[name]), name)
