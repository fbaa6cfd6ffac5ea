"""Two programs share a group while a seed decides what happens to them, and a judge outside watches what comes of it."""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import signal
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from membership_client import GroupNotFoundError, MembershipError
from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin
from tests.benchmarks.soak import Production
from tests.benchmarks.soak_fleet import CLASSIC, Fleet, Slot
from tests.benchmarks.soak_watch import Watch
from tests.integration.members import eventually
from tests.soak.busy import OFTEN_S, SELDOM_S
from tests.soak.programme import Kind, Trouble, programme
from tests.soak.seated_kafka import SeatedKafka
from tests.soak.story import story

PARTITIONS = 6
SESSION_S = 3.0
PATIENCE_S = 120.0
"""For arrival, and for the end: interpreters start beside busy threads, on a machine that may run everything else at once."""

_LOOK_S = 0.25
_SESSION = {"consumer_session_timeout_ms": int(SESSION_S * 1000), "consumer_heartbeat_interval_ms": 500}
_CLASSIC = {**CLASSIC, "session.timeout.ms": int(SESSION_S * 1000), "heartbeat.interval.ms": 500}
_AUTOMATIC = {"consumer-poll"}
"""Programs that leave it to the consumer to commit."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that decides a run, except for chance."""

    programs: tuple[str, str]
    protocol: str = "consumer"
    seed: int = 1
    seconds: float = 20.0

    @property
    def command(self) -> str:
        """Repeats it."""
        return f"python -m tests.soak {' '.join(self.programs)} --protocol {self.protocol} --seed {self.seed} --seconds {self.seconds:g}"


