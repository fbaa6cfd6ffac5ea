"""Checks of arguments and of Spark's settings, on the driver, before anything is started.

A wrong argument would fail in every task; with a wrong setting of Spark a slot would run twice, or never.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaException

from membership_client import ConfigError
from membership_client.arguments import checked_pattern, checked_topic, is_text, plain, shown
from membership_client_spark.arrow import COLUMNS
from membership_client_spark.errors import SparkSettingsError
from membership_client_spark.incarnation import slot_instance_id


def checked_topics(topics: object) -> tuple[str, ...]:
    """ConfigError unless it is a list of valid topic names. A string is refused: it would be read letter by letter."""
    return tuple(checked_topic("topics", topic) for topic in _checked_list(topics))


def checked_topics_or_patterns(topics: object) -> tuple[str, ...]:
    """As `checked_topics`, with patterns among them, which begin with `^`."""
    return tuple(
        checked_pattern(topic) if topic.startswith("^") else checked_topic("topics", topic)
        for topic in _checked_list(topics)
    )


def _checked_list(topics: object) -> tuple[str, ...]:
    if isinstance(topics, str | bytes | Mapping) or not isinstance(topics, Collection) or not _are_names(topics):
        raise ConfigError(f"topics must be a list of at least one topic, not {shown(topics)}.")
    return tuple(map(plain, topics))


def _are_names(topics: Collection[object]) -> bool:
    return bool(topics) and all(map(is_text, topics))


def checked_slots(name: object, slots: object) -> int:
    """ConfigError unless the name and the number of each slot make a valid instance id."""
    slots = checked_count("slots", slots)
    if not isinstance(name, str):
        raise ConfigError(f"name must be a string, not {shown(name)}.")
    try:
        slot_instance_id(name, slots - 1)
    except ValueError as error:
        raise ConfigError(f"name: {error}") from error
    return slots


def checked_count(argument: str, value: object) -> int:
    """ConfigError unless it is a whole number, at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**31:
        raise ConfigError(f"{argument} must be a whole number, at least 1, not {shown(value)}.")
    return value


def checked_seconds(argument: str, value: object) -> float:
    """ConfigError unless it is a number of seconds that is not negative and not infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= threading.TIMEOUT_MAX:
        raise ConfigError(f"{argument} must be a number of seconds that is not negative, not {shown(value)}.")
    return float(value)


def checked_wait(value: object) -> float | None:
    """A timeout in seconds, at most what threads can wait; None for no timeout. ConfigError for NaN."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - not a number
        raise ConfigError(f"timeout_s must be a number of seconds, or None, not {shown(value)}.")
    return float(min(max(0.0, value), threading.TIMEOUT_MAX))


def checked_names(argument: str, value: object) -> tuple[str, ...]:
    """ConfigError unless it is a list of names, which may be empty. A string is refused: 'day' would be d, a and y."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection) or not all(map(is_text, value)):
        raise ConfigError(f"{argument} must be a list of names, not {shown(value)}.")
    return tuple(map(plain, value))


def checked_columns(value: object) -> tuple[str, ...]:
    """ConfigError unless it is a list of columns of Spark's Kafka source, at least one, and none twice."""
    names = checked_names("columns", value)
    if not names or not set(names) <= set(COLUMNS) or len(set(names)) < len(names):
        raise ConfigError(f"columns must be some of {', '.join(COLUMNS)}, each once, not {shown(list(names))}.")
    return names


