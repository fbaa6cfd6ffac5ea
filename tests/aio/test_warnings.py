"""Which function is called when a time limit is half used up, and with what."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from membership_client import RebalanceListener, TopicPartition, aio
from membership_client.runtime.busy_thread import BudgetWarning
from tests.aio.helpers import Stage, run
from tests.integration.members import PATIENCE_S

pytestmark = pytest.mark.kafka


class Noting(RebalanceListener):
    """Keeps the warnings, and on which threads they came."""

    def __init__(self) -> None:
        self.warnings: list[tuple[BudgetWarning, int]] = []

    def on_budget_warning(self, warning: BudgetWarning) -> None:
        self.warnings.append((warning, threading.get_ident()))


class Awaiting:
    """Its assigned callback gives the loop free, and waits until it was warned."""

    def __init__(self) -> None:
        self.warned = asyncio.Event()
        self.threads: set[int] = set()

    async def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        await self.warned.wait()

    async def on_budget_warning(self, warning: BudgetWarning) -> None:
        self.threads.add(threading.get_ident())
        self.warned.set()


def test_a_blocked_loop_is_shown_to_a_plain_function(stage: Stage) -> None:
    """On another thread, because the loop cannot listen; the stack is that of the loop."""
    listener = Noting()

    async def story() -> None:
        async with stage.consumer(max_poll_interval_ms=2000) as consumer:
            consumer.subscribe([stage.topic], listener=listener)
            while not consumer.snapshot.owned:
                await consumer.getone(timeout_s=0.05)
            give_up_at = time.monotonic() + PATIENCE_S
            while not listener.warnings and time.monotonic() < give_up_at:
                time.sleep(0.05)  # noqa: ASYNC251 - the point of the test

    run(story())
    warning, thread = listener.warnings[0]
    assert any("test_warnings.py" in place for place in warning.stack)
    assert thread != threading.get_ident()


@pytest.mark.parametrize("kind", ["member", "consumer"])
def test_a_coroutine_function_is_told_on_the_loop(stage: Stage, kind: str) -> None:
    """While a callback takes long, but lets the loop go on."""
    listener = Awaiting()

    async def member() -> None:
        config = stage.member_config(max_poll_interval_ms=1000)
        async with aio.GroupMember(config, listener=listener) as member:
            member.subscribe([stage.topic])
            await asyncio.wait_for(listener.warned.wait(), PATIENCE_S)

    async def consumer() -> None:
        async with stage.consumer(max_poll_interval_ms=1000) as consumer:
            consumer.subscribe([stage.topic], listener=listener)
            task = asyncio.create_task(consumer.getone())
            await asyncio.wait_for(listener.warned.wait(), PATIENCE_S)
            task.cancel()

    run(member() if kind == "member" else consumer())
    assert listener.threads == {threading.get_ident()}
