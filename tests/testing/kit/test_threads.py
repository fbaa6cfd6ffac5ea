"""Threads, locks and clocks of a program are in virtual time, and those of other threads are not."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from membership_client.testing.kit.scheduler import Scheduler
from membership_client.testing.kit.threads import EPOCH, virtual_threads


def run(program: Callable[[], object], seed: int = 0) -> Scheduler:
    """Run the program to its end, within a virtual hour."""
    scheduler = Scheduler(seed)
    raised: list[BaseException] = []
    scheduler.on_raised = lambda _, error: raised.append(error)
    with virtual_threads(scheduler):
        try:
            scheduler.spawn("program", None, program)
            scheduler.run(3600.0, lambda: not scheduler.tasks)
        finally:
            scheduler.end()
    if raised:
        raise raised[0]
    return scheduler


def test_sleeps_and_clocks() -> None:
    """All clocks show the same virtual time."""
    seen: list[float] = []

    def program() -> None:
        time.sleep(100)
        seen.extend([time.monotonic(), time.perf_counter(), time.time() - EPOCH])

    run(program)
    assert seen == [100.0, 100.0, 100.0]


def test_queues_between_threads() -> None:
    """A thread waits for what another one puts into a queue later, and times out in virtual time."""
    seen: list[object] = []

    def program() -> None:
        items: queue.Queue[str] = queue.Queue(maxsize=1)

        def fill() -> None:
            time.sleep(5)
            items.put("one")
            items.put("two")

        thread = threading.Thread(target=fill)
        thread.start()
        seen.extend([items.get(timeout=6), items.get()])
        with pytest.raises(queue.Empty):
            items.get(timeout=30)
        thread.join()
        seen.extend([time.monotonic(), thread.is_alive()])

    run(program)
    assert seen == ["one", "two", 35.0, False]


def test_executors() -> None:
    """They run on their own number of threads, and futures can be waited for."""

    def work(number: int) -> int:
        time.sleep(10)
        return number

    seen: list[object] = []

    def program() -> None:
        with ThreadPoolExecutor(2) as pool:
            seen.append(list(pool.map(work, range(4))))
        seen.append(time.monotonic())

    run(program)
    assert seen == [[0, 1, 2, 3], 20.0]


def test_conditions_events_and_locks() -> None:
    """Timeouts are virtual, and only an RLock can be taken twice by its owner."""
    seen: list[object] = []

    def program() -> None:
        event, condition, lock, relock = threading.Event(), threading.Condition(), threading.Lock(), threading.RLock()
        threading.Timer(7, event.set).start()
        with condition, lock, relock, relock:
            seen.extend([event.wait(3), condition.wait_for(event.is_set, 1), lock.acquire(timeout=2)])
        seen.extend([event.wait(), time.monotonic()])

    run(program)
    assert seen == [False, False, False, True, 7.0]


def test_the_seed_decides_which_thread_goes_first() -> None:
    """One seed gives the same order each time; several seeds give different orders."""

    def order(seed: int) -> str:
        seen: list[str] = []

        def note(name: str) -> None:
            time.sleep(1)
            seen.append(name)

        def program() -> None:
            threads = [threading.Thread(target=note, args=(name,)) for name in "abcd"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        run(program, seed)
        return "".join(seen)

    assert order(1) == order(1)
    assert len({order(seed) for seed in range(8)}) > 1


def test_other_threads_are_not_touched() -> None:
    """Their locks and sleeps during a run are real."""
    seen: list[object] = []

    def outside() -> None:
        before = time.monotonic()
        time.sleep(0.01)
        seen.append(time.monotonic() - before >= 0.01)
        seen.append(type(threading.Lock()).__module__)

    scheduler = Scheduler(0)
    with virtual_threads(scheduler):
        thread = threading.Thread(target=outside)
        thread.start()
        thread.join()
    assert seen == [True, "_thread"]


def test_no_thread_stays_behind() -> None:
    """This includes threads of a program that ends without them, or never."""
    before = threading.active_count()

    def program() -> None:
        threading.Thread(target=threading.Event().wait).start()
        ThreadPoolExecutor(1).submit(time.sleep, 1)

    run(program)
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before
