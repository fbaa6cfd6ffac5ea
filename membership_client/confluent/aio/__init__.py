"""`confluent_kafka.aio`, with our AIOConsumer. All other names are confluent-kafka's own objects.

AsyncDeserializingConsumer is among them, so it has confluent-kafka's membership. Ours is `membership_client.aio.Consumer` with the
keys `key.deserializer` and `value.deserializer`.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import confluent_kafka.aio as _theirs
from confluent_kafka import Message

from membership_client.aio.consumer import Consumer
from membership_client.consumer.hooks import Hook
from membership_client.consumer.translate import Places

if TYPE_CHECKING:
    # For type checkers, which do not run `__getattr__`.
    from confluent_kafka.aio import AIOProducer, AsyncDeserializingConsumer, AsyncSerializingProducer

__all__ = ["AIOConsumer", "AIOProducer", "AsyncDeserializingConsumer", "AsyncSerializingProducer"]


class AIOConsumer(Consumer):
    """Takes what confluent_kafka.aio.AIOConsumer takes, and is in the group through our membership.

    It is `membership_client.aio.Consumer` with the constructor and the defaults of AIOConsumer. It has one thread of its own,
    so that `executor` is not used.
    """

    def __init__(
        self,
        consumer_conf: Mapping[str, Any],
        max_workers: int = 100,
        executor: concurrent.futures.Executor | None = None,
    ) -> None:
        if executor is None and max_workers < 1:
            raise ValueError("max_workers must be at least 1")
        super().__init__(consumer_conf)

    async def subscribe(  # type: ignore[override]  # a coroutine, for programs that make a task of it
        self,
        topics: Iterable[str],
        on_assign: Hook | None = None,
        on_revoke: Hook | None = None,
        on_lost: Hook | None = None,
        *,
        listener: object | None = None,
    ) -> None:
        """Like `membership_client.aio.Consumer.subscribe`."""
        super().subscribe(topics, on_assign, on_revoke, on_lost, listener=listener)

    async def consumer_group_metadata(self) -> bytes:  # type: ignore[override]  # as subscribe()
        """Like `membership_client.aio.Consumer.consumer_group_metadata`."""
        return bytes(super().consumer_group_metadata())

    def _records_for_callback(self) -> list[Message]:
        """An empty list, as inside a callback of confluent-kafka's."""
        return []

    async def commit(  # type: ignore[override]  # confluent-kafka returns None where nothing is known yet
        self, message: Message | None = None, offsets: Places | None = None, asynchronous: bool = True
    ) -> Places | None:
        """Like `membership_client.aio.Consumer.commit`. It returns None unless `asynchronous` is False, as in confluent-kafka."""
        committed = await super().commit(message, offsets, asynchronous=asynchronous)
        return None if asynchronous else committed


def __getattr__(name: str) -> Any:
    """The object that this version of confluent-kafka has under that name."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_theirs, name)
