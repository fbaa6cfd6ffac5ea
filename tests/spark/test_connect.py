"""Everything from clients of Spark Connect, whose server has a cluster of three hosts: there is no JVM to touch."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from membership_client import ConfigError
from membership_client.testing import KafkaCluster
from membership_client_spark import ParquetSink, SparkSettingsError
from membership_client_spark.pipeline.interface import PipelineRun
from tests.diagnose.test_page import incident
from tests.diagnose.traces import sections_of, written
from tests.docs.test_docs import code_blocks
from tests.integration.members import eventually
from tests.integration.speaking import SpeakingProcess
from tests.spark.clusters import sessions
from tests.spark.clusters.connect_server import ConnectServer
from tests.spark.clusters.environment import environment
from tests.spark.clusters.processes import send
from tests.spark.clusters.standalone import StandaloneCluster
from tests.spark.consume.fleet import Fleet
from tests.spark.consume.scenes import assert_only_moved, handler_raises, remove_who_cannot_leave
from tests.spark.pipeline.parquet_driver import FEW, PROGRAM
from tests.spark.pipeline.stage import PATIENCE_S, Collecting, Stage, numbers_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400), pytest.mark.deep]

_QUICK = {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"}
"""So little data does not repay code that is made for it."""


@pytest.fixture(scope="module")
def server(
    standalone_of_the_run: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConnectServer]:
    settings = sessions.standalone(standalone_of_the_run, _QUICK)
    with ConnectServer(settings, tmp_path_factory.mktemp("connect")) as started:
        yield started


@pytest.fixture(scope="module")
def fleet(
    patient_kafka: KafkaCluster, server: ConnectServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """One job for all tests of consume(); the last of them stops it."""
    with Fleet(patient_kafka, tmp_path_factory.mktemp("fleet"), sessions.connected(server)) as made:
        yield made


@pytest.fixture
def remote(server: ConnectServer) -> Iterator[SparkSession]:
    """Typed as its classic twin, which it can stand in for."""
    session: Any = server.session()
    yield session
    session.stop()


# --- consume() -------------------------------------------------------------------------------------------------------


def test_slots_of_a_connect_client_survive_their_workers(fleet: Fleet) -> None:
    """The client is the driver in our sense: it has the leases, hears the slots, and starts them again."""
    before, epoch = fleet.running(), fleet.epoch()
    send(before[0]["pid"], signal.SIGKILL)
    assert_only_moved(0, fleet, before, epoch)


def test_a_slot_that_hangs_is_cancelled_and_removed(fleet: Fleet) -> None:
    """The client has its server end the job, and with it the worker."""
    remove_who_cannot_leave(fleet, is_hung=True)


def test_a_handler_that_raises_ends_the_job_with_its_error_and_loses_nothing(fleet: Fleet) -> None:
    """The server words this error differently."""
    handler_raises(fleet)


def test_stopping_leaves_temporarily(fleet: Fleet) -> None:
    """The group stays as it is."""
    fleet.running()
    epoch = fleet.epoch()
    fleet.driver.end_input()
    fleet.driver.wait_for("stopped")
    assert fleet.epoch() == epoch


# --- epochs() --------------------------------------------------------------------------------------------------------


def test_sparks_own_source_is_refused_where_it_is_not_or_would_show_a_secret(
    kafka: KafkaCluster, remote: SparkSession
) -> None:
    """The server is asked for it; `auto` then takes Python."""
    stage = Stage(kafka.bootstrap_servers)
    with pytest.raises(SparkSettingsError, match="The session has no Kafka source"):
        stage.run(remote, Collecting(), reader="spark")
    login = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "a"}
    with pytest.raises(ConfigError, match="shown in the server's UI"):
        stage.run(remote, Collecting(), stage.config() | login | {"sasl.password": "b"}, reader="spark")
    stage.fill(10)
    seen = Collecting()
    stage.read_all(remote, seen, reader="auto")
    assert seen.numbers == stage.all_numbers


def test_epochs_and_sink(kafka: KafkaCluster, remote: SparkSession, tmp_path: Path) -> None:
    """Members live in the client; rows are read, counted and published as ever."""
    stage, seen = Stage(kafka.bootstrap_servers), Collecting()
    stage.fill(60)
    stage.read_all(remote, ParquetSink(tmp_path), max_records=40)
    rows = remote.read.parquet(str(tmp_path)).select("value").collect()
    assert numbers_of(row.value for row in rows) == stage.all_numbers
    stage.fill(20)
    stage.read_all(remote, seen)
    assert (seen.ids, sorted(seen.numbers)) == ([3], list(range(60, 80)))


def test_there_is_no_way_to_hdfs(remote: SparkSession) -> None:
    """Which is said before anything is read."""
    with pytest.raises(SparkSettingsError, match="over Spark Connect there is no way to hdfs"):
        ParquetSink("hdfs://name-node/orders").resume(PipelineRun(remote, "g", lambda: None))


def test_clients_are_killed(
    patient_kafka: KafkaCluster, server: ConnectServer, remote: SparkSession, tmp_path: Path
) -> None:
    """The server may still work for the dead one when the next has started; the group notices none of it."""
    stage = Stage(patient_kafka.bootstrap_servers)
    stage.be_patient()
    stage.fill(400)
    task = {"remote": server.url, "config": stage.config(), "topic": stage.topic, "path": str(tmp_path)}
    chance = random.Random(1)
    group_epochs = {_kill_a_client(task, epochs, chance.random(), stage) for epochs in (1, 2)}
    with _ended(SpeakingProcess(PROGRAM, {**task, "max_records": 200})) as client:
        assert client.wait_ended(PATIENCE_S) == 0
    assert stage.numbers_in(remote, tmp_path) == stage.all_numbers
    assert sum(stage.committed().values()) == 400
    assert len(group_epochs | {stage.group_epoch()}) == 1


def _kill_a_client(task: dict[str, Any], epochs: int, after_s: float, stage: Stage) -> int:
    """Kills a client `after_s` after it began its `epochs`th epoch; returns the group's epoch at that time."""
    with _ended(SpeakingProcess(PROGRAM, {**task, "max_records": FEW})) as client:
        eventually(lambda: len(client.said) >= epochs, f"the client has begun {epochs} epochs", PATIENCE_S)
        group_epoch = stage.group_epoch()
        time.sleep(after_s)
        client.signal(signal.SIGKILL)
        client.wait_ended(PATIENCE_S)
        assert {"kind": "done"} not in client.said
    return group_epoch


@contextlib.contextmanager
def _ended(process: SpeakingProcess) -> Iterator[SpeakingProcess]:
    try:
        yield process
    finally:
        process.stop()


# --- audit() ---------------------------------------------------------------------------------------------------------


def test_the_program_of_the_audits_page(server: ConnectServer, tmp_path: Path) -> None:
    """The program of docs/audit.md, on the incident of docs/debugging.md."""
    traces, output = tmp_path / "traces", tmp_path / "out"
    traces.mkdir()
    written(sections_of(incident()), traces)
    (block,) = code_blocks("docs/audit.md")
    program = block.replace('"traces"', repr(str(traces))).replace('"audit"', repr(str(output)))
    command, env = [sys.executable, "-c", program], environment(tmp_path) | {"SPARK_REMOTE": server.url}
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    assert "members=3, partitions=6, rebalances=5, double_owners=2, gaps=7" in run.stdout
    assert "till-b was fenced" in (output / "index.html").read_text()
