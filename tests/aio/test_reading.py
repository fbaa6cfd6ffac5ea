"""Between the thread that reads and the coroutine that awaits records anything may happen, also a stop of the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from confluent_kafka import KafkaError, Message

from membership_client.aio.demand import Demand
from membership_client.aio.fetcher import Fetcher
from membership_client.aio.reading import Reading
from membership_client.consumer.events import poll_interval_exceeded
from membership_client.types import TopicPartition


class Source:
    """As much of a Fetcher as a Reading looks at. One record lies ready, and whether it may be handed out is up to the test."""

    def __init__(self) -> None:
        self.certain = True
        self._ready = [cast("Message", object())]

    def read_ahead(self, _demands: object, _timeout_s: float) -> None:
        pass

    def may_read_at_once(self, demand: Demand) -> bool:
        return demand.most > 1

    def read_at_once(self, _demand: Demand) -> list[Message]:
        return [cast("Message", object())]

    def has_records(self, _demand: Demand) -> bool:
        return self.certain and bool(self._ready)

    def take(self, _demand: Demand) -> list[Message]:
        ready = self._ready if self.certain else []
        self._ready = [] if ready else self._ready
        return ready


def test_other_tasks_have_a_turn_while_records_abound() -> None:
    """A loop over records that never waits would stop all other tasks."""

    async def story() -> None:
        reading, others = Reading(cast("Fetcher", Source())), list[None]()
        asyncio.get_running_loop().call_later(0.001, others.append, None)
        for _ in range(1_000_000):
            assert len(await reading.take(Demand(500), None, lambda _job: None)) == 1
            if others:
                return
        raise AssertionError("No other task had a turn.")

    asyncio.run(story())


def test_a_stop_before_the_loop_wakes_up_hands_out_nothing() -> None:
    """The thread was certain of the membership, and the coroutine no longer: the bug was that the thread's answer still counted."""

    async def story() -> None:
        source, jobs = Source(), list[Callable[[], None]]()
        reading = Reading(cast("Fetcher", source))

        async def serve() -> None:
            await asyncio.sleep(0)
            while jobs:
                jobs.pop()()
            reading.serve()

        taker = asyncio.create_task(reading.take(Demand(1), None, jobs.append))
        await serve()
        source.certain = False
        for _ in range(3):
            await serve()
        assert not taker.done()
        source.certain = True
        await serve()
        assert len(await taker) == 1

    asyncio.run(asyncio.wait_for(story(), 60), debug=True)


def test_a_request_that_is_on_its_way_while_the_thread_reads_is_heard() -> None:
    """It was added to a list that the thread had replaced meanwhile, and its coroutine waited for ever."""

    async def story() -> None:
        source, jobs = Source(), list[Callable[[], None]]()
        reading = Reading(cast("Fetcher", source))
        taker = asyncio.create_task(reading.take(Demand(1), None, jobs.append))
        await asyncio.sleep(0)
        reading.serve()
        jobs.pop()()
        reading.serve()
        assert len(await taker) == 1

    asyncio.run(asyncio.wait_for(story(), 60), debug=True)


def test_an_error_that_concerns_no_partition_is_for_everyone() -> None:
    """A coroutine that awaits one partition also gets the event of a late poll; the end of another partition waits for its own reader."""
    place = TopicPartition("orders", 1)
    demand = Demand(1, partitions=frozenset({place}))
    end = KafkaError(KafkaError._PARTITION_EOF)
    assert demand.wants(poll_interval_exceeded(1000))
    assert demand.wants(Message(topic="orders", partition=1))
    assert demand.wants(Message(topic="orders", partition=1, error=end))
    assert not demand.wants(Message(topic="orders", partition=0, error=end))
    assert not demand.wants(Message(topic="orders", partition=0))
