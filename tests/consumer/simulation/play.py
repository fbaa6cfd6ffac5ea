"""Plays one seed."""

from __future__ import annotations

from types import FrameType

import pytest

from membership_client.consumer import handing_out
from tests.consumer.simulation.scheduler import Scheduler, SimThread
from tests.consumer.simulation.world import WATCHED, Judge, Poller, SimConsumer

_ATOMIC = frozenset({"_swap"})
"""Functions whose last lines no signal handler can come between: CPython looks for signals at calls and backward jumps only."""


def play(seed: int) -> Judge:
    """One to three threads poll, one closes: from outside, out of a callback, or in a signal handler. ScheduleError if a rule breaks."""
    scheduler = Scheduler(seed, WATCHED)
    chance = scheduler.random
    judge = Judge(scheduler)
    consumer = SimConsumer(scheduler, judge)
    consumer.closes = [chance.choice(["thread", "callback", "signal"])]
    consumer.can_start_threads = chance.random() < 0.8
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(handing_out, "monotonic", scheduler.clock)
        scheduler.spawn("membership", consumer.group.live)
        scheduler.spawn("offsets", consumer.group.look_up)
        pollers = [scheduler.spawn(f"poller {n}", Poller(consumer).live) for n in range(chance.randint(1, 3))]
        close_after_s = chance.choice([0.0, 1.0, 10.0])
        scheduler.spawn("closer", lambda: _close(consumer, pollers[0], close_after_s))
        scheduler.run()
    return judge


def _close(consumer: SimConsumer, poller: SimThread, after_s: float) -> None:
    consumer.scheduler.sleep(after_s)
    if "signal" in consumer.closes:
        poller.at_line = lambda frame: _on_signal(consumer, poller, frame)
    consumer.scheduler.sleep(60.0 if consumer.closes != ["thread"] else 0.0)
    consumer.close()


def _on_signal(consumer: SimConsumer, poller: SimThread, frame: FrameType) -> None:
    """On the polling thread, between any two of its lines."""
    if frame.f_code.co_name not in _ATOMIC and consumer.scheduler.random.random() < 0.05:
        poller.at_line = None
        consumer.close()
