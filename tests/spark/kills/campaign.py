"""A campaign: drivers of one pipeline are killed again and again while records arrive; then a judge counts what is in the table.

A seed decides where each driver is killed, whether its JVM is killed with it, and whether another driver runs at the same
time: then the first stands still at its point until the second has published, goes on, and both are killed.
"""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Producer

from tests.spark.clusters.driver_process import DriverProcess
from tests.spark.clusters.processes import is_running, send
from tests.spark.kills.points import POINTS
from tests.spark.kills.sinks import SINKS
from tests.spark.pipeline.stage import Stage
from tests.spark.versions.inside.with_tables import settings

PATIENCE_S = 600.0
"""For whatever a driver does next, on a machine that runs everything else at once."""

RECORDS, PAUSE_S = 10, 0.1
"""How many records arrive, and how long until the next ones."""

JVM_SHARE, DUEL_SHARE, RANDOM_SHARE = 0.08, 0.3, 0.25
"""Of kills in which the JVM goes, too; in which two drivers run; that come at any moment instead of at a point."""

EXPECTED = frozenset({"SupersededError", "FencedInstanceIdError"})
"""How a driver ends that another one has overtaken."""


@dataclass(slots=True)
class Result:
    """What was done, and what was there at the end."""

    sink: str
    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    overtaken: Counter[str] = field(default_factory=Counter)
    """How drivers ended that were overtaken; those that were killed before they noticed are not in it."""
    epochs: int = 0
    produced: int = 0
    rows: int = 0
    numbers: int = 0

    @property
    def lost(self) -> int:
        return self.produced - self.numbers

    @property
    def doubled(self) -> int:
        return self.rows - self.numbers

    def __str__(self) -> str:
        where = ", ".join(f"{count} {what}" for what, count in sorted(self.kills.items()))
        ends = ", ".join(f"{count} {what}" for what, count in sorted(self.overtaken.items())) or "none"
        return (
            f"{self.sink}, seed {self.seed}: {self.kills.total()} kills ({where}); overtaken drivers that noticed: {ends}; "
            f"{self.epochs} epochs of {self.produced} records: {self.lost} lost, {self.doubled} doubled"
        )


