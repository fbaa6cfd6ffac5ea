"""A consumer in virtual time, with the methods of `membership_client.aio.Consumer`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import TopicPartition as TheirPartition

from membership_client.aio.loop_call import LOST
from membership_client.aio.member import running_loop
from membership_client.consumer.hooks import hooks_of
from membership_client.consumer.kafka_errors import as_kafka_exception
from membership_client.core.events import CallbackKind, RunCallback
from membership_client.errors import CallbackFailedError, ConfigError
from membership_client.runtime.listener import Callback
from membership_client.testing.kit.consumer_in_run import ConsumerInRun
from membership_client.testing.kit.message import VirtualMessage
from membership_client.testing.kit.virtual_consumer import Process
from membership_client.testing.kit.virtual_loop import VirtualLoop
from membership_client.types import TopicPartition

if TYPE_CHECKING:
    from membership_client.testing.kit.world import World


class VirtualAioConsumer:
    """A consumer that `Instance.aio_consumer` makes, inside a coroutine.

    Callbacks, which may be coroutines, run on the event loop while the program awaits records, and inside `close`. A callback
    whose partitions are lost is cancelled, and the call that ran it raises CallbackFailedError. A call that is cancelled loses
    no record.
    """

    def __init__(self, world: World, label: str, config: dict[str, Any], process: Process) -> None:
        loop = running_loop()
        if not isinstance(loop, VirtualLoop):
            raise ConfigError("This event loop is not virtual: start it inside the program with asyncio.run().")
        self._in_run = _OnLoop(world, loop, label, config, consumer=self, process=process)
        self.membership = self._in_run.membership
        self.abandon = self._in_run.abandon
        self.is_idle = self._in_run.is_idle
        self.subscribe = self._in_run.subscribe
        self.memberid = self._in_run.memberid

    # --- the group ---------------------------------------------------------------------------------------------------

    async def unsubscribe(self) -> None:
        await self._in_run._unsubscribe()

    async def assignment(self) -> list[TheirPartition]:
        return self._in_run.assignment()

    async def assign(self, partitions: Iterable[TheirPartition]) -> None:
        self._in_run.assign(partitions)

    incremental_assign = assign

    async def unassign(self) -> None:
        self._in_run.unassign()

    async def incremental_unassign(self, partitions: Iterable[TheirPartition]) -> None:
        self._in_run.incremental_unassign(partitions)

    # --- records -----------------------------------------------------------------------------------------------------

    async def poll(self, timeout: float = -1) -> VirtualMessage | None:
        return await self._in_run._poll(timeout)

    async def getone(self, *, timeout_s: float | None = None) -> VirtualMessage | None:
        return await self._in_run._poll(-1 if timeout_s is None else timeout_s)

    async def consume(self, num_messages: int = 1, timeout: float = -1) -> list[VirtualMessage]:
        return await self._in_run._consume(num_messages, timeout)

    async def getmany(self, *, max_records: int = 500, timeout_s: float | None = 1.0) -> list[VirtualMessage]:
        return await self._in_run._consume(max_records, -1 if timeout_s is None else timeout_s)

    async def __aiter__(self) -> AsyncIterator[VirtualMessage]:
        while True:
            if (message := await self.poll()) is not None:
                yield message

    async def seek(self, partition: TheirPartition) -> None:
        self._in_run.seek(partition)

    async def position(self, partitions: Iterable[TheirPartition]) -> list[TheirPartition]:
        return self._in_run.position(partitions)

    async def pause(self, partitions: Iterable[TheirPartition]) -> None:
        self._in_run.pause(partitions)

    async def resume(self, partitions: Iterable[TheirPartition]) -> None:
        self._in_run.resume(partitions)

    async def get_watermark_offsets(self, partition: TheirPartition, *_: object, **__: object) -> tuple[int, int]:
        return self._in_run.get_watermark_offsets(partition)

    async def offsets_for_times(
        self, partitions: Iterable[TheirPartition], *_: object, **__: object
    ) -> list[TheirPartition]:
        return self._in_run.offsets_for_times(partitions)

    # --- offsets -----------------------------------------------------------------------------------------------------

    async def commit(
        self,
        message: Any = None,
        offsets: Iterable[TheirPartition] | None = None,
        asynchronous: bool = False,
    ) -> list[TheirPartition]:
        """Commit. A commit that is cancelled is still carried out, before its partitions are released."""
        return await self._in_run.commit(message, offsets, asynchronous=asynchronous)

    async def committed(
        self,
        partitions: Iterable[TheirPartition],
        timeout_s: float = 10.0,  # noqa: ARG002 - the virtual broker always answers
    ) -> list[TheirPartition]:
        return await self._in_run._committed(partitions)

    async def store_offsets(self, message: Any = None, offsets: Iterable[TheirPartition] | None = None) -> None:
        self._in_run.store_offsets(message, offsets)

    # --- the end -----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        await self._in_run._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _OnLoop(ConsumerInRun):
    def __init__(
        self,
        world: World,
        loop: VirtualLoop,
        label: str,
        config: dict[str, Any],
        *,
        consumer: VirtualAioConsumer,
        process: Process,
    ) -> None:
        super().__init__(world, loop, label, config)
        self._loop = loop
        self._consumer = consumer
        self._process = process
        self._calling: asyncio.Task[None] | None = None
        self._kind: CallbackKind | None = None
        self._committing: set[asyncio.Task[Any]] = set()
        self._running: asyncio.Future[Any] | None = None
        """The coroutine of the running callback."""

    def _hooks_of(self, *given: Any) -> dict[CallbackKind, Callback]:
        return hooks_of(self._consumer, *given, coroutines=True)

    def _is_told(self) -> bool:
        """Whether a program that calls `asyncio.run` itself is told to end. An async program is cancelled instead."""
        return self._process.interrupted and not self._process.is_cancelled and not self._closed

    def _check_interrupt(self) -> None:
        if self._is_told():
            self._process.check_interrupt()

    async def _poll(self, timeout: float) -> VirtualMessage | None:
        if self._calling is not None and asyncio.current_task() is self._calling:
            raise ConfigError("A callback cannot await records: they come when it has returned.")
        return await super()._poll(timeout)

    async def commit(self, *given: Any, asynchronous: bool) -> list[TheirPartition]:
        commit = self._loop.create_task(self._commit(*given, asynchronous=asynchronous))
        self._committing.add(commit)
        commit.add_done_callback(self._committing.discard)
        return await asyncio.shield(commit) or []

    async def _forget(self, partitions: tuple[TopicPartition, ...], *, is_kept: bool) -> None:
        if committing := self._committing - {asyncio.current_task()}:
            await asyncio.wait(committing)
        await super()._forget(partitions, is_kept=is_kept)

    async def _call(self, call: RunCallback) -> None:
        """Run the callback to its end, even if the call that awaits records is cancelled."""
        self._kind = call.kind
        self._calling = self._loop.create_task(super()._call(call))
        await asyncio.shield(self._calling)

    async def _await(self, outcome: Any) -> None:
        if not asyncio.iscoroutine(outcome) and not asyncio.isfuture(outcome):
            return
        assert self._context is not None
        running = asyncio.ensure_future(outcome)
        self._running = running
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            if not running.cancelled():
                raise
            raise as_kafka_exception(CallbackFailedError(LOST)) from None
        finally:
            self._running = None

    def _mark_lost(self) -> None:
        super()._mark_lost()
        if self._running is not None and self._kind is not CallbackKind.LOST:
            self._loop.call_soon_threadsafe(self._running.cancel)
