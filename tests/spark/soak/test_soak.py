"""Slots and pipelines beside busy threads, while a seed decides what happens to them. The judge is that of the soak."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset
import pytest

from membership_client.admin import GroupAdmin
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.benchmarks.soak_watch import Watch
from tests.integration.members import eventually
from tests.records import filled_topic
from tests.spark.clusters import sessions
from tests.spark.clusters.processes import is_running, send
from tests.spark.conftest import DriverFactory
from tests.spark.consume.fleet import PARTITIONS, Fleet
from tests.spark.pipeline.stage import Stage, numbers_of
from tests.spark.pipeline.standing import StandingPipeline
from tests.spark.soak import busy_epochs, judged_slots, starting

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(1800), pytest.mark.deep]

PATIENCE_S = 300.0
"""Busy threads take from the programs what a machine that runs everything else at once leaves of it."""

SESSION_S = 8.0
STARTS = 4
RECORDS = 2000
SEED = 1
"""Of what happens, and when; another one with --seed."""

Act = Callable[[], None]


def test_starts_of_slots_lose_nothing(kafka: KafkaCluster, new_driver: DriverFactory, tmp_path: Path) -> None:
    """Right after an assignment, slots learned that they did not own their partitions, and dropped records for good."""
    topic = filled_topic(kafka.bootstrap_servers, "starts", partitions=4, records=RECORDS)
    notes = tmp_path / "notes"
    notes.mkdir()
    task = {"servers": kafka.bootstrap_servers, "topic": topic, "partitions": 4, "records": RECORDS, "starts": STARTS}
    driver = new_driver(starting.PROGRAM, sessions.local(), {**task, "directory": str(notes)})
    driver.wait_for("start", STARTS, timeout_s=STARTS * PATIENCE_S)
    assert [(one["lost"], one["left"]) for one in driver.all("start")] == [(0, 0)] * STARTS


@pytest.fixture
def seed(pytestconfig: pytest.Config) -> int:
    given: int | None = pytestconfig.getoption("--seed")
    return SEED if given is None else given


class TroubledSlots:
    """What may happen to a job of slots, and what is seen of its group from outside."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self._fleet = fleet
        self._seed = seed
        self._watch = Watch(fleet.group, PARTITIONS)
        self.acts: list[Act] = [self.kill, self.sleep, self.end, self.cancel, self.stop_the_job]

    def play(self) -> None:
        chance = random.Random(self._seed)
        for act in chance.sample(self.acts, len(self.acts)):
            self._victim = chance.choice(self._workers_at_work())
            act()
            self.judge(act.__name__)
            time.sleep(chance.uniform(0.0, 1.0))

    def _workers_at_work(self) -> list[int]:
        """Their processes, once something was committed since the last act: what the driver says may be a second old."""
        committed = sum(self.judge("nothing").values())
        self._fleet.running()
        eventually(lambda: sum(self.judge("nothing").values()) > committed, "more is committed", PATIENCE_S)

        def alive() -> list[int]:
            pids = [one["pid"] for one in self._fleet.running().values()]
            return pids if all(map(is_running, pids)) else []

        return eventually(alive, "every slot has a process", PATIENCE_S)

    def kill(self) -> None:
        send(self._victim, signal.SIGKILL)

    def sleep(self) -> None:
        """Longer than the session: the other slot gets the partitions. Spark may kill the worker meanwhile."""
        send(self._victim, signal.SIGSTOP)
        time.sleep(1.5 * SESSION_S)
        self._watch.note_wake(time.monotonic())
        send(self._victim, signal.SIGCONT)

    def end(self) -> None:
        """In order: the slot leaves and comes back."""
        send(self._victim, signal.SIGTERM)

    def cancel(self) -> None:
        self._fleet.driver.tell("cancel")

    def stop_the_job(self) -> None:
        """In order; the next driver goes on from there."""
        self._fleet.driver.end_input()
        self._fleet.driver.wait_for("stopped", timeout_s=PATIENCE_S)

    def judge(self, after: str) -> dict[int, int]:
        """What is committed by now."""
        with GroupAdmin(self._fleet.kafka.bootstrap_servers) as admin:
            self._watch.look_at_offsets(admin, [self._fleet.group])
        self._watch.follow(dict.fromkeys(self._fleet.directory.iterdir(), self._fleet.group), {})
        self._watch.look_for_losses([self._fleet.group])
        assert not self._watch.violations, f"seed {self._seed}, after {after}: {self._watch.violations}"
        return self._watch.committed(self._fleet.group)

    def await_all(self) -> None:
        """What was produced so far is committed, and thus, says the judge, was handed out."""
        ends: Counter[int] = Counter()
        for partition, offset in self._fleet.produced():
            ends[partition] = max(ends[partition], offset + 1)

        def done() -> bool:
            committed = self.judge("everything")
            return all(committed.get(partition, 0) >= end for partition, end in ends.items())

        eventually(done, "everything is committed", PATIENCE_S)


