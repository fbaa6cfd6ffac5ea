"""The idle time of an application, in virtual time."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from membership_client.consumer.poll_time import PollTime, Spent


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_waits_are_idle_and_the_rest_is_work() -> None:
    """This holds for any rhythm: records of the buffer are returned without a wait, and need no measurement."""
    clock = Clock()
    time = PollTime(clock)
    for wait_s, work_s in [(0.1, 0.3), (2.0, 0.0), (0.0, 5.0)]:
        with time:
            clock.now += wait_s
        clock.now += work_s
    assert astuple(time.spent()) == pytest.approx((2.1, 5.3))


def test_waits_and_work_are_told_while_they_last() -> None:
    """Otherwise a thread that never returns would not be seen."""
    clock = Clock()
    time = PollTime(clock)
    with time:
        clock.now += 3.0
        assert astuple(time.spent()) == pytest.approx((3.0, 0.0))
    clock.now += 60.0
    assert astuple(time.spent()) == pytest.approx((3.0, 60.0))


def test_threads_that_wait_together_are_idle_once() -> None:
    """Idle and busy time add up to the time that has passed."""
    clock = Clock()
    time = PollTime(clock)
    with time:
        clock.now += 1.0
        with time:
            clock.now += 1.0
        clock.now += 1.0
    assert astuple(time.spent()) == pytest.approx((3.0, 0.0))


def test_before_the_first_wait_nothing_was_spent() -> None:
    """The application has not begun to poll."""
    assert PollTime(Clock()).spent() == Spent()
