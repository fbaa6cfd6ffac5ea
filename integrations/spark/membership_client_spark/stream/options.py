"""The options of `format("kafka-group")`, checked: those of Spark's own Kafka source, and those of a group."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from membership_client import ConfigError, TopicPartition
from membership_client.admin.java.java_config import from_java
from membership_client.arguments import flag_from, shown, whole_from
from membership_client_spark.arguments import checked_slots, checked_topics
from membership_client_spark.pipeline.settings import PipelineSettings, settings_of

EARLIEST, LATEST = -2, -1
"""Offsets by which Spark, and Kafka, name the first and the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """The options of a query. They may have secrets, so their repr does not show them."""

    clients: PipelineSettings = field(repr=False)
    topics: tuple[str, ...]
    name: str
    slots: int
    max_offsets: int | None
    starting: int | Mapping[TopicPartition, int] | None
    """Where a new query starts. None, or a partition that is missing: at the group's committed offset."""
    fail_on_data_loss: bool
    with_headers: bool

    def starting_at(self, place: TopicPartition) -> int | None:
        """The offset from the option, or EARLIEST, or LATEST. None: the committed one."""
        return self.starting.get(place) if isinstance(self.starting, Mapping) else self.starting


def stream_settings(options: Mapping[str, str]) -> StreamSettings:
    """ConfigError for options that are missing, unknown or wrong."""
    given = {key.lower(): value for key, value in options.items()}
    own = {key: value for key, value in given.items() if not key.startswith("kafka.")}
    if unknown := sorted(own.keys() - _OPTIONS):
        raise ConfigError(f"kafka-group has no option {', '.join(unknown)}. {_advice(unknown[0])}")
    topics = checked_topics([topic.strip() for topic in _required(own, "subscribe").split(",") if topic.strip()])
    name = _required(own, "name")
    return StreamSettings(
        clients=settings_of(_client_config(given)),
        topics=topics,
        name=name,
        slots=checked_slots(name, _whole(own, "slots", 1)),
        max_offsets=_whole(own, "maxOffsetsPerTrigger", None),
        starting=_starting(own.get("startingoffsets", "committed"), topics),
        fail_on_data_loss=_flag(own, "failOnDataLoss", default=True),
        with_headers=_flag(own, "includeHeaders", default=False),
    )


_NAMES = (
    "subscribe",
    "group.id",
    "name",
    "slots",
    "maxOffsetsPerTrigger",
    "startingOffsets",
    "failOnDataLoss",
    "includeHeaders",
)
_OPTIONS = frozenset(name.lower() for name in _NAMES)

_ELSEWHERE = {
    "bootstrap.servers": "Keys of the Kafka client begin with kafka.: kafka.bootstrap.servers.",
    "subscribepattern": "Name the topics in subscribe.",
    "assign": "The group assigns partitions: name the topics in subscribe.",
    "path": "Name the topics in subscribe, and call load() without a path.",
}


def _advice(unknown: str) -> str:
    return _ELSEWHERE.get(
        unknown,
        f"It has {', '.join(_NAMES)}, and keys of the Kafka client that begin with kafka., such as kafka.group.id.",
    )


def _required(own: Mapping[str, str], name: str) -> str:
    if not (value := own.get(name, "").strip()):
        raise ConfigError(f"The option {name} is missing. {_WHY[name]}")
    return value


_WHY = {
    "subscribe": 'Set it to the topics, separated by commas: .option("subscribe", "orders").',
    "name": (
        "The query's members have the instance ids <name>-0, <name>-1 and so on: choose a name that no other query of "
        "the group has, and keep it over restarts."
    ),
}


def _whole(own: Mapping[str, str], name: str, default: int | None) -> Any:
    """A whole number, at least 1; the default if it is not given."""
    text = own.get(name.lower())
    if text is None:
        return default
    value = whole_from(text.strip())
    if not isinstance(value, int) or not 1 <= value < 2**63:
        raise ConfigError(f"{name} must be a whole number, at least 1, not {shown(text)}.")
    return value


