"""A drop-in for `confluent_kafka`: the same names, with our Consumer, DeserializingConsumer and aio.AIOConsumer.

`from membership_client.confluent import Consumer, KafkaError` instead of `from confluent_kafka import Consumer, KafkaError`,
and the same for its modules: `from membership_client.confluent.admin import AdminClient`. All other names are
confluent-kafka's own objects, so a KafkaException of either import is the same class.
"""

import importlib
import typing

import confluent_kafka as _theirs

from membership_client.confluent._modules import redirect_modules
from membership_client.confluent.deserializing_consumer import DeserializingConsumer
from membership_client.consumer import Consumer

if typing.TYPE_CHECKING:
    # For type checkers, which do not run `__getattr__`.
    from confluent_kafka import (
        OFFSET_BEGINNING,
        OFFSET_END,
        OFFSET_INVALID,
        OFFSET_STORED,
        TIMESTAMP_CREATE_TIME,
        TIMESTAMP_LOG_APPEND_TIME,
        TIMESTAMP_NOT_AVAILABLE,
        ConsumerGroupState,
        ConsumerGroupTopicPartitions,
        ConsumerGroupType,
        ElectionType,
        IsolationLevel,
        KafkaError,
        KafkaException,
        Message,
        Node,
        Producer,
        SerializingProducer,
        ThrottleEvent,
        TopicCollection,
        TopicPartition,
        TopicPartitionInfo,
        Uuid,
        consistent,
        fnv1a,
        libversion,
        murmur2,
        version,
    )

__version__ = _theirs.__version__

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "OFFSET_INVALID",
    "OFFSET_STORED",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_LOG_APPEND_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "Consumer",
    "ConsumerGroupState",
    "ConsumerGroupTopicPartitions",
    "ConsumerGroupType",
    "DeserializingConsumer",
    "ElectionType",
    "IsolationLevel",
    "KafkaError",
    "KafkaException",
    "Message",
    "Node",
    "Producer",
    "SerializingProducer",
    "ThrottleEvent",
    "TopicCollection",
    "TopicPartition",
    "TopicPartitionInfo",
    "Uuid",
    "consistent",
    "fnv1a",
    "libversion",
    "murmur2",
    "version",
]
__all__ += [name for name in _theirs.__all__ if name not in __all__]

_OURS = ("_modules", "aio", "deserializing_consumer")
redirect_modules(__name__, _theirs.__name__, ours=_OURS)


def __getattr__(name: str) -> typing.Any:
    """The object that this version of confluent-kafka has under that name."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _OURS:
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(_theirs, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
