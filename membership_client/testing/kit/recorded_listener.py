"""A listener of a `GroupMember`, ours or asyncio's, with a history of its callbacks."""

from __future__ import annotations

import inspect
from typing import Any

from membership_client.runtime.listener import CallbackContext, accepts
from membership_client.testing.kit.history import NO_CALLBACK, What
from membership_client.testing.kit.recorder import Recorder
from membership_client.types import TopicPartition

_Partitions = tuple[TopicPartition, ...]


class RecordedListener:
    """Calls the listener's callbacks and writes them to the history."""

    def __init__(self, listener: object, recorder: Recorder) -> None:
        self._listener = listener
        self._recorder = recorder

    def on_partitions_assigned(self, partitions: _Partitions, context: CallbackContext) -> None:
        self._call(What.ASSIGNED, "on_partitions_assigned", partitions, context)

    def on_partitions_revoked(self, partitions: _Partitions, context: CallbackContext) -> None:
        self._call(What.REVOKED, "on_partitions_revoked", partitions, context)

    def on_partitions_lost(self, partitions: _Partitions, context: CallbackContext) -> None:
        self._call(What.LOST, "on_partitions_lost", partitions, context)

    def _call(self, what: What, name: str, partitions: _Partitions, context: CallbackContext) -> None:
        method = getattr(self._listener, name, None)
        with self._recorder.callback(what, partitions, "" if method else NO_CALLBACK):
            if method is not None:
                method(*_arguments(method, partitions, context))


class RecordedAsyncListener(RecordedListener):
    """A RecordedListener for a listener whose callbacks are coroutines."""

    async def on_partitions_assigned(  # type: ignore[override] # - awaited by membership_client.aio
        self, partitions: _Partitions, context: CallbackContext
    ) -> None:
        await self._await(What.ASSIGNED, "on_partitions_assigned", partitions, context)

    async def on_partitions_revoked(  # type: ignore[override]
        self, partitions: _Partitions, context: CallbackContext
    ) -> None:
        await self._await(What.REVOKED, "on_partitions_revoked", partitions, context)

    async def on_partitions_lost(  # type: ignore[override]
        self, partitions: _Partitions, context: CallbackContext
    ) -> None:
        await self._await(What.LOST, "on_partitions_lost", partitions, context)

    async def _await(self, what: What, name: str, partitions: _Partitions, context: CallbackContext) -> None:
        method = getattr(self._listener, name, None)
        with self._recorder.callback(what, partitions, "" if method else NO_CALLBACK):
            if method is not None:
                outcome = method(*_arguments(method, partitions, context))
                if inspect.isawaitable(outcome):
                    await outcome


def recorded_listener(listener: object, recorder: Recorder) -> RecordedListener:
    """Wraps the listener, whose callbacks may be plain functions or coroutines."""
    methods = [getattr(listener, name, None) for name in vars(RecordedListener) if name.startswith("on_")]
    is_async = any(inspect.iscoroutinefunction(method) for method in methods)
    return (RecordedAsyncListener if is_async else RecordedListener)(listener, recorder)


def _arguments(method: Any, partitions: _Partitions, context: CallbackContext) -> tuple[Any, ...]:
    return (partitions, context) if accepts(method, 2) else (partitions,)