def _flag(own: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = flag_from(own.get(name.lower(), default))
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, not {shown(value)}.")
    return value


# --- startingOffsets -------------------------------------------------------------------------------------------------


def _starting(text: str, topics: tuple[str, ...]) -> int | dict[TopicPartition, int] | None:
    words = {"committed": None, "earliest": EARLIEST, "latest": LATEST}
    if (word := text.strip().lower()) in words:
        return words[word]
    try:
        found = {
            TopicPartition(topic, _number(number)): _offset(offset)
            for topic, offsets in json.loads(text).items()
            for number, offset in offsets.items()
        }
    except (ValueError, TypeError, AttributeError):
        raise ConfigError(
            "startingOffsets must be committed, earliest, latest, or offsets as JSON, such as "
            f'{{"orders": {{"0": 23, "1": -2}}}} with -2 for earliest and -1 for latest, not {shown(text)}.'
        ) from None
    if foreign := sorted({place.topic for place in found} - set(topics)):
        raise ConfigError(f"startingOffsets names {', '.join(foreign)}, which subscribe does not have.")
    return found


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError
    return int(text)


def _offset(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not EARLIEST <= value < 2**63:
        raise ValueError
    return value


# --- keys of the Kafka client ----------------------------------------------------------------------------------------

_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
}
"""From the keys of Kafka's Java client, which Spark's own source takes, to those of librdkafka."""

_REFUSED = {
    "enable.auto.commit": "the offsets of completed batches are committed by the source",
    "key.deserializer": "keys are bytes: use Spark's functions, such as from_json",
    "value.deserializer": "values are bytes: use Spark's functions, such as from_json",
    "interceptor.classes": "there are no interceptors of Java",
    "max.poll.records": "use maxOffsetsPerTrigger",
    "group.instance.id": "it consists of the option name and the number of the slot",
    "client.id": "it has the number of the incarnation",
}


def _client_config(given: Mapping[str, str]) -> dict[str, Any]:
    """The keys that begin with `kafka.`, with `group.id`, as `membership_client.Consumer` takes them."""
    kafka = {key.removeprefix("kafka."): value for key, value in given.items() if key.startswith("kafka.")}
    for key in sorted(kafka.keys() & _REFUSED.keys()):
        raise ConfigError(f"kafka.{key} cannot be set for kafka-group: {_REFUSED[key]}. Leave it out.")
    group = given.get("group.id", kafka.get("group.id", ""))
    if not group.strip():
        raise ConfigError(
            "The option group.id is missing. Set it to the consumer group that this query is to be seen as."
        )
    if kafka.get("group.id", group) != group:
        raise ConfigError(
            f"group.id is {shown(group)} and kafka.group.id is {shown(kafka['group.id'])}: set one of them."
        )
    if not kafka.get("bootstrap.servers", "").strip():
        raise ConfigError("The option kafka.bootstrap.servers is missing. Set it to the addresses of the brokers.")
    plain = {_RENAMED.get(key, key): value for key, value in kafka.items() if not _is_security(key)}
    return {**plain, **_security({k: v for k, v in kafka.items() if _is_security(k)}), "group.id": group}


def _is_security(key: str) -> bool:
    return key == "security.protocol" or key.startswith(("ssl.", "sasl."))


_ONLY_JAVA = (
    "sasl.jaas.config",
    "ssl.truststore.",
    "ssl.keystore.type",
    "ssl.keystore.certificate",
    "ssl.keystore.key",
)


def _security(kafka: Mapping[str, str]) -> dict[str, str]:
    """Keys of Kafka's Java client are translated; those of librdkafka stay as they are."""
    return from_java(kafka) if any(key.startswith(_ONLY_JAVA) for key in kafka) else dict(kafka)
