"""Consumers in several processes that come, go, die and fall asleep at random, while records keep coming."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from membership_client import ConnectionProblem
from tests.consumer.conftest import NewWorld
from tests.consumer.diaries import Diary, assert_never_shared
from tests.consumer.helpers import World, in_thread
from tests.consumer.reading import ReadingProcess
from tests.consumer.reading_process import STYLES
from tests.integration.members import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

PARTITIONS = 6
SESSION_S = 4.0
LASTS_S = 28.0
PER_SECOND = 250


class Chaos:
    """One random thing after the other, to between two and five processes."""

    def __init__(self, world: World, seed: int, directory: Path) -> None:
        self.started: list[ReadingProcess] = []
        self.awake: list[ReadingProcess] = []
        self._asleep: list[tuple[float, float, ReadingProcess]] = []
        """When to wake whom, and since when it sleeps."""
        self._world = world
        self._random = random.Random(seed)
        self._directory = directory

    def step(self) -> None:
        self._wake(time.monotonic())
        acts = [self._join, self._join, self._close, self._kill, self._nap, self._sleep]
        self._random.choice(acts)() if len(self.awake) > 2 else self._join()
        time.sleep(self._random.choice([0.1, 0.5, 1.0]))

    def settle(self) -> None:
        """All are awake, and at least one is there."""
        self._wake(float("inf"))
        if not self.awake:
            self._join()

    def end(self, number: signal.Signals) -> list[int]:
        """However it stands; the exit codes."""
        self._wake(float("inf"))
        ended = [process.end(number) for process in self.awake]
        self.awake.clear()
        return ended

    def _join(self) -> None:
        if len(self.awake) + len(self._asleep) < 5:
            number = len(self.started)
            style = list(STYLES)[number % len(STYLES)]
            config, diary = self._world.config(), self._directory / f"{number}-{style}"
            self.started.append(ReadingProcess(config, self._world.topic, style, diary))
            self.awake.append(self.started[-1])

    def _one(self) -> ReadingProcess:
        return self.awake.pop(self._random.randrange(len(self.awake)))

    def _close(self) -> None:
        # The latter of one that has only just been started.
        assert self._one().end(signal.SIGTERM) in {0, -signal.SIGTERM}

    def _kill(self) -> None:
        self._one().end(signal.SIGKILL)

    def _nap(self) -> None:
        """Shorter than the session."""
        self._stop_for(SESSION_S / 8, self._one())

    def _sleep(self) -> None:
        """Longer than the session: others get the partitions."""
        self._stop_for(SESSION_S * 1.5, self._one())

    def _stop_for(self, seconds: float, process: ReadingProcess) -> None:
        process.send(signal.SIGSTOP)
        self._asleep.append((time.monotonic() + seconds, time.monotonic(), process))

    def _wake(self, now: float) -> None:
        for wakes_at, stopped_at, process in [asleep for asleep in self._asleep if asleep[0] <= now]:
            # Whatever was meant: another's close, or a busy machine, may have kept it asleep for longer.
            if time.monotonic() - stopped_at > SESSION_S / 2:
                process.diary.stopped_at.append(stopped_at)
            process.send(signal.SIGCONT)
            self._asleep.remove((wakes_at, stopped_at, process))
            self.awake.append(process)


def produce(world: World, stop: threading.Event) -> dict[int, int]:
    """At a steady pace; how many each partition has in the end."""
    producer = Producer({"bootstrap.servers": world.bootstrap_servers, "log_level": 0})
    counts = dict.fromkeys(range(PARTITIONS), 0)
    while not stop.wait(PARTITIONS / PER_SECOND):
        for partition in counts:
            producer.produce(world.topic, b"record", partition=partition)
            counts[partition] += 1
    producer.flush()
    return counts


def watch_offsets(world: World, stop: threading.Event) -> list[dict[int, int]]:
    """What the group has committed, again and again."""
    seen: list[dict[int, int]] = []
    while not stop.wait(0.05):
        # A coordinator that is only just starting is asked again, and not waited for.
        with contextlib.suppress(ConnectionProblem):
            seen.append(world.committed(timeout_s=2.0))
    return seen


def assert_never_back(seen: list[dict[int, int]]) -> None:
    last: dict[int, int] = {}
    for offsets in seen:
        back = {p: (last[p], offset) for p, offset in offsets.items() if offset < last.get(p, 0)}
        assert not back, f"offsets went back: {back}"
        assert offsets.keys() >= last.keys()
        last = offsets


@pytest.mark.parametrize("seed", [8])
def test_whatever_happens_to_consumers_no_record_is_lost(new_world: NewWorld, tmp_path: Path, seed: int) -> None:
    """Every record comes, only to who owns it, and what was committed never goes back and in the end is everything."""
    world = new_world(PARTITIONS, consumer_session_timeout_ms=int(SESSION_S * 1000))
    chaos, stop_producing, stop_watching = Chaos(world, seed, tmp_path), threading.Event(), threading.Event()
    watched = in_thread(lambda: watch_offsets(world, stop_watching))
    produced = in_thread(lambda: produce(world, stop_producing))
    with watched as seen, produced as counts:
        try:
            until = time.monotonic() + LASTS_S
            while time.monotonic() < until:
                chaos.step()
            chaos.settle()
            stop_producing.set()
            eventually(lambda: counts and world.committed() == counts[0], "everything is committed")
            codes = chaos.end(signal.SIGTERM)
        finally:
            stop_producing.set()
            stop_watching.set()
            chaos.end(signal.SIGKILL)
    assert set(codes) <= {0, -signal.SIGTERM}
    diaries = [process.diary for process in chaos.started]
    for diary in diaries:
        diary.assert_sound()
    assert_never_shared(diaries)
    (offsets,), (ends,) = seen, counts
    assert isinstance(offsets, list)
    assert offsets
    assert isinstance(ends, dict)
    assert_never_back(offsets)
    assert_all_came(diaries, ends)


def assert_all_came(diaries: list[Diary], ends: dict[int, int]) -> None:
    """At least once each."""
    came = {(record.partitions[0], record.offset) for diary in diaries for record in diary.records()}
    missing = {(partition, offset) for partition, end in ends.items() for offset in range(end)} - came
    assert not missing, f"{len(missing)} records never came, such as {sorted(missing)[:5]}"
