"""Between the thread that reads and the coroutine that awaits records anything may happen, also a stop of the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from confluent_kafka import Message

from membership_client.aio.fetcher import Fetcher
from membership_client.aio.reading import Reading
from membership_client.aio.records import Records


class Source:
    """As much of a Fetcher as a Reading looks at. One record lies ready, and whether we are members is up to the test."""

    def __init__(self) -> None:
        self.until = float("inf")
        self._ready = [cast("Message", object())]

    def consume(self, _count: int, _timeout_s: float) -> list[Message]:
        ready, self._ready = self._ready, []
        return ready

    def poll(self, _timeout_s: float) -> None:
        return None

    def is_certain(self) -> bool:
        return self.until > 0

    def certain_until(self) -> float:
        return self.until


def test_a_stop_before_the_loop_wakes_up_hands_out_nothing() -> None:
    """The thread was certain, and by the time of the taker nobody is: the bug was that the thread's word still counted."""

    async def story() -> None:
        source, jobs = Source(), list[Callable[[], None]]()
        reading = Reading(Records())

        async def serve() -> None:
            await asyncio.sleep(0)
            while jobs:
                jobs.pop()()
            reading.serve(cast("Fetcher", source), lambda: True)

        taker = asyncio.create_task(reading.take(1, 1, None, jobs.append))
        await serve()
        source.until = 0.0
        for _ in range(3):
            await serve()
        assert not taker.done()
        source.until = float("inf")
        await serve()
        assert len(await taker) == 1

    asyncio.run(asyncio.wait_for(story(), 60), debug=True)
