"""Twenty members move to KIP-848 and back under load, one restart after the other, while a judge outside watches."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from membership_client import MembershipError
from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.benchmarks.soak import Production
from tests.benchmarks.soak_fleet import Fleet, Slot
from tests.benchmarks.soak_watch import Watch
from tests.integration.members import QUICK, eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(1200)]

MEMBERS = 20
PARTITIONS = 40
PATIENCE_S = 240.0
"""Twenty interpreters start at once, on a machine that may run everything else at once."""

CLASSIC = {"group.protocol": "classic", "heartbeat.interval.ms": 500}
KIP_848 = {"group.protocol": "consumer"}


class Roll:
    """A group under load, whose processes are exchanged one by one."""

    def __init__(self, servers: str, directory: Path) -> None:
        self.name = f"roll-{uuid.uuid4().hex[:8]}"
        self._servers = servers
        admin = ClusterAdmin(servers)
        admin.set_group_config(self.name, **QUICK)
        admin.create_topic(self.name, PARTITIONS)
        self.fleet = Fleet(servers, directory, self.name)
        self.watch = Watch(self.name, PARTITIONS)
        self.production = Production(servers, self.name, PARTITIONS)
        self._slots: list[Slot] = []

    def begin(self, config: dict[str, Any]) -> None:
        self._slots = [self._slot(number, config) for number in range(MEMBERS)]
        for slot in self._slots:
            self.fleet.start(slot)
        self.await_settled()

    def exchange_all(self, config: dict[str, Any]) -> None:
        """The next is told to end when the one before is a member again."""
        for number, old in enumerate(self._slots):
            self.fleet.end(old, signal.SIGTERM)
            self._slots[number] = self._slot(number, config)
            self.fleet.start(self._slots[number])
            eventually(lambda: len(self._view().members) == MEMBERS, f"{MEMBERS} members", PATIENCE_S)
        self.await_settled()

    def _slot(self, number: int, config: dict[str, Any]) -> Slot:
        return Slot(f"member-{number}", self.name, ({**config, "enable.auto.commit": False},))

    def _view(self) -> Any:
        with GroupAdmin(self._servers) as admin:
            return admin.describe(self.name, lag=False)

    def await_settled(self) -> None:
        eventually(self._is_settled, "a stable group of all members", PATIENCE_S)

    def _is_settled(self) -> bool:
        try:
            view = self._view()
        except MembershipError:
            return False
        return len(view.members) == MEMBERS and len(view.owners) == PARTITIONS and view.state == "Stable"

    @contextmanager
    def under_load(self) -> Iterator[None]:
        """Records come, and the judge looks, until everything is committed."""
        stop_producing, stop_watching = threading.Event(), threading.Event()
        producing = threading.Thread(target=self.production.run, args=(stop_producing,))
        watching = threading.Thread(target=self._keep_watching, args=(stop_watching,))
        for thread in (producing, watching):
            thread.start()
        try:
            yield
            stop_producing.set()
            producing.join()
            done = "everything is committed"
            eventually(lambda: self.watch.committed(self.name) == self.production.ends, done, PATIENCE_S)
        finally:
            stop_producing.set()
            stop_watching.set()
            for thread in (producing, watching):
                thread.join()
            self.fleet.end_all(signal.SIGTERM)
        self.watch.follow(self.fleet.diaries, self.fleet.wakes)

    def _keep_watching(self, stop: threading.Event) -> None:
        with GroupAdmin(self._servers, timeout_s=3.0) as admin:
            while not stop.wait(0.25):
                self.watch.look_at_offsets(admin, [self.name])
                self.watch.follow(self.fleet.diaries, self.fleet.wakes)
                self.watch.look_for_losses([self.name])


def roll(group: Roll, servers: str, config: dict[str, Any], shown: Path) -> list[dict[str, Any]]:
    """All members get that configuration; returns the looks of `migrate-watch`, from before the first restart to its end."""
    command = [sys.executable, "-m", "membership_client", "groups", "migrate-watch", group.name, "--json"]
    command += ["--to", config["group.protocol"], "--bootstrap-server", servers]
    with shown.open("w") as output, subprocess.Popen(command, stdout=output) as watching:
        try:
            eventually(lambda: shown.stat().st_size, "the first look", PATIENCE_S)
            group.exchange_all(config)
            assert watching.wait(PATIENCE_S) == 0
        finally:
            watching.kill()
    return [json.loads(line) for line in shown.read_text().splitlines()]


def test_twenty_members_move_there_and_back_and_nothing_is_lost(tmp_path: Path) -> None:
    """Every record is read, no partition has two owners, no offset goes back; `migrate-watch` sees each way to its end."""
    with KafkaCluster() as cluster:
        servers = cluster.bootstrap_servers
        group = Roll(servers, tmp_path)
        with group.under_load():
            group.begin(CLASSIC)
            with GroupAdmin(servers) as admin:
                # A rebalance on a busy machine is a finding, too, and passes.
                nothing = "nothing stands in the way"
                eventually(lambda: admin.check(group.name, config=KIP_848).findings == (), nothing, PATIENCE_S)
            for config in (KIP_848, CLASSIC):
                looks = roll(group, servers, config, tmp_path / f"to-{config['group.protocol']}")
                assert (looks[0]["moved"], looks[-1]["moved"], looks[-1]["done"]) == (0, MEMBERS, True)
                assert any(look["protocol"] == "consumer" and look["left"] for look in looks), "no mixed group was seen"
                assert looks[-1]["protocol"] == config["group.protocol"]
    watch = group.watch
    assert not watch.violations, watch.violations
    assert not group.fleet.died, group.fleet.died
    assert watch.missing(group.name, group.production.ends) == 0
    assert group.production.count > MEMBERS * PARTITIONS, "hardly any load"
    assert watch.counts["revoke"], "no partition moved"