def checked_path(argument: str, value: object) -> str:
    """ConfigError unless it is a path, with or without a scheme."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or not is_text(path):
        raise ConfigError(f"{argument} must be a path, not {shown(value)}.")
    return plain(path)


def checked_session(spark: object) -> None:
    """ConfigError unless it looks like a Spark session, classic or of Spark Connect."""
    if not hasattr(getattr(spark, "conf", None), "get"):
        raise ConfigError(f"spark must be a SparkSession, not {shown(spark)}.")


def check_consumer(kind: type[confluent_kafka.Consumer], config: Mapping[str, Any]) -> None:
    """ConfigError if such a consumer refuses the configuration: makes one, which joins no group, and closes it.

    It writes no trace, because an audit would take that for the trace of a member.
    """
    silent = {key: value for key, value in config.items() if str(key).replace("_", ".") != "trace.file"}
    try:
        kind({"enable.auto.commit": False, **silent, "log_level": 0}).close()
    except ConfigError:
        raise
    except KafkaException as error:
        raise ConfigError(f"librdkafka refuses this configuration: {error.args[0].str()}.") from error
    except (TypeError, ValueError) as error:
        raise ConfigError(f"confluent-kafka refuses this configuration: {error}.") from error


# --- settings of Spark -----------------------------------------------------------------------------------------------

Get = Callable[[str], str | None]
"""Returns one Spark setting by its name; None if it is not set."""

_LOCAL = re.compile(r"local(?:\[(\d+)(?:,\d+)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")


def check_settings(get: Get, slots: int) -> None:
    """SparkSettingsError for settings under which a slot would run twice, or some slots would never start."""
    if (get("spark.speculation") or "false").lower() == "true":
        raise SparkSettingsError(
            "spark.speculation is on: Spark would start a second copy of a slot that looks slow, and both would have the "
            "same group.instance.id. Set spark.speculation=false for this application."
        )
    for what, room in _room(get):
        if room < slots:
            raise SparkSettingsError(
                f"{slots} slots need {slots} tasks at once, and {what} leaves room for {room}: the other slots would never "
                "start. Raise it, or use fewer slots."
            )


def notes(get: Get) -> Iterator[str]:
    """Settings that are allowed but have a disadvantage, for the log."""
    failures = get("spark.task.maxFailures")
    if failures == "1":
        yield "spark.task.maxFailures=1: a lost slot is submitted as a new job, which takes a little longer than a retry"
    if _cores(get) is None and not _is_local(get):
        yield "spark.executor.cores is not set: several slots may share an executor and are lost together"


def cpus_per_slot(get: Get) -> int | None:
    """How many CPUs a slot must ask for to have an executor for itself; None where it cannot or need not ask."""
    cores = _cores(get)
    return cores if cores is not None and cores > _task_cpus(get) and not _is_local(get) else None


def _room(get: Get) -> Iterator[tuple[str, int]]:
    """Each setting that limits the number of slots, and how many it leaves room for."""
    cores, master = _cores(get), get("spark.master") or ""
    if local := _LOCAL.fullmatch(master):
        yield f"spark.master={master}", int(local[1] or 1) // _task_cpus(get)
    if cluster := _LOCAL_CLUSTER.fullmatch(master):
        yield f"spark.master={master}", int(cluster[1]) * _slots_on(int(cluster[2]), get)
    if total := get("spark.cores.max"):
        yield f"spark.cores.max={total}", _slots_on(int(total), get)
    if (instances := get("spark.executor.instances")) and not _is_dynamic(get) and cores is not None:
        yield f"spark.executor.instances={instances}", int(instances) * _slots_on(cores, get)
    if (most := get("spark.dynamicAllocation.maxExecutors")) and _is_dynamic(get) and cores is not None:
        yield f"spark.dynamicAllocation.maxExecutors={most}", int(most) * _slots_on(cores, get)


def _slots_on(cores: int, get: Get) -> int:
    """How many slots fit on these cores, in executors of `spark.executor.cores` if that is set."""
    per_executor = _cores(get) or max(1, cores)
    return cores // per_executor * (per_executor // (cpus_per_slot(get) or _task_cpus(get)))


def _is_local(get: Get) -> bool:
    return (get("spark.master") or "").startswith("local") and not (get("spark.master") or "").startswith(
        "local-cluster"
    )


def _is_dynamic(get: Get) -> bool:
    return (get("spark.dynamicAllocation.enabled") or "false").lower() == "true"


def _cores(get: Get) -> int | None:
    value = get("spark.executor.cores")
    return int(value) if value else None


def _task_cpus(get: Get) -> int:
    return int(get("spark.task.cpus") or 1)


def checked_statement(value: object) -> str:
    """ConfigError unless it is a MERGE or INSERT with `{table}` and `{rows}`, which Delta and Iceberg run as one commit."""
    words = value.split(None, 1) if isinstance(value, str) else []
    complete = isinstance(value, str) and "{table}" in value and "{rows}" in value
    if not complete or words[0].upper() not in {"MERGE", "INSERT"}:
        raise ConfigError(
            "merge must be one statement that begins with MERGE or INSERT and has {table} and {rows} in it, not "
            f"{shown(value)}."
        )
    assert isinstance(value, str)
    return value
