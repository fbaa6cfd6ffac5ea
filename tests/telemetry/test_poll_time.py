"""How idle a polling thread is, in virtual time: what is concluded of a few calls a second is near the truth."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from membership_client.consumer.unseen import Spent
from tests.telemetry.polls import WATCHED, PollingThread, alike, in_batches, scattered, share

RHYTHMS = {
    "alike, mostly idle": alike(0.004, 0.001),
    "alike, mostly busy": alike(0.001, 0.004),
    "alike, too fast to be seen": alike(0.000_1, 0.000_3),
    "scattered, mostly idle": scattered(0.08, 0.02),
    "scattered, mostly busy": scattered(0.002, 0.008),
    "batches that are waited for": in_batches(100, 0.1, 0.0),
    "long waits for batches": in_batches(1000, 2.0, 0.0),
    "work on batches": in_batches(200, 0.0, 0.1),
    "long work on batches": in_batches(1000, 0.0, 5.0),
    "long waits and longer work": in_batches(30, 2.0, 8.0),
    "both, mostly idle": in_batches(100, 0.08, 0.02),
    "both, mostly busy": in_batches(100, 0.02, 0.08),
}


@pytest.mark.parametrize("rhythm", RHYTHMS.values(), ids=RHYTHMS)
def test_a_rhythm_is_judged_rightly(rhythm: Iterator[tuple[float, float]]) -> None:
    """Cycles right after a look do not stand for all: of batches they never show the long part, into which looks fall."""
    thread = PollingThread().run(rhythm, 200.0)
    found = thread.time.spent()
    assert share(found) == pytest.approx(share(thread.spent), abs=0.1)
    assert found.idle_s + found.busy_s == pytest.approx(thread.now, rel=0.02)


def test_few_calls_are_watched() -> None:
    """However many there are."""
    thread = PollingThread().run(alike(0.000_03, 0.000_03), 10.0)
    assert thread.calls_watched <= WATCHED * 14


def test_slow_calls_are_all_seen_and_counted_exactly() -> None:
    """Fewer than eight in a second leave nothing to conclude."""
    thread = PollingThread().run(alike(0.15, 0.05), 60.0)
    assert thread.time.spent().idle_s == pytest.approx(thread.spent.idle_s)
    assert thread.time.spent().busy_s == pytest.approx(thread.spent.busy_s)


def test_long_work_is_told_while_it_lasts() -> None:
    """Otherwise nothing would be told of a thread that never comes back; also if it began while nobody watched."""
    thread = PollingThread().run(in_batches(1000, 0.0, 0.0), 3.0)
    before = thread.time.spent()
    thread._pass(60.0)
    assert thread.time.spent().busy_s - before.busy_s == pytest.approx(60.0, abs=2.0)
    assert thread.time.spent().idle_s - before.idle_s < 2.0


def test_a_long_wait_is_told_while_it_lasts() -> None:
    """Also inside a call that nobody watches: it answers the knock."""
    thread = PollingThread().run(in_batches(1000, 0.0, 0.0), 3.0)
    before = thread.time.spent()
    thread._pass(60.0, inside=True)
    assert thread.time.spent().idle_s - before.idle_s == pytest.approx(60.0, abs=2.0)


def test_a_thread_that_never_polled_has_no_times() -> None:
    """Neither idle nor busy."""
    thread = PollingThread()
    thread._pass(60.0)
    assert thread.time.spent() == Spent()
