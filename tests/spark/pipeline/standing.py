"""A pipeline into Parquet that goes on and on, seen from outside: its driver, its topic, its group, what it has written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from membership_client import TopicPartition
from membership_client.admin import GroupAdmin
from membership_client.testing import KafkaCluster
from tests.integration.members import eventually
from tests.spark.clusters.driver_process import PATIENCE_S, DriverProcess
from tests.spark.pipeline.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.clusters.sessions import SessionSettings
    from tests.spark.clusters.standalone import StandaloneCluster

PROGRAM = Path(__file__).with_name("standing_driver.py")
_RECORDS = 40


class GroupPhoto(NamedTuple):
    """What the coordinator says. The epoch grows with every rebalance."""

    epoch: int | None
    members: Mapping[str | None, str]
    shares: Mapping[str | None, frozenset[TopicPartition]]


class StandingPipeline:
    """Two slots; one driver at a time."""

    def __init__(self, kafka: KafkaCluster, home: Path, program: Path = PROGRAM) -> None:
        self._program = program
        self.stage = Stage(kafka.bootstrap_servers)
        self.stage.be_patient()
        self.path = home / "sink"
        self._home = home
        self._drivers: list[DriverProcess] = []

    @property
    def driver(self) -> DriverProcess:
        """The newest."""
        return self._drivers[-1]

    def logs(self) -> list[Path]:
        """Of all drivers."""
        return [log for driver in self._drivers for log in driver.logs()]

    def start(self, settings: SessionSettings) -> None:
        """Another driver; nothing is awaited."""
        stage = self.stage
        task = {"config": stage.config(), "topic": stage.topic, "path": str(self.path), "directory": str(self._home)}
        home = self._home / f"driver-{len(self._drivers) + 1}"
        self._drivers.append(DriverProcess(self._program, settings, home, task))

    def replace_driver(self, cluster: StandaloneCluster, settings: SessionSettings) -> None:
        """Kill -9 of Python and JVM, and another driver when the executors of the old one, which go with it, have gone."""
        self.driver.kill()
        self.driver.wait_ended()
        eventually(lambda: not cluster.executors(), "its executors have ended too", PATIENCE_S)
        self.start(settings)

    def stop(self) -> None:
        """However it stands."""
        for driver in self._drivers:
            driver.stop()

    def photo(self) -> GroupPhoto:
        with GroupAdmin(self.stage.bootstrap_servers) as admin:
            group = admin.describe(self.stage.topic, lag=False)
        ids = {one.instance_id: one.member_id for one in group.members}
        return GroupPhoto(group.epoch, ids, {one.instance_id: one.current for one in group.members})

    def await_slots(self, count: int) -> None:
        """Waits until this many slots share all partitions."""

        def shared() -> bool:
            shares = self.photo().shares.values()
            return len(shares) == count and all(shares) and sum(map(len, shares)) == self.stage.partitions

        eventually(shared, f"{count} slots share all partitions", PATIENCE_S)

    def hold(self) -> int:
        """A Python worker that is in the middle of its range. All of them stay there until `release`."""
        for mark in self._home.glob("held-*"):
            mark.unlink()
        self._hold.touch()
        self.stage.fill(_RECORDS)
        return eventually(self._held, "a task of an epoch waits", PATIENCE_S)[0]

    def release(self) -> None:
        self._hold.unlink()

    def read_all(self, spark: SparkSession) -> None:
        """Waits until all is committed that was produced, and some that is produced now; each record is there once."""
        self.stage.fill(_RECORDS)
        eventually(lambda: sum(self.stage.committed().values()) == self.stage.produced, "all is committed", PATIENCE_S)
        assert self.stage.numbers_in(spark, self.path) == self.stage.all_numbers

    @property
    def _hold(self) -> Path:
        return self._home / "hold"

    def _held(self) -> list[int]:
        return [int(mark.name.removeprefix("held-")) for mark in self._home.glob("held-*")]
