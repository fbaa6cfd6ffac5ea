"""GroupMember on a loop, in a real group."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any

import pytest

from membership_client import (
    CallbackContext,
    CallbackFailedError,
    ConfigError,
    ListenerError,
    MemberClosedError,
    MemberState,
    NotOwnedError,
    TopicPartition,
    aio,
)
from membership_client.errors import WaitTimeoutError
from tests.aio.helpers import Stage, run, until
from tests.integration.members import PATIENCE_S, block_through_heartbeats

pytestmark = pytest.mark.kafka

Partitions = tuple[TopicPartition, ...]


class Diary:
    """Async callbacks that note what they were called with, and on which thread."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int]] = []
        self.threads: set[int] = set()
        self.busy = False

    async def on_partitions_assigned(self, partitions: Partitions, context: CallbackContext) -> None:
        await self.note("assigned", partitions)

    async def on_partitions_revoked(self, partitions: Partitions) -> None:
        await self.note("revoked", partitions)

    async def on_partitions_lost(self, partitions: Partitions) -> None:
        await self.note("lost", partitions)

    async def note(self, kind: str, partitions: Partitions) -> None:
        assert not self.busy, "one at a time"
        self.busy = True
        await asyncio.sleep(0.01)
        self.entries.append((kind, len(partitions)))
        self.threads.add(threading.get_ident())
        self.busy = False


async def joined(stage: Stage, listener: object | None = None, **config: Any) -> aio.GroupMember:
    """It owns all partitions."""
    member = aio.GroupMember(stage.member_config(**config), listener=listener)
    member.subscribe([stage.topic])
    await member.wait_until(lambda now: len(now.owned) == stage.partitions, PATIENCE_S)
    return member


def test_async_callbacks_run_on_the_loop_one_at_a_time_and_in_order(stage: Stage) -> None:
    """Assigned, revoked for a second member, revoked again at the end: all on the loop's thread."""

    async def story() -> None:
        diary = Diary()
        async with await joined(stage, diary) as member:
            async with aio.GroupMember(stage.member_config()) as other:
                other.subscribe([stage.topic])
                await other.wait_until(lambda now: len(now.owned) == 2, PATIENCE_S)
            await member.wait_until(lambda now: len(now.owned) == 4, PATIENCE_S)
        assert diary.entries == [("assigned", 4), ("revoked", 2), ("assigned", 2), ("revoked", 4)]
        assert diary.threads == {threading.get_ident()}

    run(story())


def test_plain_callbacks_run_on_the_loop_too(stage: Stage) -> None:
    """Plain functions are callbacks, too."""
    threads: list[int] = []

    class Plain:
        def on_partitions_assigned(self, partitions: Partitions) -> None:
            asyncio.get_running_loop()
            threads.append(threading.get_ident())

    async def story() -> None:
        async with await joined(stage, Plain()):
            pass

    run(story())
    assert threads == [threading.get_ident()]


def test_a_revoked_callback_can_commit(stage: Stage) -> None:
    """The partitions are still ours while it runs; afterwards a commit is refused."""

    async def story() -> None:
        class Committing:
            async def on_partitions_revoked(self, partitions: Partitions) -> None:
                await member.commit(dict.fromkeys(partitions, 17))

        member = await joined(stage, Committing())
        partition = TopicPartition(stage.topic, 0)
        assert await member.committed([partition]) == {partition: None}
        member.unsubscribe()
        await member.wait_until(MemberState.UNSUBSCRIBED, PATIENCE_S)
        with pytest.raises(NotOwnedError):
            await member.commit({partition: 18})
        await member.close()

    run(story())
    assert stage.committed() == 17


def _wait(event: threading.Event) -> None:
    assert event.wait(2 * PATIENCE_S)


def test_a_commit_that_waits_for_its_turn_belongs_to_the_ownership_of_its_call(stage: Stage) -> None:
    """It is refused when the member was thrown out meanwhile, although the partition is its own once more.

    It used to be sent under the new ownership, and set the group back behind what was committed in between.
    """

    async def story() -> None:
        diary, released, partition = Diary(), threading.Event(), TopicPartition(stage.topic, 0)
        async with await joined(stage, diary) as member:
            member._offset_calls.post(functools.partial(_wait, released))
            late = asyncio.create_task(member.commit({partition: 100}))
            await asyncio.sleep(0)
            stage.group.remove(member.snapshot.member_id)
            await until(lambda: diary.entries[1:] == [("lost", 4), ("assigned", 4)], "thrown out, and back")
            await asyncio.to_thread(member._member.commit, {partition: 200})
            released.set()
            with pytest.raises(NotOwnedError, match="Not owned any more"):
                await late

    run(story())
    assert stage.committed() == 200


def test_a_callback_that_outlasts_the_groups_patience_is_cancelled(stage: Stage) -> None:
    """It counts as failed with a clear error, and the partitions move on."""

    async def story() -> None:
        cancelled = asyncio.Event()

        class Slow:
            async def on_partitions_revoked(self, partitions: Partitions, context: CallbackContext) -> None:
                assert context.remaining_s() is not None
                if cancelled.is_set():
                    return
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.set()
                    raise

        member = await joined(stage, Slow(), max_poll_interval_ms=1000)
        async with member, aio.GroupMember(stage.member_config()) as other:
            other.subscribe([stage.topic])
            await asyncio.wait_for(cancelled.wait(), PATIENCE_S)
            await other.wait_until(lambda now: len(now.owned) >= 2, PATIENCE_S)
            with pytest.raises(CallbackFailedError, match=r"does not wait for it any longer|lost meanwhile"):
                await poll_for_ever(member)

    run(story())


