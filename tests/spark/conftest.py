"""Spark clusters, drivers and servers for the tests of the integration. Each starts when a test first asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pytest

from membership_client.testing import KafkaCluster
from tests.security.conftest import endpoint, secured  # noqa: F401 - fixtures
from tests.spark.clusters import class_archive, sessions
from tests.spark.clusters.driver_process import DriverProcess
from tests.spark.clusters.environment import environment
from tests.spark.clusters.jars import extra_jars
from tests.spark.clusters.logs import tail
from tests.spark.clusters.processes import is_running
from tests.spark.clusters.standalone import StandaloneCluster

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from pyspark.sql import SparkSession

    from tests.spark.clusters.sessions import SessionSettings

_STARTED = pytest.StashKey[list[DriverProcess]]()

PATIENT_LIMITS = {
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.max.session.timeout.ms": 600_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
}


@runtime_checkable
class _Logging(Protocol):
    """What a test has at hand that writes logs: a cluster, a server, a job with its drivers."""

    def logs(self) -> list[Path]: ...


class DriverFactory(Protocol):
    """Starts a driver that runs `program`; takes what DriverProcess takes."""

    def __call__(
        self, program: Path, settings: SessionSettings, task: Mapping[str, Any] | None = None
    ) -> DriverProcess: ...


@pytest.fixture(scope="session", autouse=True)
def _quick_jvms() -> Iterator[None]:
    """Whatever is started here inherits it: clusters, drivers, the demonstration."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in class_archive.options().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def patient_kafka() -> Iterator[KafkaCluster]:
    """Its groups may have sessions of any length: long ones for what must cost no rebalance, short ones for the contrary."""
    with KafkaCluster(settings=PATIENT_LIMITS) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session in this process, in local mode, for all tests that do not kill drivers. A task may be tried four times."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(tmp_path_factory.mktemp("spark")).items():
            if name in {"JAVA_HOME", "PYTHONPATH"} or "SPARK" in name:
                patch.setenv(name, value)
        settings = sessions.local({"spark.jars": extra_jars()})
        session = SparkSession.builder.master(settings.master).config(map=dict(settings.properties)).getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="session")
def standalone_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """Not for tests, which ask for `standalone`."""
    with StandaloneCluster(tmp_path_factory.mktemp("standalone")) as cluster:
        yield cluster
        everyone = cluster.pids()
    assert not [pid for pid in everyone if is_running(pid)], "a stopped cluster leaves nothing behind"


@pytest.fixture
def standalone(standalone_of_the_run: StandaloneCluster) -> Iterator[StandaloneCluster]:
    """Three Workers with one core each, shared by the whole run. What a test breaks is replaced when it has ended.

    An application takes all cores, so the tests of one file use one application.
    """
    yield standalone_of_the_run
    standalone_of_the_run.restore()


@pytest.fixture
def new_driver(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[DriverFactory]:
    """Starts drivers. None of them outlives the test, passed or failed."""
    started: list[DriverProcess] = request.node.stash.setdefault(_STARTED, [])

    def start(program: Path, settings: SessionSettings, task: Mapping[str, Any] | None = None) -> DriverProcess:
        started.append(DriverProcess(program, settings, tmp_path / f"driver-{len(started) + 1}", task))
        return started[-1]

    yield start
    for driver in started:
        driver.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attaches the ends of all logs that were written to while the test ran to the report of its failure."""
    report = yield
    if report.failed:
        for log in _logs_of(item):
            if log.stat().st_mtime >= report.start:
                report.sections.append((f"end of {'/'.join(log.parts[-4:])}", tail(log)))
    return report


def _logs_of(item: pytest.Item) -> list[Path]:
    arguments = getattr(item, "funcargs", {}).values()
    shared = [value for value in arguments if isinstance(value, _Logging)]
    return [log for source in (*shared, *item.stash.get(_STARTED, [])) for log in source.logs()]