@dataclass
class Run:
    """One run of a plan. `happened` is what was done to the processes, with the time of the clock that they share."""

    kafka: SeatedKafka
    directory: Path
    plan: Plan
    happened: list[tuple[float, str]] = field(default_factory=list)
    troubles: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._began_at = time.monotonic()
        self._name = f"soak-{uuid.uuid4().hex[:8]}"
        self._fleet = Fleet(self.kafka.servers, self.directory, self._name)
        self._seats = [self._slot(number, program) for number, program in enumerate(self.plan.programs)]
        self._visitor = Slot("visitor", self._name, (self._config(self.plan.programs[0]),), *self._how(0))
        self._production = Production(self.kafka.servers, self._name, PARTITIONS)
        self._watch = Watch(self._name, PARTITIONS)
        self._down: set[int] = set()
        self._is_visited = False
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    # --- who takes part ----------------------------------------------------------------------------------------------

    def _slot(self, number: int, program: str) -> Slot:
        config = {**self._config(program), "bootstrap.servers": self.kafka.ways_in[number].address}
        return Slot(f"{number}-{program}", self._name, (config,), *self._how(number))

    def _how(self, number: int) -> tuple[str, dict[str, Any]]:
        switch_s = (OFTEN_S, SELDOM_S)[(number + self.plan.seed) % 2]
        return "tests.soak.programs", {"program": self.plan.programs[number], "switch_s": switch_s}

    def _config(self, program: str) -> dict[str, Any]:
        protocol = _CLASSIC if self.plan.protocol == "classic" else {"group.protocol": "consumer"}
        return {**protocol, "enable.auto.commit": program in _AUTOMATIC}

    # --- the run -----------------------------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """Never raises for what the programs do: see `failure_of`."""
        admin = ClusterAdmin(self.kafka.servers)
        admin.set_group_config(self._name, **_SESSION)
        admin.create_topic(self._name, PARTITIONS)
        stop_producing, stop_watching = threading.Event(), threading.Event()
        producing = threading.Thread(target=self._production.run, args=(stop_producing,))
        watching = threading.Thread(target=self._keep_watching, args=(stop_watching,))
        ended: list[str] = []
        try:
            for thread in (producing, watching):
                thread.start()
            for seat in self._seats:
                self._fleet.start(seat)
            self._within(ended, self._has_settled, "all members have arrived")
            self._play()
            stop_producing.set()
            producing.join()
            self._within(ended, self._is_done, "everything is committed")
            self._fleet.end_all(signal.SIGTERM)
        finally:
            stop_producing.set()
            stop_watching.set()
            watching.join()
            producing.join()
            self._fleet.end_all(signal.SIGKILL)
        return self._result(ended)

    def _within(self, ended: list[str], check: Callable[[], bool], what: str) -> None:
        try:
            eventually(lambda: check() or self._watch.violations or self._fleet.died, what, PATIENCE_S)
        except AssertionError as late:
            ended.append(f"{late}; the brokers say that the lag is {self._lag()}")

    def _lag(self) -> dict[int, int | None]:
        """By partition; empty if no member has ever joined. Tells a record that is not read from one that was never written."""
        with GroupAdmin(self.kafka.servers) as admin, contextlib.suppress(GroupNotFoundError):
            return {place.partition: left for place, left in admin.describe(self._name).lag.items()}
        return {}

    def _keep_watching(self, stop: threading.Event) -> None:
        with GroupAdmin(self.kafka.servers, timeout_s=3.0) as admin:
            while not stop.wait(_LOOK_S):
                self._look(admin)
            self._look(admin)

    def _look(self, admin: GroupAdmin) -> None:
        self._watch.look_at_offsets(admin, [self._name])
        self._watch.follow(self._fleet.diaries, self._fleet.wakes)
        self._watch.look_for_losses([self._name])

    def _has_settled(self) -> bool:
        self._fleet.revive()  # What ends at once, because a package is missing, is noted instead of waited for.
        try:
            with GroupAdmin(self.kafka.servers, timeout_s=3.0) as admin:
                view = admin.describe(self._name, lag=False)
        except (MembershipError, OSError):
            return False
        return len(view.members) == len(self._seats) and len(view.owners) == PARTITIONS and view.state == "Stable"

    def _is_done(self) -> bool:
        self._fleet.revive()
        return self._watch.committed(self._name) == self._production.ends

    # --- the troubles ------------------------------------------------------------------------------------------------

    def _play(self) -> None:
        """All of the programme, or up to the first violation; then everything runs and flows again."""
        began_at = time.monotonic()
        for trouble in programme(self.plan.seed, self.plan.seconds, SESSION_S):
            self._at(began_at + trouble.at_s, functools.partial(self._begin, trouble))
        while self._agenda and not self._watch.violations:
            at, _, act = heapq.heappop(self._agenda)
            time.sleep(max(0.0, at - time.monotonic()))
            act()
            self._fleet.revive()
        for proxy in self.kafka.ways_in:
            proxy.mend()
        for seat in self._down:
            self._fleet.wake(self._seats[seat])

    def _at(self, at: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (at, next(self._numbers), act))

    def _say(self, what: str) -> None:
        self.happened.append((time.monotonic(), what))
        sys.stderr.write(f"{time.monotonic() - self._began_at:7.1f} s  {what}\n")

    def _begin(self, trouble: Trouble) -> None:
        """To another process, if that one is away already or has not begun yet; to none, if all are."""
        seats = sorted(range(len(self._seats)), key=lambda seat: seat != trouble.seat)
        there = [seat for seat in seats if seat not in self._down and self._fleet.has_begun(self._seats[seat])]
        if not there:
            return
        trouble = replace(trouble, seat=there[0])
        slot = self._seats[trouble.seat]
        self._say(str(trouble))
        self.troubles[trouble.kind.name] += 1
        begin = {
            Kind.NAP: self._stop,
            Kind.SLEEP: self._stop,
            Kind.KILL: self._kill,
            Kind.RESTART: self._restart,
            Kind.REOPEN: lambda _: self._fleet.send(slot, signal.SIGUSR1),
            Kind.VISIT: self._visit,
            Kind.CUT: self._cut,
        }
        begin[trouble.kind](trouble)

    def _afterwards(self, trouble: Trouble, act: Callable[[], None]) -> None:
        self._down.add(trouble.seat)

        def end() -> None:
            self._down.discard(trouble.seat)
            self._say(f"process {trouble.seat} is back from: {trouble.kind.name}")
            act()

        self._at(time.monotonic() + trouble.lasts_s, end)

    def _stop(self, trouble: Trouble) -> None:
        slot = self._seats[trouble.seat]
        self._fleet.send(slot, signal.SIGSTOP)
        self._afterwards(trouble, lambda: self._fleet.wake(slot))

    def _kill(self, trouble: Trouble) -> None:
        slot = self._seats[trouble.seat]
        self._fleet.end(slot, signal.SIGKILL)
        self._afterwards(trouble, lambda: self._fleet.start(slot))

    def _restart(self, trouble: Trouble) -> None:
        slot = self._seats[trouble.seat]
        self._fleet.end(slot, signal.SIGTERM)
        self._fleet.start(slot)

    def _visit(self, trouble: Trouble) -> None:
        """Unless there is a visitor. It stays longer than a session, to be a member for a while."""
        if self._is_visited:
            return
        self._is_visited = True
        self._fleet.start(self._visitor)
        self._at(time.monotonic() + SESSION_S + trouble.lasts_s, self._end_visit)

    def _end_visit(self) -> None:
        self._is_visited = False
        self._fleet.end(self._visitor, signal.SIGTERM)

    def _cut(self, trouble: Trouble) -> None:
        proxy = self.kafka.ways_in[trouble.seat]
        proxy.stall()
        self._afterwards(trouble, proxy.mend)

    # --- the end -----------------------------------------------------------------------------------------------------

    def _result(self, late: list[str]) -> dict[str, Any]:
        return {
            "command": self.plan.command,
            "late": late,
            "produced": self._production.count,
            "missing": self._watch.missing(self._name, self._production.ends),
            "violations": self._watch.violations,
            "died": self._fleet.died,
            "processes": self._fleet.started,
            "troubles": dict(self.troubles),
            "counts": dict(self._watch.counts),
        }

    def story(self) -> str:
        """Of what went wrong; of all partitions, if no violation says which."""
        about = self._watch.partitions_of_violations or set(range(PARTITIONS))
        return story(self._fleet.diaries, self.happened, about, self._began_at)


def failure_of(result: dict[str, Any]) -> list[str]:
    """What was broken, a sentence each."""
    lost = [f"{result['missing']} records never came"] if result["missing"] else []
    return [*result["violations"], *result["died"], *result["late"], *lost]