async def poll_for_ever(member: aio.GroupMember) -> None:
    """The membership thread of a busy machine hears of a failed callback some time after the loop."""
    while True:
        member.poll()
        await asyncio.sleep(0.05)


def test_a_callback_is_cancelled_when_its_partitions_are_lost(stage: Stage) -> None:
    """What it was doing for them is others' work now; the lost callback follows."""

    async def story() -> None:
        begun, lost = asyncio.Event(), asyncio.Event()

        class Hanging:
            async def on_partitions_assigned(self, partitions: Partitions, context: CallbackContext) -> None:
                if not partitions or begun.is_set():
                    return
                begun.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    assert context.lost
                    lost.set()

        async with aio.GroupMember(stage.member_config(), listener=Hanging()) as member:
            member.subscribe([stage.topic])
            await asyncio.wait_for(begun.wait(), PATIENCE_S)
            await asyncio.to_thread(stage.group.remove, member.snapshot.member_id)
            await asyncio.wait_for(lost.wait(), PATIENCE_S)
            await member.wait_until(lambda now: len(now.owned) == stage.partitions, PATIENCE_S)
            with pytest.raises(CallbackFailedError, match="lost meanwhile"):
                member.poll()

    run(story())


def test_a_blocked_loop_costs_nothing_but_its_own_time(stage: Stage) -> None:
    """Heartbeats go on: the member stays in the group, at the same epoch."""

    async def story() -> None:
        async with await joined(stage, Diary()) as member:
            await member.wait_until(MemberState.STABLE, PATIENCE_S)
            before = member.snapshot
            block_through_heartbeats(member)
            assert (member.snapshot.epoch, member.snapshot.owned) == (before.epoch, before.owned)
            assert member.health().ready
            assert member.last_rebalance is not None
            assert member.last_rebalance.owned == len(before.owned)
            assert "Do: nothing, all is well." in member.explain()
            assert await asyncio.to_thread(stage.group.knows, before.member_id)

    run(story())


def test_a_cancelled_wait_leaves_no_trace(stage: Stage) -> None:
    """The next one works, and so does closing; a wait that is too long ends by itself."""

    async def story() -> None:
        member = aio.GroupMember(stage.member_config())
        never = asyncio.create_task(member.wait_until(lambda _: False))
        await asyncio.sleep(0)
        never.cancel()
        with pytest.raises(asyncio.CancelledError):
            await never
        assert not member._member._waiters
        with pytest.raises(WaitTimeoutError, match="STABLE"):
            await member.wait_until(MemberState.STABLE, 0.01)
        assert (await member.wait_until(MemberState.UNSUBSCRIBED, 0)).state is MemberState.UNSUBSCRIBED
        member.subscribe([stage.topic])
        await member.wait_until(MemberState.STABLE, PATIENCE_S)
        assert (await member.close()).clean

    run(story())


def test_a_condition_that_raises_raises_in_the_waiting_task(stage: Stage) -> None:
    """And does not disturb the member."""

    async def story() -> None:
        async with aio.GroupMember(stage.member_config()) as member:
            with pytest.raises(ZeroDivisionError):
                await member.wait_until(lambda now: bool(1 // now.epoch), PATIENCE_S)

    run(story())


def test_a_cancelled_close_goes_on_by_itself(stage: Stage) -> None:
    """A second close() waits for the same end."""

    async def story() -> None:
        going = asyncio.Event()

        class Slow:
            async def on_partitions_revoked(self, partitions: Partitions) -> None:
                going.set()
                await asyncio.sleep(0.3)

        member = await joined(stage, Slow())
        first = asyncio.create_task(member.close(reason="cancelled"))
        await going.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        report = await member.close()
        assert (report.clean, report.reason) == (True, "cancelled")
        assert (await member.close()) == report
        with pytest.raises(MemberClosedError):
            await member.commit({TopicPartition(stage.topic, 0): 1})

    run(story())


def test_a_callback_may_close_its_own_member(stage: Stage) -> None:
    """It is not waited for: the close goes on when the callback has returned."""

    async def story() -> None:
        class Leaving:
            async def on_partitions_assigned(self, partitions: Partitions) -> None:
                report = await member.close(reason="enough")
                assert report.steps[0].outcome == "goes on by itself"

        member = aio.GroupMember(stage.member_config(), listener=Leaving())
        member.subscribe([stage.topic])
        await until(lambda: not member.health().live, "the end of the member")
        assert (await member.close()).reason == "enough"

    run(story())


def test_what_can_never_work_is_refused_at_once(stage: Stage) -> None:
    """A wrong signature, a listener without callbacks, no loop to run on."""

    class Wrong:
        async def on_partitions_revoked(self) -> None: ...

    async def story() -> None:
        for listener in (Wrong(), object()):
            with pytest.raises(ListenerError):
                aio.GroupMember(stage.member_config(), listener=listener)

    run(story())
    with pytest.raises(ConfigError, match="inside a coroutine"):
        aio.GroupMember(stage.member_config())
