"""Start offsets of partitions without a committed offset, as numbers; and reports about a long wait for committed offsets.

librdkafka can look up "the beginning" and "the end" by itself. But if the answer comes after the partition was taken away, it
asks again, and applies the answer even if the partition has come back meanwhile with a committed offset: records are read
again from the beginning, or those before the end are never read. Given a number, librdkafka asks nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping

import confluent_kafka
from confluent_kafka import KafkaException

from membership_client.consumer.translate import Places, ours, ours_at
from membership_client.core.error_codes import Code
from membership_client.errors import MembershipError
from membership_client.partitions import counted
from membership_client.types import Offset, TopicPartition

logger = logging.getLogger("membership_client")

Starts = Mapping[TopicPartition, Offset | None]
"""Where each partition starts; None where that is not known."""

Ask = Callable[..., Places]
"""The method offsets_for_times() of a consumer."""

_PATIENCE_S = 2.0
"""How long a look-up may take: librdkafka waits for partitions without a leader, which must not delay the others."""

_FIRST_REPORT_S = 5.0
"""The member reports a wait for committed offsets that is longer than this."""

_NEXT_REPORT_S = 60.0
"""Time between two reports."""

_OPEN_TRANSACTION = (
    "a producer has sent offsets of this group to a transaction that is still open; it must commit or abort it, or "
    "transaction.timeout.ms ends it"
)


def look_up(raw: confluent_kafka.Consumer, partitions: Iterable[TopicPartition], start: int) -> Starts:
    """The first or last offsets, or those of a time; partitions that no broker answers for in time are left out."""
    wanted = list(partitions)
    if not wanted or start == confluent_kafka.OFFSET_INVALID:
        return {}
    try:
        found = _places_since(raw.offsets_for_times, wanted, start, _PATIENCE_S)
        return ours_at(place for place in found if place.error is None)
    except KafkaException as error:
        logger.info(
            "The start offsets of %s were not found; librdkafka looks them up: %s",
            counted(len(wanted), "partition"),
            error,
        )
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
    """The time `duration_s` ago, as a timestamp of records."""
    return int(max(0.0, time.time() - duration_s) * 1000)


def _places_since(ask: Ask, partitions: Iterable[TopicPartition], when: int, timeout_s: float) -> Places:
    """The partitions, each with its offset or its error."""
    found = _places_at(ask, partitions, when, timeout_s)
    late = [place for place in found if place.error is None and place.offset < 0]
    ends = _places_at(ask, ours(late), confluent_kafka.OFFSET_END, timeout_s)
    return [*(place for place in found if place not in late), *ends]


def _places_at(ask: Ask, partitions: Iterable[TopicPartition], when: int, timeout_s: float) -> Places:
    asked = [confluent_kafka.TopicPartition(*partition, when) for partition in partitions]
    return ask(asked, timeout=timeout_s) if asked else []


class OffsetWait:
    """One wait for committed offsets, from `since` on. Belongs to the thread that waits."""

    def __init__(self, since: float) -> None:
        self.since = since
        self._next_at = since + _FIRST_REPORT_S

    def is_to_tell(self, now: float) -> bool:
        """Is a report due? Once after some seconds, and then once a minute."""
        if now < self._next_at:
            return False
        self._next_at = now + _NEXT_REPORT_S
        return True


def reason(partitions: Collection[TopicPartition], error: MembershipError) -> str:
    """What the partitions wait for: a clause without its full stop."""
    said = str(error.__cause__ or error.detail).rstrip(".")
    topics = ", ".join(sorted({partition.topic for partition in partitions}))
    waited_for = f"the committed offsets of {counted(len(partitions), 'partition')} of {topics} ({said})"
    return f"{waited_for}: {_OPEN_TRANSACTION}" if Code.UNSTABLE_OFFSET_COMMIT.name in said else waited_for
