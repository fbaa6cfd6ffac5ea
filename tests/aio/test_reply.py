"""What another thread owes a coroutine: results, timeouts and cancellations in the same moment."""

from __future__ import annotations

import asyncio

import pytest

from membership_client.aio.reply import Reply


def test_a_cancellation_in_the_moment_of_the_result_counts() -> None:
    """It was swallowed in Python 3.11, and a cancelled task went on as if nothing had happened."""

    async def story() -> None:
        reply: Reply[int] = Reply()
        waiting = asyncio.create_task(reply.within(3600.0))
        await asyncio.sleep(0)
        reply.give(1)
        waiting.cancel()
        await waiting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(story())


def test_a_result_that_does_not_come_is_a_timeout() -> None:
    """And one that is there already is none, however short the time."""

    async def story() -> int:
        with pytest.raises(TimeoutError):
            await Reply[int]().within(0.0)
        reply: Reply[int] = Reply()
        reply.give(1)
        return await reply.within(0.0)

    assert asyncio.run(story()) == 1
