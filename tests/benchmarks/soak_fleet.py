"""Twenty members in several processes, as a deployment has them: what ends is started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from membership_client.testing import guard

ROOT = Path(__file__).parents[2]
TOPIC = "orders"
DONE = "orders-done"
CLASSIC_GROUP = "classic"
EXACT = "exact"
"""The group that transforms, in transactions."""
PARTITIONS = 24
SESSION_S = 8.0

_FENCED = "KafkaError{FATAL,code=_FENCED"
_ENDING_S = 90.0
"""A commit under way is repeated for a minute, and then a close has ten seconds."""
SOCKETS = {"socket.timeout.ms": 5000, "reconnect.backoff.max.ms": 1000}
"""A connection that died without a word is noticed soon."""
COMMON: dict[str, Any] = {
    **SOCKETS,
    "log_level": 0,
    "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": 500,
    "request.timeout.ms": 5000,
}
CLASSIC: dict[str, Any] = {
    "group.protocol": "classic",
    "partition.assignment.strategy": "cooperative-sticky",
    "session.timeout.ms": int(SESSION_S * 1000),
    "heartbeat.interval.ms": 1000,
}


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A place for a process. `members` are the configurations of its consumers; without any it transforms."""

    name: str
    group: str
    members: tuple[dict[str, Any], ...] = ()
    module: str = "tests.benchmarks.soak_member"
    """What its process runs, unless it transforms."""
    task: dict[str, Any] = field(default_factory=dict)
    """What else the module is told about each of its members."""


def slots() -> list[Slot]:
    """KIP-848 with and without instance ids, classic, and transactions: twenty members in ten processes."""
    fresh = [Slot(f"fresh-{n}", "fresh", ({}, {"enable.auto.commit": False}, {})) for n in range(2)]
    static = [_static(f"static-{n}", 3) for n in range(2)]
    classic = [
        Slot(f"classic-{n}", CLASSIC_GROUP, (CLASSIC, CLASSIC | {"enable.auto.commit": False})) for n in range(2)
    ]
    return [*fresh, *static, *classic, *(Slot(f"exact-{n}", EXACT) for n in range(4))]


def _static(name: str, count: int) -> Slot:
    """After a kill their successors need not wait, because the supervisor knows that they are dead."""
    names = [{"group.instance.id": f"{name}-{number}"} for number in range(count)]
    return Slot(
        name,
        "fresh",
        tuple({**n, "group.instance.id.conflict": "takeover", "enable.auto.commit": False} for n in names),
    )


@dataclass(slots=True)
class Fleet:
    """Any thread. A process that ends by itself is started again by `revive`, and noted in `died`.

    Only counted are those whose producer the brokers fenced: that is final in confluent-kafka, and no matter of membership.
    """

    servers: str
    directory: Path
    topic: str = TOPIC
    died: list[str] = field(default_factory=list)
    diaries: dict[Path, str] = field(default_factory=dict)
    """Every diary there is, and its group."""
    wakes: dict[Path, list[float]] = field(default_factory=lambda: defaultdict(list))
    """When the process of a diary was continued, just before it was."""
    started: int = 0
    fenced_producers: int = 0
    _processes: dict[Slot, subprocess.Popen[bytes]] = field(default_factory=dict)
    _newest: dict[Slot, list[Path]] = field(default_factory=lambda: defaultdict(list))
    """The diaries of its process."""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def start(self, slot: Slot) -> None:
        with self._lock:
            self.started += 1
            command = self._reading(slot) if slot.members else self._transforming(slot)
            with self._log(slot).open("wb") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", *command],
                    cwd=ROOT,
                    env=os.environ | {"PYTHONPATH": str(ROOT)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                )
            guard.watch_process(process.pid)
            self._processes[slot] = process

    def _reading(self, slot: Slot) -> list[str]:
        tasks = []
        self._newest[slot] = []
        for number, more in enumerate(slot.members):
            diary = self.directory / f"{slot.name}-{number}-{self.started}"
            self.diaries[diary] = slot.group
            self._newest[slot].append(diary)
            config = {**COMMON, "bootstrap.servers": self.servers, "group.id": slot.group, **more}
            tasks.append({"config": config, "topic": self.topic, "diary": str(diary), **slot.task})
        return [slot.module, json.dumps(tasks)]

    def _transforming(self, slot: Slot) -> list[str]:
        task = {"servers": self.servers, "group": slot.group, "source": self.topic, "target": DONE, "halt": None}
        how = {"transactional_id": slot.name, "more": SOCKETS, "batch": 1000}
        return ["tests.consumer.transformer", json.dumps(task | how)]

    def send(self, slot: Slot, number: signal.Signals) -> None:
        self._processes[slot].send_signal(number)

    def standing(self) -> dict[str, str]:
        """Where the processes that transform stand, by their names."""
        transforming = [slot for slot in self._processes if not slot.members]
        for slot in transforming:
            self.send(slot, signal.SIGUSR1)
        time.sleep(1.0)
        return {slot.name: self._log(slot).read_text(errors="replace")[-2000:] for slot in transforming}

    def wake(self, slot: Slot) -> None:
        for diary in self._newest[slot]:
            self.wakes[diary].append(time.monotonic())
        self.send(slot, signal.SIGCONT)

    def end(self, slot: Slot, number: signal.Signals) -> None:
        """However it stands. One that does not go when it is told to is killed, and noted."""
        with self._lock:
            process = self._processes.pop(slot)
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(number)
        try:
            process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self.died.append(f"{slot.name} did not end within {_ENDING_S:g} s of {number.name}")
            process.kill()
            process.wait()
        if number is signal.SIGTERM and process.returncode not in {0, -signal.SIGTERM, -signal.SIGKILL}:
            self.died.append(self._last_words(slot, process))
        self._forget(process)

    def has_begun(self, slot: Slot) -> bool:
        """Whether its process is past its imports, so that it hears signals."""
        return slot in self._processes and all(diary.exists() for diary in self._newest[slot])

    def revive(self) -> None:
        with self._lock:
            dead = [(slot, process) for slot, process in self._processes.items() if process.poll() is not None]
        for slot, process in dead:
            if _FENCED in self._log(slot).read_text(errors="replace"):
                self.fenced_producers += 1
            else:
                self.died.append(self._last_words(slot, process))
            self._forget(process)
            self.start(slot)

    def _last_words(self, slot: Slot, process: subprocess.Popen[bytes]) -> str:
        said = self._log(slot).read_text(errors="replace")
        return f"{slot.name} ended with code {process.returncode}: {said[-1500:]}"

    def _log(self, slot: Slot) -> Path:
        """Of its newest process."""
        return self.directory / f"{slot.name}.log"

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        guard.forget_process(process.pid)
        assert process.stdin is not None
        process.stdin.close()

    def end_all(self, number: signal.Signals) -> None:
        """At the same time."""
        threads = [threading.Thread(target=self.end, args=(slot, number)) for slot in list(self._processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
