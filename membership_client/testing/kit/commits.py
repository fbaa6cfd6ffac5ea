"""The commits of a virtual consumer: explicit and automatic ones, and the broker's answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka import TopicPartition as TheirPartition

from membership_client.consumer.translate import after, ours_at, theirs_at
from membership_client.core.error_codes import Code
from membership_client.testing.kit.history import What
from membership_client.testing.kit.membership import LATENCY_S, VirtualMembership
from membership_client.testing.kit.waits import Waits, never
from membership_client.types import Offset, TopicPartition

if TYPE_CHECKING:
    from membership_client.testing.kit.world import World

_RETRY_S = 0.1
_TIMEOUT_S = 10.0
_LOST_ANSWER_S = 1.0
"""After this time a consumer notices that an answer was lost, and sends the request again."""
_AGAIN = {
    Code.NOT_COORDINATOR,
    Code.STALE_MEMBER_EPOCH,
    # Only members of cooperative groups commit during a rebalance. Our Consumer tries again then, confluent-kafka's does not.
    Code.REBALANCE_IN_PROGRESS,
    Code.ILLEGAL_GENERATION,
}


class VirtualCommits:
    """The commits of one consumer, for the threads of one program, which take turns."""

    def __init__(
        self, world: World, waits: Waits, label: str, membership: VirtualMembership, config: Mapping[str, Any]
    ) -> None:
        self._world = world
        self._waits = waits
        self._label = label
        self._membership = membership
        self._is_automatic = _flag(config.get("enable.auto.commit", True))
        self._stores = _flag(config.get("enable.auto.offset.store", True))
        self._interval_s = float(config.get("auto.commit.interval.ms", 5000)) / 1000
        self._due_at = self._interval_s
        self._asked = 0
        self._taken: dict[TopicPartition, int] = {}
        """By partition, the number of the last accepted commit: an older one that is repeated must not overwrite it."""
        self._under_way = 0
        """Asynchronous commits, for which no thread waits."""
        self._stored: dict[TopicPartition, Offset] = {}

    # --- stored offsets ----------------------------------------------------------------------------------------------

    def handed_out(self, partition: TopicPartition, following: int) -> None:
        if self._stores:
            self._stored[partition] = Offset(following)

    def store(self, message: Any, offsets: Iterable[TheirPartition] | None, owned: Collection[TopicPartition]) -> None:
        wanted = _wanted(message, offsets)
        if not set(wanted).issubset(owned):
            raise KafkaException(KafkaError(KafkaError._STATE, "store_offsets() of a partition that is not assigned"))
        self._stored.update(wanted)

    async def forget(self, partitions: Iterable[TopicPartition], *, commit: bool) -> None:
        """Forget partitions that go. With automatic commits and `commit`, their stored offsets are committed first."""
        gone = {p: self._stored.pop(p) for p in partitions if p in self._stored}
        if commit and self._is_automatic and gone:
            await self._commit(gone)
        if commit and self._under_way:  # As in librdkafka, whose unassign waits for its commits.
            await self._waits.until(lambda: not self._under_way, _TIMEOUT_S)

    def commit_when_due(self) -> None:
        if self._is_automatic and self._world.scheduler.now >= self._due_at:
            self._due_at = self._world.scheduler.now + self._interval_s
            self._send(self._take_stored())

    async def commit_stored(self) -> None:
        if self._is_automatic and (stored := self._take_stored()):
            await self._commit(stored)

    def _take_stored(self) -> dict[TopicPartition, Offset]:
        stored, self._stored = self._stored, {}
        return stored

    # --- commits -----------------------------------------------------------------------------------------------------

    async def commit(
        self, message: Any, offsets: Iterable[TheirPartition] | None, *, asynchronous: bool
    ) -> list[TheirPartition] | None:
        is_explicit = message is not None or offsets is not None
        wanted = _wanted(message, offsets) if is_explicit else dict(self._stored)
        if not wanted:
            raise KafkaException(KafkaError(KafkaError._NO_OFFSET, "there is no offset to commit"))
        if asynchronous:
            self._send(wanted)
            return None
        if code := await self._commit(wanted):
            raise KafkaException(KafkaError(code, "the commit failed"))
        return theirs_at(wanted)

    async def committed(self, partitions: Iterable[TheirPartition]) -> list[TheirPartition]:
        await self._waits.until(never, 2 * LATENCY_S)
        known, asked = self._world.offsets, [TopicPartition(p.topic, p.partition) for p in partitions]
        return [theirs_at({p: known[p]})[0] if p in known else TheirPartition(*p, OFFSET_INVALID) for p in asked]

    def _send(self, offsets: Mapping[TopicPartition, Offset]) -> None:
        """Send a commit without waiting for its outcome."""
        if offsets:
            number = self._ask(offsets)
            self._under_way += 1
            self._send_at(dict(offsets), number, LATENCY_S, self._world.scheduler.now + _TIMEOUT_S)

    def _send_at(
        self, offsets: Mapping[TopicPartition, Offset], number: int, delay_s: float, give_up_at: float
    ) -> None:
        member, scheduler = self._membership.member, self._world.scheduler
        arrive = partial(self._finish, offsets, number, member.known_as, member.epoch, give_up_at)
        scheduler.at(scheduler.now + delay_s, arrive)

    def _finish(
        self,
        offsets: Mapping[TopicPartition, Offset],
        number: int,
        member_id: str,
        epoch: int,
        give_up_at: float,
    ) -> None:
        code = self._handle(offsets, number, member_id, epoch, is_last=self._world.scheduler.now >= give_up_at)
        if code in _AGAIN and self._world.scheduler.now < give_up_at and self._membership.alive:
            self._send_at(offsets, number, _RETRY_S, give_up_at)
        else:
            self._under_way -= 1

    async def _commit(self, offsets: Mapping[TopicPartition, Offset]) -> int:
        """Commit and wait for the broker's answer; returns its error code, 0 for none."""
        scheduler = self._world.scheduler
        give_up_at = scheduler.now + _TIMEOUT_S
        number = self._ask(offsets)
        while True:
            await self._waits.until(never, LATENCY_S)
            member = self._membership.member
            code = self._handle(offsets, number, member.known_as, member.epoch, is_last=scheduler.now >= give_up_at)
            is_lost = self._membership.take_lost_answer()
            await self._waits.until(never, _LOST_ANSWER_S if is_lost else LATENCY_S)
            if not is_lost and (code not in _AGAIN or scheduler.now >= give_up_at):
                return code
            await self._waits.until(never, _RETRY_S)

    def _ask(self, offsets: Mapping[TopicPartition, Offset]) -> int:
        """The number of a new commit."""
        self._asked += 1
        for partition, offset in offsets.items():
            self._world.add(What.COMMIT_SENT, self._label, partitions=(partition,), offset=offset.offset)
        return self._asked

    def _handle(
        self, offsets: Mapping[TopicPartition, Offset], number: int, member_id: str, epoch: int, *, is_last: bool
    ) -> int:
        """Handle the commit as the broker does; returns an error code, 0 for none."""
        code = self._world.group.commit_code(member_id, epoch)
        if code in _AGAIN and not is_last:
            return code
        for partition, offset in offsets.items():
            what, text = (What.COMMIT_REFUSED, Code(code).name) if code else (What.COMMITTED, "")
            if code or self._taken.get(partition, 0) <= number:
                self._world.add(what, self._label, partitions=(partition,), offset=offset.offset, text=text)
            if not code and self._taken.get(partition, 0) <= number:
                self._world.offsets[partition], self._taken[partition] = offset, number
        return code


def _wanted(message: Any, offsets: Iterable[TheirPartition] | None) -> dict[TopicPartition, Offset]:
    if (message is None) == (offsets is None):
        raise ValueError("message and offsets are mutually exclusive")
    return after(message) if message is not None else ours_at(offsets or ())


def _flag(value: object) -> bool:
    return value if isinstance(value, bool) else str(value).lower() == "true"
