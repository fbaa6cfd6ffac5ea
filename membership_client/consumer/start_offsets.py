"""Where partitions start of which nothing was ever committed, as numbers.

librdkafka looks up "the beginning" and "the end" by itself. But when its answer comes after the partition was taken away, it
asks once more, and moves there whatever it fetches by then: a partition that has come back meanwhile, with the offset that
somebody committed, is read from the beginning again, or what lies before the end is never read. Who is given a number asks
nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import confluent_kafka
from confluent_kafka import KafkaException

from membership_client.consumer.translate import ours_at
from membership_client.types import Offset, TopicPartition

logger = logging.getLogger("membership_client")

Starts = Mapping[TopicPartition, Offset | None]
"""Where to start, or None where nobody knows."""

_PATIENCE_S = 2.0
"""Partitions without a leader must not hold up the others of an assignment: librdkafka waits for them."""


def look_up(raw: confluent_kafka.Consumer, partitions: Iterable[TopicPartition], start: int) -> Starts:
    """The first or the last offsets, as far as brokers tell them in time. Any thread that `raw` lets in."""
    wanted = [confluent_kafka.TopicPartition(*partition, start) for partition in partitions]
    if not wanted or start == confluent_kafka.OFFSET_INVALID:
        return {}
    try:
        return ours_at(found for found in raw.offsets_for_times(wanted, timeout=_PATIENCE_S) if found.error is None)
    except KafkaException as error:
        logger.info("librdkafka is to find out where %d partitions start: %s", len(wanted), error)
    except RuntimeError:  # The consumer was closed meanwhile.
        pass
    return {}
