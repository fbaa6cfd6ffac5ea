"""The thread behind the coroutines: order, endings, and jobs inside jobs."""

from __future__ import annotations

import asyncio
import threading

import pytest

from membership_client import MemberClosedError
from membership_client.aio.actor import Actor
from membership_client.aio.reply import in_thread


def test_jobs_are_done_in_order_on_one_thread() -> None:
    """However many coroutines ask at the same time."""

    async def story() -> None:
        actor, order = Actor("a"), list[tuple[int, int]]()

        async def ask(number: int) -> None:
            await actor.ask(lambda: order.append((number, threading.get_ident())))

        await asyncio.gather(*map(ask, range(50)))
        actor.stop()
        assert [number for number, _ in order] == list(range(50))
        assert {thread for _, thread in order} != {threading.get_ident()}
        assert len({thread for _, thread in order}) == 1

    asyncio.run(story(), debug=True)


def test_what_a_job_raises_is_raised_where_it_is_awaited() -> None:
    """And the thread goes on."""

    async def story() -> None:
        actor = Actor("a")
        with pytest.raises(ZeroDivisionError):
            await actor.ask(lambda: 1 // 0)
        assert await actor.ask(lambda: "still here") == "still here"
        actor.stop()

    asyncio.run(story(), debug=True)


def test_after_the_end_all_calls_are_refused() -> None:
    """Calls that wait already end, and so do later ones; none hangs."""

    async def story() -> None:
        actor, begun, go_on = Actor("a"), threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            go_on.wait()

        first = asyncio.create_task(actor.ask(work))
        await in_thread(begun.wait)
        second = asyncio.create_task(actor.ask(lambda: None))
        await asyncio.sleep(0)
        actor.stop()
        go_on.set()
        await first
        with pytest.raises(MemberClosedError):
            await second
        with pytest.raises(MemberClosedError):
            await actor.ask(lambda: None)

    asyncio.run(story(), debug=True)


def test_a_cancelled_job_is_done_all_the_same() -> None:
    """What was asked for cannot be recalled; only its outcome is dropped."""

    async def story() -> None:
        actor, begun, go_on, done = Actor("a"), threading.Event(), threading.Event(), list[str]()

        def work() -> None:
            begun.set()
            go_on.wait()
            done.append("done")

        task = asyncio.create_task(actor.ask(work))
        await in_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        await actor.ask(lambda: None)
        assert done == ["done"]
        actor.stop()

    asyncio.run(story(), debug=True)


def test_a_job_that_waits_can_have_others_done_but_none_that_must_be_alone() -> None:
    """So that a callback can ask for something, and a close still comes after it."""
    order: list[str] = []
    actor = Actor("a")
    begun, ended = threading.Event(), threading.Event()

    def outer() -> None:
        begun.set()
        while "inner" not in order:
            actor.jobs.serve(0.05)
        order.append("outer")

    actor.post(outer)
    begun.wait()
    actor.post(lambda: order.append("alone"), alone=True)
    actor.post(lambda: order.append("inner"))
    actor.post(ended.set, alone=True)
    assert ended.wait(30)
    actor.stop()
    assert order == ["inner", "outer", "alone"]


def test_a_loop_that_is_gone_is_no_error_for_the_thread() -> None:
    """asyncio.run() may end while the thread works for it."""
    actor, begun, go_on, after = Actor("a"), threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait()

    async def story() -> None:
        task = asyncio.create_task(actor.ask(work))
        await in_thread(begun.wait)
        task.cancel()

    asyncio.run(story())
    go_on.set()
    actor.post(after.set)
    assert after.wait(30)
    actor.stop()
