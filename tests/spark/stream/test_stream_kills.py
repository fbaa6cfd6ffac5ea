"""Streams whose processes are killed: each record is in the sink once, and the group sees no rebalance."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from membership_client_spark.demo.processes import SystemProcess, family, send
from tests.integration.members import eventually
from tests.spark.clusters import sessions
from tests.spark.clusters.driver_process import DriverProcess
from tests.spark.clusters.processes import is_running
from tests.spark.pipeline.stage import Stage
from tests.spark.stream.queries import Batches, await_all_away, lag, planners, stream_options
from tests.spark.stream.stream_driver import PROGRAM

if TYPE_CHECKING:
    from tests.spark.clusters.sessions import SessionSettings
    from tests.spark.conftest import DriverFactory

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(1200), pytest.mark.deep]

PATIENCE_S = 300.0
"""A driver that is started again has to start a JVM, a planner and Python workers."""

_RECORDS = 60
_FEW = "7"
"""Records of a batch: there is always another one to come."""


class Streaming:
    """A topic, a directory, and one driver at a time that streams from one to the other."""

    def __init__(self, kafka: KafkaCluster, home: Path, new_driver: DriverFactory, settings: SessionSettings) -> None:
        self.stage = Stage(kafka.bootstrap_servers)
        self.stage.be_patient()
        self.batches = Batches(home / "sink")
        self._new_driver = new_driver
        self._settings = settings
        self._home = home / "sink"
        self.driver = self.start()

    def start(self) -> DriverProcess:
        options = stream_options(self.stage, maxOffsetsPerTrigger=_FEW)
        task = {"home": str(self._home), "options": options}
        self.driver = self._new_driver(PROGRAM, self._settings, task)
        return self.driver

    def await_batches(self, more: int) -> None:
        """Waits for the beginnings of this many further batches of the driver."""
        self.driver.wait_for("batch", len(self.driver.all("batch")) + more, PATIENCE_S)

    def await_all(self) -> None:
        """Waits until nothing is left to read; each record is there once, and the group knows of all."""
        self.stage.fill(_RECORDS)
        eventually(lambda: self.batches.numbers().total() >= self.stage.produced, "all is there", PATIENCE_S)
        eventually(lambda: lag(self.stage) == 0, "the group has no lag", PATIENCE_S)
        assert self.batches.numbers() == self.stage.all_numbers

    def planner(self) -> int:
        return eventually(lambda: planners(self.driver.pid), "a planner runs", PATIENCE_S)[0]


@pytest.fixture
def streaming(
    patient_kafka: KafkaCluster, tmp_path: Path, new_driver: DriverFactory, request: pytest.FixtureRequest
) -> Streaming:
    """With some batches done; in local mode, unless the test names another."""
    settings = getattr(request, "param", sessions.local)()
    streaming = Streaming(patient_kafka, tmp_path, new_driver, settings)
    streaming.stage.fill(_RECORDS)
    streaming.await_batches(2)
    return streaming


def moments(seed: int, count: int) -> Iterator[float]:
    """Pauses before kills, in seconds."""
    chance = random.Random(seed)
    yield from (chance.random() for _ in range(count))


def test_the_planner_is_killed(streaming: Streaming) -> None:
    """The query fails, its application starts it again, and the new planner takes the slots over."""
    epoch = streaming.stage.group_epoch()
    for number, pause_s in enumerate(moments(1, 3), 1):
        streaming.stage.fill(_RECORDS)
        streaming.await_batches(1)
        time.sleep(pause_s)
        send(streaming.planner(), signal.SIGKILL)
        streaming.driver.wait_for("failed", number, PATIENCE_S)
        streaming.await_batches(1)
    streaming.await_all()
    assert streaming.stage.group_epoch() == epoch


def test_python_workers_are_killed(streaming: Streaming) -> None:
    """Spark repeats their tasks, which read the same ranges; the planner is not concerned."""
    epoch, planner = streaming.stage.group_epoch(), streaming.planner()

    def workers() -> list[int]:
        daemons = {one.pid for one in family(streaming.driver.pid) if "pyspark.daemon" in one.arguments}
        return [one.pid for one in family(streaming.driver.pid) if one.parent in daemons]

    for pause_s in moments(2, 3):
        streaming.stage.fill(_RECORDS)
        streaming.await_batches(1)
        time.sleep(pause_s / 5)
        for pid in workers():
            send(pid, signal.SIGKILL)
    streaming.await_all()
    assert streaming.stage.group_epoch() == epoch
    assert streaming.planner() == planner


@pytest.mark.parametrize("streaming", [sessions.local_cluster], indirect=True)
def test_an_executor_is_killed(streaming: Streaming) -> None:
    """In the middle of a batch: another one repeats its tasks, and the group does not notice."""
    epoch, planner = streaming.stage.group_epoch(), streaming.planner()
    for pause_s in moments(4, 2):
        streaming.stage.fill(_RECORDS)
        streaming.await_batches(1)
        time.sleep(pause_s / 5)
        streaming.driver.executors()[0].kill()
    streaming.await_all()
    assert streaming.stage.group_epoch() == epoch
    assert streaming.planner() == planner


def test_the_driver_is_killed_with_all_its_processes(streaming: Streaming) -> None:
    """As when its host is lost: the next one repeats the batch of the checkpoint, and takes the slots over."""
    epoch = streaming.stage.group_epoch()
    for pause_s in moments(3, 2):
        streaming.stage.fill(_RECORDS)
        streaming.await_batches(1)
        time.sleep(pause_s)
        streaming.driver.kill()
        streaming.driver.wait_ended()
        streaming.start()
    streaming.await_all()
    assert streaming.stage.group_epoch() == epoch


@pytest.mark.parametrize(
    "victim",
    [
        pytest.param(lambda one: "java" in one.arguments[0], id="JVM"),
        pytest.param(lambda one: one.pid == one.session, id="Python"),
    ],
)
def test_a_process_of_the_driver_is_killed(streaming: Streaming, victim: Callable[[SystemProcess], bool]) -> None:
    """The planner notices, its members leave, and it ends."""
    epoch, planner = streaming.stage.group_epoch(), streaming.planner()
    for one in filter(victim, family(streaming.driver.pid)):
        send(one.pid, signal.SIGKILL)
    await_all_away(streaming.stage)
    eventually(lambda: not is_running(planner), "the planner has ended")
    streaming.start()
    streaming.await_all()
    assert streaming.stage.group_epoch() == epoch
