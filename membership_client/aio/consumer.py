"""Consumer for asyncio."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException, Message

from membership_client.aio.actor import Actor
from membership_client.aio.calls import Calls
from membership_client.aio.demand import Demand
from membership_client.aio.deserializing import split_deserializing
from membership_client.aio.fetcher import Fetcher
from membership_client.aio.loop_listener import LoopListener
from membership_client.aio.member import running_loop
from membership_client.aio.reading import Reading
from membership_client.aio.reply import Reply, in_thread
from membership_client.aio.reports import reports_on_loop
from membership_client.arguments import checked_flag, checked_mapping, checked_timeout_s, checked_whole, optional
from membership_client.consumer.arguments import checked_count, checked_places, checked_wait
from membership_client.consumer.commits import PATIENCE_S
from membership_client.consumer.consumer import Record, forked_error
from membership_client.consumer.events import is_event
from membership_client.consumer.hooks import Hook, hooks_of
from membership_client.consumer.kafka_errors import as_kafka_exceptions, refusal
from membership_client.consumer.translate import Places, partition_of
from membership_client.errors import ConfigError, MemberClosedError
from membership_client.rebalance_report import RebalanceReport
from membership_client.runtime.forked import refuse_in_forked_children
from membership_client.runtime.listener import warned_of
from membership_client.trace import Journal
from membership_client.types import CloseReport, Health, LeaveMode, Progress, Snapshot, TopicPartition


class Done:
    """Returned by a method that does its work before it returns. It may be awaited, as programs written for AIOConsumer do."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


class ReadyBytes(bytes):
    """Bytes that may be awaited; the outcome is the bytes themselves."""

    def __await__(self) -> Generator[Any, None, bytes]:
        yield from ()
        return self


_DONE = Done()
_ONE = Demand(1)