class Arrivals:
    """Records arrive while this is entered."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        # Idempotent: a record that its producer repeats would look like one that a sink has written twice.
        producer = Producer({"bootstrap.servers": self._stage.bootstrap_servers, "enable.idempotence": True})
        while not self._ended.wait(PAUSE_S):
            self._stage.fill(RECORDS, producer)


class Life:
    """One driver, from its fork to its end."""

    def __init__(self, number: int, nursery: DriverProcess) -> None:
        self.number = number
        self._nursery = nursery
        self.pid: int = self.wait_for("born")["pid"]

    def said(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self._nursery.all(kind) if line["life"] == self.number]

    def wait_for(self, *kinds: str) -> dict[str, Any]:
        """The first line of one of these kinds. AssertionError if the driver fails instead."""
        give_up_at = time.monotonic() + PATIENCE_S
        while True:
            for kind in kinds:
                if found := self.said(kind):
                    return found[0]
            failed = self.said("failed")
            assert not failed, f"driver {self.number} failed: {failed}"
            assert time.monotonic() < give_up_at, (
                f"driver {self.number} has not said {kinds}: {self._nursery.said[-20:]}"
            )
            time.sleep(0.02)

    def wait_ended(self, within_s: float) -> str | None:
        """The type of the error that ended it; None if it still runs."""
        give_up_at = time.monotonic() + within_s
        while not (failed := self.said("failed")) and time.monotonic() < give_up_at:
            time.sleep(0.02)
        return failed[0]["error"] if failed else None

    def go_on(self) -> None:
        send(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        send(self.pid, signal.SIGKILL)
        while is_running(self.pid):
            time.sleep(0.01)


class Campaign:
    """Two JVMs, so that two drivers at once share nothing but the table and the group."""

    def __init__(
        self, bootstrap_servers: str, home: Path, place: str, sink: str, *, seed: int, tell: Callable[[str], None]
    ) -> None:
        self._home = home
        self._tell = tell
        self._random = random.Random(f"{sink} {seed}")
        self._stage = Stage(bootstrap_servers)
        self._stage.be_patient()
        self._place = place
        self._started = 0
        self._processes: list[DriverProcess] = []
        self._lives = 0
        self.result = Result(sink, seed)

    def __enter__(self) -> Self:
        here = Path(__file__).parent
        self._jvms = [self._process(here / "jvm.py") for _ in range(2)]
        self._nursery = self._process(here / "lives.py")
        self._nursery.wait_for("ready", timeout_s=PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.stop()

    def play(self, kills: int) -> Result:
        """Kills that often, lets a last driver read the rest, and has the table judged."""
        self._life("create").wait_for("done")
        with Arrivals(self._stage):
            while self.result.kills.total() < kills:
                (self._duel if self._random.random() < DUEL_SHARE else self._one_kill)()
                self._tell(f"{self.result.kills.total()} kills, {self._stage.produced} records")
        self._life("read", everything=True).wait_for("done")
        return self._judged()

    def _one_kill(self) -> None:
        life, where = self._run_to_a_point()
        if self._random.random() < JVM_SHARE:
            number = self._jvm_of(life)
            self._jvms[number].kill()
            self._jvms[number].wait_ended()
            self._jvms[number] = self._process(Path(__file__).with_name("jvm.py"))
            where = f"{where} with its JVM"
        self._kill(life, where)

    def _duel(self) -> None:
        first, where = self._run_to_a_point()
        second = self._life("read")
        second.wait_for("epoch")
        first.go_on()
        if ended := first.wait_ended(self._random.random() * 10):
            assert ended in EXPECTED, first.said("failed")
            self.result.overtaken[ended] += 1
        self._kill(first, f"{where}, overtaken")
        self._kill(second, "at any moment, overtaking")

    def _run_to_a_point(self) -> tuple[Life, str]:
        """A driver that stands still, or that runs since some moment."""
        if self._random.random() < RANDOM_SHARE:
            life = self._life("read")
            life.wait_for("started")
            time.sleep(self._random.random() * 4)
            return life, "at any moment"
        point = self._random.choice(self._points())
        life = self._life("read", point=point, times=self._random.choice((1, 1, 2)))
        life.wait_for("at")
        return life, point

    def _points(self) -> tuple[str, ...]:
        sink = self.result.sink
        missing = {"checked"} if sink == "plain" else set()
        missing |= set() if SINKS[sink].has_written else {"written"}
        return tuple(point for point in POINTS if point not in missing)

    def _kill(self, life: Life, where: str) -> None:
        life.kill()
        self.result.epochs += len(life.said("epoch"))
        self.result.kills[where] += 1

    def _judged(self) -> Result:
        life = self._life("judge")
        found = life.wait_for("found")
        result = self.result
        result.produced, result.rows, result.numbers = self._stage.produced, found["rows"], found["numbers"]
        assert (found["low"], found["high"] < result.produced) == (0, True), (
            f"numbers that were never produced: {found}"
        )
        return result

    def _life(self, do: str, *, point: str | None = None, times: int = 1, everything: bool = False) -> Life:
        """A driver in the one JVM or in the other, in turn."""
        self._lives += 1
        gateway = self._jvms[self._lives % 2].wait_for("gateway", timeout_s=PATIENCE_S)
        stage = self._stage
        task = {"do": do, "life": self._lives, "port": gateway["port"], "secret": gateway["secret"]}
        task |= {"sink": self.result.sink, "place": self._place, "config": stage.config(), "topic": stage.topic}
        task |= {"point": point, "times": times, "all": everything}
        self._nursery.tell(json.dumps(task))
        return Life(self._lives, self._nursery)

    def _jvm_of(self, life: Life) -> int:
        return life.number % 2

    def _process(self, program: Path) -> DriverProcess:
        self._started += 1
        self._processes.append(DriverProcess(program, settings(), self._home / f"{program.stem}-{self._started}"))
        return self._processes[-1]
