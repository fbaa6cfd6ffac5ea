"""One callback on a loop: how it ends, and what the one who waits for it is told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from membership_client import CallbackContext, CallbackFailedError, Cause, CauseKind
from membership_client.aio.loop_call import LOST, LoopCall

FOR_EVER_S = 3600


def context(remaining_s: float | None = None) -> CallbackContext:
    deadline = None if remaining_s is None else time.monotonic() + remaining_s
    return CallbackContext(cause=Cause(CauseKind.GROUP_CHANGED, "a test"), deadline=deadline)


def outcome_of(callback: Callable[[], object], remaining_s: float | None = None) -> BaseException | None:
    """Started on another thread, as the membership thread does it."""

    async def story() -> BaseException | None:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[BaseException | None] = loop.create_future()

        def ended(error: BaseException | None) -> None:
            loop.call_soon_threadsafe(outcome.set_result, error)

        call = LoopCall(loop, callback, context(remaining_s), ended)
        threading.Thread(target=call.start).start()
        return await outcome

    return asyncio.run(story(), debug=True)


async def sleep_for_ever() -> None:
    await asyncio.sleep(FOR_EVER_S)


async def fail() -> None:
    raise LookupError("no such table")


def test_a_coroutine_is_awaited() -> None:
    """Its end is the callback's end."""
    done: list[str] = []

    async def callback() -> None:
        await asyncio.sleep(0)
        done.append("all of it")

    assert outcome_of(callback) is None
    assert done == ["all of it"]


def test_a_plain_function_is_called_on_the_loop() -> None:
    """With a loop that runs, and no matter what it returns."""
    assert outcome_of(asyncio.get_running_loop) is None


def test_what_it_raises_is_the_outcome() -> None:
    """Whatever that is."""
    assert isinstance(outcome_of(fail), LookupError)


def test_a_coroutine_is_cancelled_when_the_group_waits_no_longer() -> None:
    """And the error says why."""
    error = outcome_of(sleep_for_ever, remaining_s=0.05)
    assert isinstance(error, CallbackFailedError)
    assert "the group does not wait for it any longer" in str(error)


def test_a_coroutine_is_cancelled_when_it_is_given_up() -> None:
    """The first reason stays."""

    async def story() -> BaseException | None:
        outcome: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        call = LoopCall(asyncio.get_running_loop(), sleep_for_ever, context(), outcome.set_result)
        call.start()
        call.give_up(LOST)
        call.give_up("something else")
        return await outcome

    assert "its partitions were lost meanwhile" in str(asyncio.run(story()))


def test_a_callback_that_finishes_after_its_cancellation_has_not_failed() -> None:
    """A callback that catches the cancellation and completes its work counts as successful."""

    async def stubborn() -> None:
        try:
            await sleep_for_ever()
        except asyncio.CancelledError:
            await asyncio.sleep(0)

    assert outcome_of(stubborn, remaining_s=0.01) is None


def test_a_closed_loop_runs_nothing_and_the_text_says_so() -> None:
    """Instead of waiting for ever."""
    loop = asyncio.new_event_loop()
    loop.close()
    outcome: list[BaseException | None] = []
    call = LoopCall(loop, sleep_for_ever, context(), outcome.append)
    call.start()
    call.give_up(LOST)
    (error,) = outcome
    assert "event loop is closed" in str(error)


def test_a_loop_that_closes_before_the_callbacks_turn_is_noticed() -> None:
    """The waiting thread notices it."""
    loop = asyncio.new_event_loop()
    outcome: list[BaseException | None] = []
    call = LoopCall(loop, sleep_for_ever, context(), outcome.append)
    call.start()
    assert not outcome
    loop.close()
    call.end_with_loop()
    assert "event loop is closed" in str(outcome[0])


def test_a_call_knows_its_own_callback() -> None:
    """Also in tasks that the callback starts, but not in others, nor after its end."""
    seen: list[bool] = []

    async def story() -> None:
        outcome: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

        async def look() -> None:
            seen.append(call.is_current)

        async def callback() -> None:
            await asyncio.create_task(look())

        call = LoopCall(asyncio.get_running_loop(), callback, context(), outcome.set_result)
        call.start()
        await outcome
        await look()

    asyncio.run(story())
    assert seen == [True, False]