class Consumer(Calls):
    """`membership_client.Consumer`, with callbacks on the event loop in which it was made.

        async with Consumer({"bootstrap.servers": "localhost:9092", "group.id": "tills"}) as consumer:
            await consumer.subscribe(["orders"])
            message = await consumer.poll(1.0)

    One thread of its own calls librdkafka, one call after the other, so methods that need librdkafka are coroutines. Only
    records that librdkafka has fetched already are read on the loop.
    As in the Consumer, callbacks run while the application awaits records, leaves a hold(), or closes, and
    `max.poll.interval.ms` measures the time between: no callback runs while it works on records.

    Callbacks may be coroutines, and may await the consumer's methods, but no records. A callback that is still under way
    when the group stops waiting for it, or when its partitions are lost, is cancelled and counts as failed.

    Records are read ahead while a coroutine awaits some. Until they are handed out they count as not read, for commits and
    for position(), and they are dropped with their partition. A call that is cancelled loses no record.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        with as_kafka_exceptions():
            loop = running_loop()
            given = checked_mapping("The configuration", {} if config is None else config)
            deserializing, rest = split_deserializing({**given, **more}, loop)
        self._fetcher = Fetcher(reports_on_loop(rest, loop), deserializing)
        self._reading = Reading(self._fetcher)
        self._actor = Actor("aio-consumer", "Consumer", between=self._reading.serve, at_end=self._reading.end)
        self._listener = LoopListener(loop, self._actor)
        refuse_in_forked_children(self, _forked_error)

    # --- the group ---------------------------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str],
        on_assign: Hook | None = None,
        on_revoke: Hook | None = None,
        on_lost: Hook | None = None,
        *,
        listener: object | None = None,
    ) -> Done:
        """Join with these topics; those that begin with `^` are patterns. Returns at once, and may be awaited or not.

        A callback takes this consumer and the partitions, and a CallbackContext if it has a third argument; a listener's
        methods take what RebalanceListener's take. Each may be a coroutine function.
        """
        with as_kafka_exceptions():
            callbacks = hooks_of(self, on_assign, on_revoke, on_lost, listener, coroutines=True)
        with self._listener.using(callbacks, warned_of(listener)):
            self._fetcher.subscribe(topics, listener=self._listener)
        return _DONE

    def subscription(self) -> frozenset[str]:
        """The topics and patterns that were subscribed to; none after unsubscribe()."""
        return self._fetcher.subscription()

    async def unsubscribe(self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None) -> None:
        """Give the partitions back and leave the group. Callbacks have run when it returns, unless a callback called it."""
        await self._do(functools.partial(self._fetcher.unsubscribe, leave, reason=reason))

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Trigger a rebalance of a classic group; the broker logs the reason. Returns at once."""
        self._fetcher.enforce_rebalance(reason)

    def memberid(self) -> str:
        return self._fetcher.snapshot.member_id

    def consumer_group_metadata(self) -> ReadyBytes:
        """For a producer's send_offsets_to_transaction(); may be awaited or not."""
        return ReadyBytes(self._fetcher.consumer_group_metadata())

    @property
    def snapshot(self) -> Snapshot:
        """The membership at this moment: state, epoch, partitions, cause. Any thread, at any time, also after close()."""
        return self._fetcher.snapshot

    @property
    def trace(self) -> Journal:
        """The last steps of the member. `trace.save(path)` writes them for `membership-client diagnose`; any thread."""
        return self._fetcher.trace

    async def progress(self) -> Progress:
        """Position, end and lag of each partition that is fetched, from what fetching knows: no broker is asked."""
        return await self._do(self._fetcher.progress)

    def health(self) -> Health:
        """Whether the consumer is live and ready, and why, for probes. Any thread, at any time, also after close()."""
        return self._fetcher.health()

    @property
    def last_rebalance(self) -> RebalanceReport | None:
        """The last rebalance that has ended: cause, trigger, time, callbacks, what moved; None before the first."""
        return self._fetcher.last_rebalance

    def explain(self) -> str:
        """What this consumer does now, what it waits for and since when, its last rebalance, and what to do. For people."""
        return self._fetcher.explain()

    def owner_epoch(self, record: Record) -> int | None:
        """The member epoch in which the record's partition was assigned; None if this consumer does not own it now."""
        return self._fetcher.owner_epoch(record)

    async def set_sasl_credentials(self, username: str, password: str) -> None:
        """Replace the user and password (PLAIN, SCRAM) of fetching and of the membership, as `Consumer` does."""
        await self._do(functools.partial(self._fetcher.set_sasl_credentials, username, password))

    # --- records -----------------------------------------------------------------------------------------------------

    async def getone(self, *partitions: Record, timeout_s: float | None = None) -> Message | None:
        """The next record, of these partitions if any are named; None only when time is up.

        Errors and events come as messages, too, as poll() returns them.
        """
        if not partitions and timeout_s is None and (message := self._reading.next_at_hand()) is not None:
            return message
        taken = await self._take(Demand(1, partitions=_only(partitions)), timeout_s)
        return taken[0] if taken else None

    async def getmany(
        self, *partitions: Record, max_records: int = 500, timeout_s: float | None = 1.0
    ) -> list[Message]:
        """Up to `max_records` records, of these partitions if any are named. Waits for the first only; none when time is up."""
        with as_kafka_exceptions():
            checked_whole("max_records", max_records, least=1)
        return await self._take(Demand(max_records, partitions=_only(partitions)), timeout_s)

    async def poll(self, timeout: float = -1) -> Message | None:
        """getone() under confluent-kafka's name; a negative timeout has no end."""
        timeout_s = _timeout_s(timeout)
        if (message := self._reading.next_at_hand()) is not None:
            return message
        taken = await self._take(_ONE, timeout_s)
        return taken[0] if taken else None

    async def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Up to `num_messages` records; fewer when time is up, as in confluent-kafka."""
        count = checked_count(num_messages)
        if not count:
            return []
        return await self._take(Demand(count, least=count), _timeout_s(timeout))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        """Records until the consumer is closed. Errors that are not events are raised."""
        while True:
            if (message := self._reading.next_at_hand()) is None:
                try:
                    (message,) = await self._take(_ONE, None)
                except MemberClosedError:
                    raise StopAsyncIteration from None
            if (error := message.error()) is None:
                return message
            if not is_event(message):
                raise KafkaException(error)

    async def _take(self, demand: Demand, timeout_s: float | None) -> list[Message]:
        with as_kafka_exceptions():
            timeout_s = optional(lambda name, value: checked_timeout_s(value, name), "timeout_s", timeout_s)
            if taken := self._reading.at_hand(demand):  # Nothing is at hand while a callback waits or runs.
                return taken
            if self._listener.is_calling:
                return self._records_for_callback()
            return await self._reading.take(demand, timeout_s, self._actor.post)

    def _records_for_callback(self) -> list[Message]:
        raise ConfigError("A callback cannot await records: they come when it has returned.")

    # --- offsets -----------------------------------------------------------------------------------------------------

    async def commit(
        self, message: Message | None = None, offsets: Places | None = None, asynchronous: bool = False
    ) -> Places:
        """Commit the record, the offsets, or all that was handed out; returns what was committed, once it is.

        NotOwnedError once another member owns the partition. A commit that is cancelled may still be carried out. With `asynchronous`
        it returns an empty list at once, and the outcome goes to `on_commit`.
        """
        with as_kafka_exceptions():
            outcome: Reply[Places] = Reply()
            begin = functools.partial(
                self._fetcher.begin_commit, asynchronous=checked_flag("asynchronous", asynchronous)
            )
            await self._do(functools.partial(begin, message, offsets, outcome))
            return await outcome

    async def store_offsets(self, message: Message | None = None, offsets: Places | None = None) -> None:
        """Set the offsets that the next commit() without arguments, or the next automatic commit, commits."""
        await self._do(functools.partial(self._fetcher.store_offsets, message, offsets))

    async def committed(
        self, partitions: Places, timeout_s: float = PATIENCE_S, *, timeout: float | None = None
    ) -> Places:
        """The offsets that the group committed last; OFFSET_INVALID where it committed none. `timeout` is confluent-kafka's name for `timeout_s`."""
        with as_kafka_exceptions():
            timeout_s = checked_timeout_s(timeout_s)
        if timeout is not None:
            timeout_s = PATIENCE_S if (given := _timeout_s(timeout)) is None else given
        return await in_thread(functools.partial(self._fetcher.committed, checked_places(partitions), timeout_s))

    # --- long work ---------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def hold(self, *work: Record) -> AsyncIterator[Self]:
        """Stay in the group during long work on these records' partitions; without arguments, on all.

        When the group wants these partitions back, `revoke_pending` returns True: end the work early and leave the block; the
        revoke callback runs at the end of the block. A revoke of other partitions only does not wait.
        """
        held = self._fetcher.hold(*work)
        held.__enter__()
        try:
            yield self
        except BaseException as error:
            held.__exit__(type(error), error, error.__traceback__)  # Runs no callbacks, so it may run on the loop.
            raise
        await self._do(functools.partial(held.__exit__, None, None, None), alone=True)

    def revoke_pending(self, record: Record) -> bool:
        """Does the group wait for this partition to be given back, or is it lost already? Cheap."""
        return self._fetcher.revoke_pending(record)

    # --- the end -----------------------------------------------------------------------------------------------------

    async def close(
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        """Commit, give the partitions back, leave, and end, within `timeout_s`. A second call does nothing.

        Without a timeout commits and the coordinator have 10 s each, and a callback has `max.poll.interval.ms`; with one,
        a callback that is still under way then is cancelled. What a callback raises is raised when all is done. A cancelled close goes on by itself.
        """
        return await self._end(functools.partial(self._fetcher.close, leave, reason=reason, timeout_s=timeout_s))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close. After an exception nothing more is committed automatically, because the current record must come again."""
        await self._end(functools.partial(self._fetcher.__exit__, kind, error, trace))

    async def _end(self, close: Callable[[], object]) -> CloseReport:
        if self._listener.is_calling:
            await self._do(close)  # In a callback, the close begins when that has returned.
        with contextlib.suppress(MemberClosedError):  # It is closed already, or this is a forked child.
            await self._do(functools.partial(self._end_now, close), alone=True)
        return self._fetcher.report or self._fetcher.close()

    def _end_now(self, close: Callable[[], object]) -> None:
        try:
            close()
        except BaseException:
            self._fetcher.close()  # A callback raised. This continues the same close.
            raise
        finally:
            self._actor.stop()


def _only(partitions: tuple[Record, ...]) -> frozenset[TopicPartition] | None:
    """The partitions that were named; None, which stands for all, if none was."""
    if not partitions:
        return None
    if isinstance(partitions[0], int | float):
        raise refusal(
            f"Arguments without a name are partitions. Give a number its name: timeout_s={partitions[0]}, or max_records."
        )
    return frozenset(map(partition_of, partitions))


def _timeout_s(timeout: float) -> float | None:
    """As in confluent-kafka: a negative timeout has no end, and what is not a number is a TypeError."""
    wait_s = checked_wait(timeout)
    return None if wait_s < 0 else wait_s


def _forked_error(consumer: Consumer) -> Exception:
    return forked_error(consumer._fetcher)  # noqa: SLF001 - of this class