def test_whatever_happens_to_slots_nothing_is_lost_doubled_or_set_back(
    patient_kafka: KafkaCluster, tmp_path: Path, seed: int
) -> None:
    """Kill, stop, orderly end, cancelled jobs and a job that is stopped, each beside a busy thread in every worker."""
    with Fleet(patient_kafka, tmp_path, sessions.local(), program=judged_slots.PROGRAM, patience_s=PATIENCE_S) as fleet:
        fleet.set_session(SESSION_S)
        slots = TroubledSlots(fleet, seed)
        slots.play()
        fleet.running()
        slots.await_all()


class TroubledPipeline:
    """What may happen to a pipeline into Parquet, whose members live in its driver."""

    def __init__(self, pipeline: StandingPipeline, seed: int) -> None:
        self._pipeline = pipeline
        self._seed = seed
        self._stage: Stage = pipeline.stage
        self._watch = Watch(pipeline.stage.topic, pipeline.stage.partitions)
        self._fill_at = 0.0
        self.acts: list[Act] = [self.kill, self.sleep, self.submit_again]

    def play(self) -> None:
        chance = random.Random(self._seed)
        self._pipeline.start(sessions.local())
        for act in chance.sample(self.acts, len(self.acts)):
            self._stage.fill(100)
            self.await_some()
            self._stage.fill(500)
            time.sleep(chance.uniform(0.0, 1.5))
            act()
            self.judge(act.__name__)

    def kill(self) -> None:
        """Python and JVM at once, and another driver."""
        self._pipeline.driver.kill()
        self._pipeline.driver.wait_ended()
        self._pipeline.start(sessions.local())

    def sleep(self) -> None:
        """Longer than the session: the group throws both slots out."""
        self._pipeline.driver.pause()
        time.sleep(1.5 * SESSION_S)
        self._pipeline.driver.resume()

    def submit_again(self) -> None:
        """Spark's jobs are cancelled, the pipeline is stopped, and another one started."""
        self._pipeline.driver.tell("cancel")

    def judge(self, after: str) -> None:
        with GroupAdmin(self._stage.bootstrap_servers) as admin:
            self._watch.look_at_offsets(admin, [self._stage.topic])
        assert not self._watch.violations, f"seed {self._seed}, after {after}: {self._watch.violations}"

    def await_some(self) -> None:
        """More is committed than last time, so that the pipeline runs."""
        before = sum(self._stage.committed().values())
        eventually(lambda: sum(self._stage.committed().values()) > before, "more is committed", PATIENCE_S)

    def await_all(self) -> None:
        """Records go on coming: an epoch that Parquet has, but whose commit was refused, is committed with the next one."""
        give_up_at = time.monotonic() + PATIENCE_S
        while sum(self._stage.committed().values()) < self._stage.produced:
            assert time.monotonic() < give_up_at, (
                f"seed {self._seed}: {self._stage.committed()} of {self._stage.produced}"
            )
            if time.monotonic() >= self._fill_at:
                self._stage.fill(self._stage.partitions)
                self._fill_at = time.monotonic() + PATIENCE_S / 10
            time.sleep(0.1)
        self.judge("everything")


def test_whatever_happens_to_a_pipeline_parquet_has_each_record_once(
    patient_kafka: KafkaCluster, tmp_path: Path, seed: int
) -> None:
    """Kill, stop for longer than the session, and cancelled jobs, each with epochs under way and a busy thread beside."""
    pipeline = StandingPipeline(patient_kafka, tmp_path, busy_epochs.PROGRAM)
    ClusterAdmin(patient_kafka.bootstrap_servers).set_group_config(
        pipeline.stage.topic, consumer_session_timeout_ms=int(1000 * SESSION_S)
    )
    troubled = TroubledPipeline(pipeline, seed)
    try:
        troubled.play()
        troubled.await_all()
        table = pyarrow.dataset.dataset(pipeline.path, format="parquet").to_table(columns=["value"])
    finally:
        pipeline.stop()
    assert numbers_of(table["value"].to_pylist()) == pipeline.stage.all_numbers
