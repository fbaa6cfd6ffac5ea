"""GroupMember for asyncio."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from membership_client import client
from membership_client.aio.actor import Actor
from membership_client.aio.reply import Reply, in_thread
from membership_client.aio.reports import warnings_on_loop
from membership_client.aio.runner import LoopRunner
from membership_client.arguments import (
    P,
    PartitionLike,
    checked_offsets,
    checked_partitions,
    checked_timeout_s,
    optional,
)
from membership_client.config import MemberConfig
from membership_client.errors import ConfigError, MembershipError
from membership_client.rebalance_report import RebalanceReport
from membership_client.runtime.forked import refuse_in_forked_children
from membership_client.runtime.listener import callbacks_of, warned_of
from membership_client.runtime.waiting import Condition
from membership_client.runtime.worker import Observer
from membership_client.security import Security
from membership_client.trace import Journal
from membership_client.types import CloseReport, Health, LeaveMode, Offset, Snapshot, TopicPartition


class GroupMember:
    """`membership_client.GroupMember`, with callbacks on the event loop in which it was made.

        async with GroupMember({"bootstrap.servers": "localhost:9092", "group.id": "tills"}) as member:
            member.subscribe(["orders"])
            await member.wait_until(MemberState.STABLE, timeout_s=30)

    Callbacks may be coroutines: one that is still under way when the group stops waiting for it, or when its partitions
    are lost, is cancelled and counts as failed. Heartbeats do not depend on the loop, so they go on while it is blocked.
    Methods that have to wait are coroutines; all others return at once.
    """

    def __init__(
        self,
        config: MemberConfig | Mapping[str, Any],
        *,
        listener: object | None = None,
        observers: Sequence[Observer] = (),
        security: Security | None = None,
    ) -> None:
        callbacks, loop = {} if listener is None else callbacks_of(listener, coroutines=True), running_loop()
        self._runner = LoopRunner(loop, callbacks, warnings_on_loop(loop, warned_of(listener)))
        self._member = _Awaitable(config, observers=observers, runner=self._runner, security=security)
        self._offset_calls = Actor(f"{self.snapshot.group_id}-offsets")
        refuse_in_forked_children(self, lambda refused: refused._member._forked_error())  # noqa: SLF001 - of this class

    # --- asking for membership ---------------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str]) -> None:
        """Join with these topics, or change them while a member. Returns at once."""
        self._member.subscribe(topics)

    def subscribe_pattern(self, regex: str) -> None:
        """Like subscribe(), for all topics whose whole name matches. The brokers evaluate the pattern, as RE2/J."""
        self._member.subscribe_pattern(regex)

    def unsubscribe(self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None) -> None:
        """Give the partitions back and leave; stays usable. Returns at once: wait_until(UNSUBSCRIBED) waits."""
        self._member.unsubscribe(leave, reason=reason)

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Trigger a rebalance of a classic group; the broker logs the reason. Returns at once."""
        self._member.enforce_rebalance(reason)

    def poll(self) -> None:
        """Tell the member that the application is alive, and learn what went wrong since the last time."""
        self._member.poll()

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Replace the user and password (PLAIN, SCRAM). New connections and renewed sessions use them."""
        self._member.set_sasl_credentials(username, password)

    # --- offsets -----------------------------------------------------------------------------------------------------

    async def commit(self, offsets: Mapping[P, Offset | int], *, timeout_s: float = 10.0) -> None:
        """Commit as this member, in the order of the calls. A commit that is cancelled may still be carried out."""
        await self._offset_calls.ask(self._member.prepared_commit(offsets, timeout_s))

    async def committed(
        self, partitions: Iterable[PartitionLike], *, timeout_s: float = 10.0
    ) -> dict[TopicPartition, Offset | None]:
        """The offsets that the group committed last; None where it committed none."""
        wanted = checked_partitions("partitions", partitions)
        return await self._offset_calls.ask(functools.partial(self._member.committed, wanted, timeout_s=timeout_s))

    # --- looking -----------------------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The membership at this moment: state, epoch, partitions, cause. Any thread, at any time, also after close()."""
        return self._member.snapshot

    @property
    def epoch(self) -> int:
        """The member epoch; not positive while the member is not in its group."""
        return self._member.epoch

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that this member owns now: their assigned callback has returned, and no revoked or lost one has."""
        return self._member.assignment()

    def owns(self, partition: PartitionLike) -> bool:
        return self._member.owns(partition)

    @property
    def error(self) -> MembershipError | None:
        """The current problem, or None; fatal errors stay."""
        return self._member.error

    @property
    def trace(self) -> Journal:
        """The last steps of the member. `trace.save(path)` writes them for `membership-client diagnose`; any thread."""
        return self._member.trace

    def health(self) -> Health:
        """Whether the member is live and ready, and why, for probes. Any thread, at any time, also after close()."""
        return self._member.health()

    @property
    def last_rebalance(self) -> RebalanceReport | None:
        """The last rebalance that has ended: cause, trigger, time, callbacks, what moved; None before the first."""
        return self._member.last_rebalance

    def explain(self) -> str:
        """What this member does now, what it waits for and since when, its last rebalance, and what to do. For people."""
        return self._member.explain()

    async def wait_until(self, condition: Condition, timeout_s: float | None = None) -> Snapshot:
        """Wait for a state, or until a function of the snapshot returns True; it is called on the membership thread.

        Raises WaitTimeoutError when time is up, and the fatal error at once if the member ends FATAL instead.
        """
        return await self._member.when(condition, timeout_s)

    # --- the end -----------------------------------------------------------------------------------------------------

    async def close(
        self, leave: LeaveMode = LeaveMode.DEFAULT, *, reason: str | None = None, timeout_s: float | None = None
    ) -> CloseReport:
        """Give the partitions back and leave, within `timeout_s`. A second call does nothing.

        Without a timeout the coordinator has 10 s, and each callback `max.poll.interval.ms`. A cancelled close goes on by itself.
        A close that a callback asks for goes on when the callback has returned.
        """
        close = functools.partial(self._member.close, leave, reason=reason, timeout_s=timeout_s)
        return close() if self._runner.is_current_thread() else await in_thread(functools.partial(self._end, close))

    def _end(self, close: functools.partial[CloseReport]) -> CloseReport:
        report = close()
        self._offset_calls.stop()
        return report

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(reason=f"closed after an exception: {kind.__name__}" if kind else None)


class _Awaitable(client.GroupMember):
    def prepared_commit(self, offsets: Mapping[P, Offset | int], timeout_s: float) -> Callable[[], None]:
        """A function that commits when it is called later; the commit belongs to the ownership of this moment."""
        whole, timeout_s = checked_offsets(offsets), checked_timeout_s(timeout_s)
        return functools.partial(self._commit, whole, self._ownership_of(whole), timeout_s)

    async def when(self, condition: Condition, timeout_s: float | None) -> Snapshot:
        timeout_s = optional(lambda name, value: checked_timeout_s(value, name), "timeout_s", timeout_s)
        reply: Reply[Snapshot | Exception] = Reply()
        with self._waiting(condition, reply.give) as waiter:
            try:
                outcome = await reply.within(timeout_s)
            except TimeoutError:
                raise self._too_late(condition, timeout_s) from None
        return self._verdict(waiter, outcome)


def running_loop() -> asyncio.AbstractEventLoop:
    """The running loop, on which callbacks will run; ConfigError if none runs on this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigError("Create it inside a coroutine: its callbacks run on that coroutine's event loop.") from None
