"""Whatever brokers answer, a member neither crashes nor hangs nor grows; and once they are sane again, it is well again."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from membership_client.config import MemberConfig
from membership_client.core.events import Close, Subscribe
from membership_client.core.machine import deadline
from membership_client.runtime.worker import Worker
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.fake_coordinator import CoordinatorSettings
from membership_client.types import GroupProtocol, MemberState
from tests.hostile.hostile_brokers import HostileBrokers

SETTINGS = CoordinatorSettings(assignment_interval_s=0.0)
PER_LIFE = 500
"""So many hostile answers one member gets, unless one of them ends it."""
PROTOCOLS = ("consumer", "classic", "auto")


@pytest.mark.timeout(3600)  # A million of them take longer than a test may.
def test_mutated_answers_harm_nobody(pytestconfig: pytest.Config) -> None:
    """Each life has a seed: hostile answers, then sane ones, and a close. `--mutations` says how many there are."""
    wanted: int = pytestconfig.getoption("--mutations")
    told, seed, ended, resident_mb = 0, 0, 0, 0.0
    while told < wanted:
        seed += 1
        life = Life(seed)
        told += life.suffer(PER_LIFE)
        ended += life.recover_or_say_why()
        if seed == 20:  # Whatever is loaded once is loaded by now.
            resident_mb = resident()
    assert 0 < ended < seed
    assert seed < 20 or resident() - resident_mb < 30


class Life:
    """A member with its brokers."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._brokers = HostileBrokers(
            FakeCluster({"orders": 6}, SETTINGS), seed=seed, hostility=0.7, deadly=seed % 5 == 0
        )
        static = {"group.instance.id": "i"} if seed % 4 == 0 else {}
        config = {"bootstrap.servers": "b1:9092", "group.id": "g", "group.protocol": PROTOCOLS[seed % 3], **static}
        self._worker: Worker = self._brokers.worker(MemberConfig.from_dict(config))
        self._worker.post(Subscribe(frozenset({"orders"})))

    @property
    def _state(self) -> MemberState:
        return self._worker.member.state

    def suffer(self, answers: int) -> int:
        """How many hostile answers it got."""
        rounds = 0
        while self._brokers.told < answers and self._state is not MemberState.FATAL:
            rounds += 1
            assert rounds < 100 * answers, f"seed {self._seed}: it goes round in circles: {self._worker.member}"
            self._go_on()
        return self._brokers.told

    def recover_or_say_why(self) -> bool:
        """Whether it has ended. If not, it owns everything within a quarter of an hour of its time; it closes anyway."""
        self._brokers.hostility = 0.0
        ended = self._state is MemberState.FATAL
        if ended:
            assert self._worker.member.problem is not None
        else:
            self._await_stable()
        self._worker.post(Close(timeout_s=30.0))
        self._until(lambda: self._worker.stopped, 60.0)
        return ended

    def _await_stable(self) -> None:
        self._until(lambda: self._state in {MemberState.STABLE, MemberState.FATAL} and self._owns_all(), 900.0)

    def _owns_all(self) -> bool:
        """A classic member has nobody to ask whether the share it was told is the one that was planned."""
        member = self._worker.member
        believes = member.protocol is GroupProtocol.CLASSIC or member.state is MemberState.FATAL
        return believes or len(member.owned) == 6

    def _until(self, happened: object, within_s: float) -> None:
        assert callable(happened)
        until = self._brokers.now + within_s
        while not happened():
            assert self._brokers.now < until, f"seed {self._seed}: not within {within_s} s: {self._worker.member}"
            self._go_on()

    def _go_on(self) -> None:
        self._worker.run_once()
        due = deadline(self._worker.member)
        assert due is None or due > self._brokers.now or self._worker.stopped, f"seed {self._seed} spins"


def resident() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
