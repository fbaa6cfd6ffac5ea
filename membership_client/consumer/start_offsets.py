"""Where partitions start of which nothing was ever committed, as numbers.

librdkafka looks up "the beginning" and "the end" by itself. But when its answer comes after the partition was taken away, it
asks once more, and moves there whatever it fetches by then: a partition that has come back meanwhile, with the offset that
somebody committed, is read from the beginning again, or what lies before the end is never read. Who is given a number asks
nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

import confluent_kafka
from confluent_kafka import KafkaException

from membership_client.consumer.translate import ours, ours_at
from membership_client.types import Offset, TopicPartition

logger = logging.getLogger("membership_client")

Starts = Mapping[TopicPartition, Offset | None]
"""Where to start, or None where nobody knows."""

Places = list[confluent_kafka.TopicPartition]
Ask = Callable[..., Places]
"""offsets_for_times() of a consumer."""

_PATIENCE_S = 2.0
"""Partitions without a leader must not hold up the others of an assignment: librdkafka waits for them."""


def look_up(raw: confluent_kafka.Consumer, partitions: Iterable[TopicPartition], start: int) -> Starts:
    """The first or the last offsets, or those of a time, as far as brokers tell them in time. Any thread that `raw` lets in."""
    wanted = list(partitions)
    if not wanted or start == confluent_kafka.OFFSET_INVALID:
        return {}
    try:
        found = _places_since(raw.offsets_for_times, wanted, start, _PATIENCE_S)
        return ours_at(place for place in found if place.error is None)
    except KafkaException as error:
        logger.info("librdkafka is to find out where %d partitions start: %s", len(wanted), error)
    except RuntimeError:  # The consumer was closed meanwhile.
        pass
    return {}


def offsets_since(
    ask: Ask, partitions: Iterable[TopicPartition], when: int, timeout_s: float
) -> dict[TopicPartition, int]:
    """The first offsets whose records are not older than `when`, in milliseconds; the end where no record is as young.

    `when` may be OFFSET_BEGINNING or OFFSET_END. KafkaException if a partition does not exist, or time is up.
    """
    found = _places_since(ask, partitions, when, timeout_s)
    if errors := [place.error for place in found if place.error is not None]:
        raise KafkaException(errors[0])
    return {TopicPartition(place.topic, place.partition): place.offset for place in found}


def milliseconds_ago(duration_s: float) -> int:
    """As a timestamp of records."""
    return int(max(0.0, time.time() - duration_s) * 1000)


def _places_since(ask: Ask, partitions: Iterable[TopicPartition], when: int, timeout_s: float) -> Places:
    """Each with its offset or its error."""
    found = _places_at(ask, partitions, when, timeout_s)
    late = [place for place in found if place.error is None and place.offset < 0]
    ends = _places_at(ask, ours(late), confluent_kafka.OFFSET_END, timeout_s)
    return [*(place for place in found if place not in late), *ends]


def _places_at(ask: Ask, partitions: Iterable[TopicPartition], when: int, timeout_s: float) -> Places:
    asked = [confluent_kafka.TopicPartition(*partition, when) for partition in partitions]
    return ask(asked, timeout=timeout_s) if asked else []
