"""The consumer in virtual time, for plain methods and for coroutines: without broker, socket or real waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka import TopicPartition as TheirPartition

from membership_client.config import MemberConfig
from membership_client.consumer.arguments import checked_topics
from membership_client.consumer.hooks import Hook, hooks_of
from membership_client.consumer.translate import theirs
from membership_client.core.events import CallbackKind, Close, RunCallback, Subscribe, Unsubscribe
from membership_client.core.view import error_of
from membership_client.runtime.listener import Callback, CallbackContext, as_text
from membership_client.testing.kit.commits import VirtualCommits
from membership_client.testing.kit.coordinator_view import GROUP
from membership_client.testing.kit.history import NO_CALLBACK, What, as_partitions
from membership_client.testing.kit.membership import HEARTBEAT_INTERVAL_S, SESSION_TIMEOUT_S, VirtualMembership
from membership_client.testing.kit.message import VirtualMessage
from membership_client.testing.kit.waits import Waits, never
from membership_client.types import MemberState, TopicPartition

if TYPE_CHECKING:
    from membership_client.testing.kit.world import World

_BEGAN = {
    CallbackKind.ASSIGNED: What.ASSIGNED,
    CallbackKind.REVOKED: What.REVOKED,
    CallbackKind.LOST: What.LOST,
}
_SHORTEST_POLL_S, _LONGEST_POLL_S = 0.002, 0.02
_CLOSE_S = 30.0


class ConsumerInRun:
    """Behaves like confluent-kafka's consumer, as far as a program can see. Its membership is the core of this library.

    Callbacks run while the program waits for records, and inside a close. VirtualCommits are sent as the program asks, even for
    partitions that it no longer owns: Kafka accepts these from any member of the newest epoch.
    """

    def __init__(self, world: World, waits: Waits, label: str, config: dict[str, Any]) -> None:
        member_id = world.new_member_id(label)
        self.membership = VirtualMembership(world.scheduler, world.cluster, _member_config(config), member_id)
        self.membership.on_lost = self._mark_lost
        self._world = world
        self._waits = waits
        self._label = label
        self._config = config
        self._hooks: dict[CallbackKind, Callback] = {}
        self._context: CallbackContext | None = None
        self._being_assigned: tuple[TopicPartition, ...] = ()
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._commits = VirtualCommits(world, waits, label, self.membership, config)
        self._polls = 0
        """The number of calls that wait for records."""
        self._closed = False

    # --- the group ---------------------------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str],
        on_assign: Hook | None = None,
        on_revoke: Hook | None = None,
        on_lost: Hook | None = None,
        *,
        listener: object | None = None,
    ) -> None:
        self._check_open()
        given = frozenset(checked_topics(topics))
        self._hooks = self._hooks_of(on_assign, on_revoke, on_lost, listener)
        self.membership.receive(Subscribe(given))

    def _hooks_of(self, *given: Any) -> dict[CallbackKind, Callback]:
        return hooks_of(self, *given)

    async def _unsubscribe(self) -> None:
        self._check_open()
        self.membership.receive(Unsubscribe())
        await self._wait_and_call(lambda: not self.membership.owned())

    def assignment(self) -> list[TheirPartition]:
        return theirs(sorted(self.membership.owned()))

    def memberid(self) -> str:
        return self.membership.member.known_as

    def assign(self, partitions: Iterable[TheirPartition]) -> None:
        """In `on_assign`: set the start positions. The group, and not this call, decides which partitions are read."""
        self._check_open()
        for each in partitions:
            if each.offset != OFFSET_INVALID:
                self.seek(each)

    incremental_assign = assign

    def unassign(self) -> None:
        """Does nothing: revoked partitions are not read any more in any case."""

    def incremental_unassign(self, partitions: Iterable[TheirPartition]) -> None:
        """Does nothing, as `unassign`."""

    # --- records -----------------------------------------------------------------------------------------------------

    async def _poll(self, timeout: float) -> VirtualMessage | None:
        """The next record; None after `timeout`. A negative timeout never ends."""
        self._check_open()
        self._polls += 1
        try:
            await self._pass_time()
            await self._wait_and_call(self._has_record, None if timeout < 0 else timeout)
        finally:
            self._polls -= 1
        return self._take() if self._has_record() else None

    def is_idle(self) -> bool:
        """Whether the program waits for records, and there are none."""
        return self._polls > 0 and not self._has_record()

    async def _consume(self, num_messages: int, timeout: float) -> list[VirtualMessage]:
        first = await self._poll(timeout)
        messages = [] if first is None else [first]
        while messages and len(messages) < num_messages and self._has_record():
            messages.append(self._take())
        return messages

    async def _pass_time(self) -> None:
        await self._waits.until(never, self._world.scheduler.random.uniform(_SHORTEST_POLL_S, _LONGEST_POLL_S))
        self.membership.polled()
        self._commits.commit_when_due()
        if self.membership.member.state is MemberState.FATAL:
            raise KafkaException(KafkaError(KafkaError._FATAL, str(error_of(self.membership.member))))

    def _has_record(self) -> bool:
        """Whether there is a record to read. While a callback waits or runs there is none."""
        return (
            self.membership.pending is None
            and self._context is None
            and any(self._world.readable(partition, self._position(partition)) for partition in self._fetched())
        )

    def _take(self) -> VirtualMessage:
        """The next record of any partition that has one."""
        readable = [record for p in self._fetched() if (record := self._world.readable(p, self._position(p)))]
        record = self._world.scheduler.random.choice(readable)
        self._positions[record.partition] = record.offset + 1
        self._commits.handed_out(record.partition, record.offset + 1)
        return VirtualMessage(record)

    def _fetched(self) -> list[TopicPartition]:
        return sorted(p for p in self.membership.owned() if p not in self._paused)

    def _position(self, partition: TopicPartition) -> int:
        if partition not in self._positions:
            committed = self._world.offsets.get(partition)
            self._positions[partition] = committed.offset if committed else self._reset(partition)
        return self._positions[partition]

    def _reset(self, partition: TopicPartition) -> int:
        earliest = self._config.get("auto.offset.reset", "latest") in {"earliest", "beginning", "smallest"}
        return 0 if earliest else self._world.end_offset(partition)

    def seek(self, partition: TheirPartition) -> None:
        place = TopicPartition(partition.topic, partition.partition)
        if place not in self.membership.owned() and place not in self._being_assigned:
            raise KafkaException(KafkaError(KafkaError._STATE, f"{place} is not assigned to this consumer"))
        logical = {OFFSET_BEGINNING: 0, OFFSET_END: self._world.end_offset(place)}
        self._positions[place] = logical.get(partition.offset, partition.offset)

    def position(self, partitions: Iterable[TheirPartition]) -> list[TheirPartition]:
        return [
            TheirPartition(
                p.topic, p.partition, self._positions.get(TopicPartition(p.topic, p.partition), OFFSET_INVALID)
            )
            for p in partitions
        ]

    def pause(self, partitions: Iterable[TheirPartition]) -> None:
        self._paused.update(set(as_partitions(partitions)) & {*self.membership.owned(), *self._being_assigned})

    def resume(self, partitions: Iterable[TheirPartition]) -> None:
        self._paused.difference_update(as_partitions(partitions))

    def get_watermark_offsets(self, partition: TheirPartition, *_: object, **__: object) -> tuple[int, int]:
        return 0, self._world.end_offset(TopicPartition(partition.topic, partition.partition))

    def offsets_for_times(self, partitions: Iterable[TheirPartition], *_: object, **__: object) -> list[TheirPartition]:
        """The first offsets at or after the times, which are in milliseconds; OFFSET_END if all records are older."""
        return [
            TheirPartition(
                one.topic, one.partition, self._world.first_since(TopicPartition(one.topic, one.partition), one.offset)
            )
            for one in partitions
        ]

    # --- offsets -----------------------------------------------------------------------------------------------------

    async def _commit(
        self, message: Any, offsets: Iterable[TheirPartition] | None, *, asynchronous: bool
    ) -> list[TheirPartition] | None:
        self._check_open()
        return await self._commits.commit(message, offsets, asynchronous=asynchronous)

    async def _committed(self, partitions: Iterable[TheirPartition]) -> list[TheirPartition]:
        self._check_open()
        return await self._commits.committed(partitions)

    def store_offsets(self, message: Any = None, offsets: Iterable[TheirPartition] | None = None) -> None:
        self._check_open()
        self._commits.store(message, offsets, self.membership.owned())

    # --- callbacks ---------------------------------------------------------------------------------------------------

    async def _wait_and_call(self, is_done: Callable[[], bool], timeout_s: float | None = None) -> None:
        """Run callbacks as they come, until `is_done()` or the time is over."""
        scheduler, membership = self._world.scheduler, self.membership
        ends_at = None if timeout_s is None else scheduler.now + timeout_s
        while True:
            self._check_interrupt()
            if membership.pending is not None:
                call, membership.pending = membership.pending, None
                await self._call(call)
            elif is_done() or (ends_at is not None and scheduler.now >= ends_at):
                return
            else:
                left_s = None if ends_at is None else ends_at - scheduler.now
                await self._waits.until(lambda: membership.pending is not None or is_done() or self._is_told(), left_s)

    def _is_told(self) -> bool:
        """Whether the instance is told to end, so that `_check_interrupt` raises."""
        return False

    def _check_interrupt(self) -> None:
        """Raise the exception that ends the instance, if it is told to end."""

    async def _call(self, call: RunCallback) -> None:
        error: BaseException | None = None
        hook = self._hooks.get(call.kind)
        self._context = CallbackContext.of(call)
        self._begin(call, "" if hook else NO_CALLBACK)
        try:
            if hook and (outcome := hook(call.partitions, self._context)) is not None:
                await self._await(outcome)
        except Exception as raised:  # noqa: BLE001 - told to the member, and raised by poll afterwards
            error = raised
        await self._end(call, error)
        if error is not None:
            raise error

    async def _await(self, outcome: Any) -> None:
        """Handle what a callback has returned: a coroutine, for instance."""

    def _begin(self, call: RunCallback, text: str) -> None:
        self._world.add(_BEGAN[call.kind], self._label, partitions=call.partitions, text=text)
        if call.kind is CallbackKind.ASSIGNED:
            self._being_assigned = call.partitions
            for partition in call.partitions:
                self._positions.pop(partition, None)

    async def _end(self, call: RunCallback, error: BaseException | None) -> None:
        assert self._context is not None
        if call.kind is not CallbackKind.ASSIGNED:
            await self._forget(call.partitions, is_kept=call.kind is CallbackKind.REVOKED and not self._context.lost)
        what = What.RAISED if error else What.RETURNED
        self._world.add(what, self._label, partitions=call.partitions, text=repr(error) if error else "")
        if call.kind is CallbackKind.REVOKED:
            self._world.released(self._label, (self.membership.known_as,), call.partitions)
        self._context, self._being_assigned = None, ()
        self.membership.returned(call, as_text(error) if error else None)

    async def _forget(self, partitions: tuple[TopicPartition, ...], *, is_kept: bool) -> None:
        await self._commits.forget(partitions, commit=is_kept)
        self._paused.difference_update(partitions)
        for partition in partitions:
            self._positions.pop(partition, None)

    def _mark_lost(self) -> None:
        if self._context is not None:
            self._context.mark_lost()

    # --- the end -----------------------------------------------------------------------------------------------------

    async def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._commits.commit_stored()
        self.membership.receive(Close(timeout_s=_CLOSE_S))
        await self._wait_and_call(lambda: not self.membership.alive)

    def abandon(self) -> None:
        """End the consumer without telling the coordinator: the process was killed, or has not closed it."""
        self.membership.kill()

    def _check_open(self) -> None:
        self._world.scheduler.check_alive()
        if self._closed and self._context is None:
            raise RuntimeError("Consumer closed")


_OF_MEMBER = ("group.instance.id", "max.poll.interval.ms")
_IN_RUN = {"bootstrap.servers": "b1:9092,b2:9092", "group.id": GROUP, "request.timeout.ms": 2000}
_CLASSIC_IN_RUN = {
    "group.protocol": "classic",
    "session.timeout.ms": int(SESSION_TIMEOUT_S * 1000),
    "heartbeat.interval.ms": int(HEARTBEAT_INTERVAL_S * 1000),
}
"""The session timeout of every run, whatever the program configures, so that sessions can end in a run."""


def _member_config(config: Mapping[str, Any]) -> MemberConfig:
    is_classic = str(config.get("group.protocol")).lower() == "classic"
    given = {name: config[name] for name in _OF_MEMBER if name in config}
    if not is_classic:
        return MemberConfig.from_dict({**given, **_IN_RUN, "group.protocol": "consumer"})
    if (strategies := config.get("partition.assignment.strategy")) is not None:
        given["partition.assignment.strategy"] = strategies
    return MemberConfig.from_dict({**given, **_IN_RUN, **_CLASSIC_IN_RUN})
