"""A real consumer of `membership_client.aio`, with a history of its callbacks and commits."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterable
from typing import Any, Self

from membership_client.consumer.hooks import Hook
from membership_client.runtime.listener import accepts
from membership_client.testing.kit.history import NO_CALLBACK, What, as_partitions
from membership_client.testing.kit.recorded_consumer import offsets_of
from membership_client.testing.kit.recorded_listener import recorded_listener
from membership_client.testing.kit.recorder import Recorder


class RecordedAioConsumer:
    """Passes everything on to the real consumer; `subscribe` and `commit` also write the history."""

    def __init__(self, consumer: Any, recorder: Recorder) -> None:
        self._consumer = consumer
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def subscribe(
        self,
        topics: Iterable[str],
        on_assign: Hook | None = None,
        on_revoke: Hook | None = None,
        on_lost: Hook | None = None,
        *,
        listener: object | None = None,
    ) -> Any:
        if listener is not None:
            return self._consumer.subscribe(list(topics), listener=recorded_listener(listener, self._recorder))
        return self._consumer.subscribe(
            list(topics),
            on_assign=self._hook(What.ASSIGNED, on_assign),
            on_revoke=self._hook(What.REVOKED, on_revoke),
            on_lost=self._hook(What.LOST, on_lost or on_revoke),
        )

    def _hook(self, what: What, hook: Hook | None) -> Hook:
        async def call(_: object, partitions: Iterable[Any], context: object) -> None:
            arguments = (self, partitions) if hook is None or accepts(hook, 2) else (self, partitions, context)
            with self._recorder.callback(what, as_partitions(partitions), "" if hook else NO_CALLBACK):
                outcome = None if hook is None else hook(*arguments)
                if inspect.isawaitable(outcome):
                    await outcome

        return call

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for message in self._consumer:
            yield message

    async def commit(self, message: Any = None, offsets: Any = None, asynchronous: bool = False) -> Any:
        for partition, offset in offsets_of(message, offsets):
            self._recorder.add(What.COMMIT_SENT, partitions=(partition,), offset=offset)
        return await self._consumer.commit(message, offsets, asynchronous)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._consumer.__aexit__(*raised)
