"""Methods of an asyncio Consumer that run on its thread: assignment, positions, and requests about the cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import confluent_kafka
from confluent_kafka.admin import ClusterMetadata

from membership_client.aio.actor import Actor, nothing
from membership_client.aio.fetcher import Fetcher
from membership_client.aio.loop_listener import LoopListener
from membership_client.aio.reply import Reply
from membership_client.arguments import checked_flag, checked_text, checked_timeout_s, checked_whole, optional
from membership_client.consumer.arguments import checked_places, checked_wait
from membership_client.consumer.consumer import Record
from membership_client.consumer.kafka_errors import as_kafka_exceptions
from membership_client.consumer.translate import Places, partition_of, theirs

T = TypeVar("T")

_CLUSTER_S = 10.0
"""The default timeout of requests about the cluster. It is short because all other calls wait meanwhile."""


class Calls:
    """Methods that run on the consumer's thread. A callback may await all of them."""

    _fetcher: Fetcher
    _actor: Actor
    _listener: LoopListener

    async def _do(self, action: Callable[[], T], then: Callable[[], None] = nothing, *, alone: bool = False) -> T:
        """Run `action` on the consumer's thread; for a callback, on the thread that waits for it."""
        reply: Reply[T] = Reply()
        job = functools.partial(reply.carry_out, functools.partial(self._actor.while_open, action, then))
        with as_kafka_exceptions():
            self._listener.post(job, alone=alone)
            return await reply

    # --- assignment --------------------------------------------------------------------------------------------------

    async def assign(self, partitions: Places) -> None:
        """In on_assign: start these partitions at these offsets, and do not fetch the others. Without a subscription: fetch only these."""
        await self._do(functools.partial(self._fetcher.assign, checked_places(partitions)))

    async def incremental_assign(self, partitions: Places) -> None:
        """In on_assign: start these partitions at these offsets. Without a subscription: fetch these, too."""
        await self._do(functools.partial(self._fetcher.incremental_assign, checked_places(partitions)))

    async def unassign(self) -> None:
        """In a callback: stop fetching its partitions, which happens anyway. Without a subscription: fetch nothing."""
        await self._do(self._fetcher.unassign)

    async def incremental_unassign(self, partitions: Places) -> None:
        """Like unassign(), for these partitions only."""
        await self._do(functools.partial(self._fetcher.incremental_unassign, checked_places(partitions)))

    async def assignment(self) -> Places:
        """The partitions that are fetched now."""
        return await self._do(self._fetcher.assignment)

    async def pause(self, partitions: Places) -> None:
        """Hand out no records of these partitions until they are resumed."""
        await self._do(functools.partial(self._fetcher.pause, checked_places(partitions)))

    async def resume(self, partitions: Places) -> None:
        """Hand out records of these partitions again."""
        await self._do(functools.partial(self._fetcher.resume, checked_places(partitions)))

    def paused(self) -> Places:
        """The partitions that are paused, of those that are fetched."""
        return self._fetcher.paused()

    # --- where to read -----------------------------------------------------------------------------------------------

    async def position(self, partitions: Places) -> Places:
        """The offset after the last record that was handed out, by partition."""
        return await self._do(functools.partial(self._fetcher.position, partitions))

    async def seek(self, partition: confluent_kafka.TopicPartition) -> None:
        """Continue to read the partition from this offset; records that were read ahead are dropped. Works from on_assign on."""
        await self._do(functools.partial(self._fetcher.seek, *checked_places([partition])))

    async def seek_to_beginning(self, *partitions: Record, timeout_s: float = _CLUSTER_S) -> None:
        """Read these partitions (without arguments: all that are fetched) from their first record on."""
        await self._seek_to(confluent_kafka.OFFSET_BEGINNING, partitions, timeout_s)

    async def seek_to_end(self, *partitions: Record, timeout_s: float = _CLUSTER_S) -> None:
        """Read these partitions (without arguments: all that are fetched) from the next record on that is written."""
        await self._seek_to(confluent_kafka.OFFSET_END, partitions, timeout_s)

    async def seek_to_time(self, timestamp_ms: int, /, *partitions: Record, timeout_s: float = _CLUSTER_S) -> None:
        """Read these partitions (without arguments: all that are fetched) from the first record on that is not older.

        The time is in milliseconds since 1970, as record timestamps are. A partition without such a record is read from its end.
        """
        with as_kafka_exceptions():
            checked_whole("timestamp_ms", timestamp_ms)
        await self._seek_to(timestamp_ms, partitions, timeout_s)

    async def _seek_to(self, when: int, partitions: tuple[Record, ...], timeout_s: float) -> None:
        chosen = frozenset(map(partition_of, partitions))
        with as_kafka_exceptions():
            timeout_s = checked_timeout_s(timeout_s)
        await self._do(functools.partial(self._fetcher.seek_to, when, chosen, timeout_s))

    # --- the cluster -------------------------------------------------------------------------------------------------

    async def get_watermark_offsets(
        self, partition: Record, timeout: float = _CLUSTER_S, cached: bool = False
    ) -> tuple[int, int] | None:
        """The first offset of a partition, and the offset after its last record; with `cached` no broker is asked.

        As in confluent-kafka, None when time is up, and OFFSET_INVALID for what is not cached.
        """
        (place,) = theirs([partition_of(partition)])
        with as_kafka_exceptions():
            checked_flag("cached", cached)
        found: tuple[int, int] | None = await self._ask(
            "get_watermark_offsets", place, timeout=checked_wait(timeout), cached=cached
        )
        return found

    async def offsets_for_times(self, partitions: Places, timeout: float = _CLUSTER_S) -> Places:
        """The first offsets whose records are not older than the times, which stand in the partitions' `offset`, in milliseconds."""
        found: Places = await self._ask("offsets_for_times", checked_places(partitions), timeout=checked_wait(timeout))
        return found

    async def list_topics(self, topic: str | None = None, timeout: float = _CLUSTER_S) -> ClusterMetadata:
        """The cluster's brokers, topics and partitions, or those of one topic."""
        with as_kafka_exceptions():
            optional(checked_text, "topic", topic)
        named = () if topic is None else (topic,)
        found: ClusterMetadata = await self._ask("list_topics", *named, timeout=checked_wait(timeout))
        return found

    async def cluster_id(self, timeout: float = _CLUSTER_S) -> str:
        found: str = await self._ask("cluster_id", timeout=checked_wait(timeout))
        return found

    async def _ask(self, method: str, *arguments: Any, **more: Any) -> Any:
        return await self._do(functools.partial(getattr(self._fetcher, method), *arguments, **more))
