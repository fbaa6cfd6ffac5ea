"""Checks what an application passes to a method, where it passes it.

A value that Kafka's format cannot hold would otherwise be found by the membership thread, when it writes the request.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any

from membership_client.errors import ConfigError
from membership_client.types import Offset, TopicPartition

_INT32 = range(2**31)
_INT64 = range(2**63)


def checked_partition(value: object) -> TopicPartition:
    """As a TopicPartition, from one or from a pair. Raises ConfigError if no partition has that name."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise ConfigError(f"A partition is a TopicPartition, or a pair of topic and number, not {value!r}.")
    topic, number = value
    if not topic or not _is_utf8(topic):
        raise ConfigError(f"The topic of a partition is a name, not {topic!r}.")
    if not _is_int(number) or number not in _INT32:
        raise ConfigError(f"The number of a partition of {topic} is an int from 0 to {_INT32[-1]}, not {number!r}.")
    return TopicPartition(topic, number)


def checked_offsets(value: object) -> dict[TopicPartition, Offset]:
    """From a mapping whose values are Offsets or ints. Raises ConfigError if they cannot be committed."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"commit() takes a mapping of partitions to offsets, not {value!r}.")
    return {(place := checked_partition(key)): _checked_offset(offset, place) for key, offset in value.items()}


def _checked_offset(value: Any, partition: TopicPartition) -> Offset:
    offset = value if isinstance(value, Offset) else Offset(value)
    if not _is_int(offset.offset) or offset.offset not in _INT64:
        raise ConfigError(
            f"The offset of {partition} is the number of a record, so an int that is not negative and below 2**63, "
            f"not {offset.offset!r}."
        )
    epoch = offset.leader_epoch
    if epoch is not None and (not _is_int(epoch) or epoch not in _INT32):
        raise ConfigError(f"The leader epoch of {partition} is None or an int from 0 to {_INT32[-1]}, not {epoch!r}.")
    if not _is_utf8(offset.metadata):
        raise ConfigError(f"The metadata of {partition} is text that UTF-8 can hold, not {offset.metadata!r}.")
    return offset


def checked_timeout_s(value: object) -> float:
    """As threads and queues take it: neither the negative rest of a budget nor infinity. Raises ConfigError for NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ConfigError(f"timeout_s is a number of seconds, not {value!r}.")
    return min(max(0.0, value), threading.TIMEOUT_MAX)


def _is_int(value: object) -> bool:
    """A bool is one for Python, and a mistake here; a float with a whole number is one, too."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_utf8(value: object) -> bool:
    """A lone surrogate is in a string of Python's, and in no UTF-8."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False
