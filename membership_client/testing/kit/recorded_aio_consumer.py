"""A real consumer of `membership_client.aio`, with a history of its callbacks and commits."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterable
from typing import Any, Self

from membership_client.consumer.hooks import Hook
from membership_client.runtime.listener import accepts
from membership_client.testing.kit.history import NO_CALLBACK, What, as_partitions
from membership_client.testing.kit.recorded_consumer import Recorded


class RecordedAioConsumer(Recorded):
    """A consumer whose `subscribe` and `commit` also write the history."""

    _awaits = True

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
        self._record_commit(message, offsets)
        return await self._consumer.commit(message, offsets, asynchronous)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._consumer.__aexit__(*raised)
