"""Checks what the driver was given, before anything is started: a wrong value would fail in every task, again and again."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaException

from membership_client import ConfigError
from membership_client_spark.identity import slot_instance_id


def checked_topics(topics: object) -> tuple[str, ...]:
    """ConfigError unless it is a list of names; a single name would be taken for a list of its letters."""
    if isinstance(topics, str | bytes | Mapping) or not isinstance(topics, Collection) or not _are_names(topics):
        raise ConfigError(f"topics must be a list of at least one topic, not {topics!r}.")
    return tuple(topics)


def _are_names(topics: Collection[object]) -> bool:
    return bool(topics) and all(isinstance(name, str) and name for name in topics)


def checked_slots(name: object, slots: object) -> int:
    """ConfigError unless as many instance ids can be made of the name."""
    slots = checked_count("slots", slots)
    if not isinstance(name, str):
        raise ConfigError(f"name must be a string, not {name!r}.")
    try:
        slot_instance_id(name, slots - 1)
    except ValueError as error:
        raise ConfigError(f"name: {error}.") from error
    return slots


def checked_count(argument: str, value: object) -> int:
    """ConfigError unless it is a whole number, at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"{argument} must be a whole number, at least 1, not {value!r}.")
    return value


def checked_seconds(argument: str, value: object) -> float:
    """ConfigError unless it is a number of seconds that comes to an end."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ConfigError(f"{argument} must be a number of seconds that is not negative, not {value!r}.")
    return float(value)


def checked_choice(argument: str, value: object, choices: Collection[str]) -> str:
    """ConfigError unless it is one of them."""
    if not isinstance(value, str) or value not in choices:
        raise ConfigError(f"{argument} must be {' or '.join(map(repr, choices))}, not {value!r}.")
    return value


def checked_function(argument: str, value: object, of: str) -> None:
    """ConfigError unless it can be called; `of` says with what."""
    if not callable(value):
        raise ConfigError(f"{argument} must be a function of {of}, not {value!r}.")


def check_consumer(kind: type[confluent_kafka.Consumer], config: Mapping[str, Any]) -> None:
    """ConfigError for what such a consumer refuses. Makes one that neither joins a group nor reads, and closes it.

    It writes no trace: the driver's would lie beside those of the slots.
    """
    silent = {key: value for key, value in config.items() if str(key).replace("_", ".") != "trace.file"}
    try:
        kind({**silent, "enable.auto.commit": False, "log_level": 0}).close()
    except ConfigError:
        raise
    except KafkaException as error:
        raise ConfigError(f"librdkafka refuses this configuration: {error.args[0].str()}.") from error
