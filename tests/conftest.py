"""Brokers for the whole test suite, and what single tests need beside them. A missing one is a failure, never a skip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from membership_client.testing import KafkaCluster
from membership_client.testing.jars import OLD_KAFKA_VERSION
from tests.mock_cluster import MockCluster
from tests.needs import need, show_progress_of
from tests.summaries import add_summary, summaries
from tests.tiers import tier_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

_LOG_TAIL_LINES = 20
_STARTED = pytest.StashKey[list[KafkaCluster]]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """The tier, and what single directories of tests take; the groups have their names."""
    show_progress_of(pluginmanager)
    parser.addoption("--tier", choices=("quick", "deep"), help="only test files of this tier; without it, of both")
    group = parser.getgroup("simulation")
    group.addoption("--seed", type=int, help="play this seed and no other")
    group.addoption("--seeds", type=int, default=2000, help="how many seeds to play, in both tiers together")
    group.addoption("--update-transcripts", action="store_true", help="write the transcripts instead of comparing them")
    group.addoption("--mutations", type=int, default=20_000, help="how many hostile answers to give to members")
    group = parser.getgroup("conformance")
    group.addoption("--script", type=int, help="play this script on the fake and on a broker, and no other")
    group.addoption("--scripts", type=int, default=30, help="how many random scripts to play on both")
    group = parser.getgroup("brokers")
    group.addoption("--old-kafka", default=OLD_KAFKA_VERSION, help="the version of the old broker")
    group.addoption("--kafka", help="the version of the broker in tests/versions, or all of the table")
    group = parser.getgroup("peers")
    group.addoption("--orders", default="4", help="how many orders of joining to play per assignor, or all")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of the other tier are not even imported."""
    tier = config.getoption("tier")
    if tier is None or not collection_path.match("test_*.py"):
        return None
    return tier_of(collection_path) != tier or None


def pytest_collection_finish(session: pytest.Session) -> None:
    """What the chosen tests need is brought before the first of them: a download is no part of a test's time."""
    old_kafka = f"kafka-{session.config.getoption('--old-kafka')}"
    by_fixture = {
        "chromium": "browser",
        "delta_spark": "delta",
        "iceberg_spark": "iceberg",
        "old_kafka_version": old_kafka,
        "postgres": "postgres",
        "promtool": "prometheus",
    }
    fixtures = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    if any(item.get_closest_marker("kafka") for item in session.items):
        need("kafka")
    for fixture in sorted(by_fixture.keys() & fixtures):
        need(by_fixture[fixture])
    if "spark" in fixtures:
        need("avro")
        need("connector")
    versions = {item.callspec.params.get("kafka_version") for item in session.items if hasattr(item, "callspec")}
    for version in sorted(versions - {None}):
        need(f"kafka-{version}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process that runs a part of the tests hands over what it has to say."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["summaries"] = summaries(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for told in getattr(node, "workeroutput", {}).get("summaries", ()):
        add_summary(node.config, told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in summaries(config):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaCluster]:
    """One broker shared by the whole run: tests pick topic and group names of their own."""
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_cluster() -> Iterator[KafkaCluster]:
    """Three brokers shared by the whole run. A test that stops one starts it again."""
    with KafkaCluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def old_kafka_version(pytestconfig: pytest.Config) -> str:
    """A version from before KIP-848, whose jars are there."""
    version: str = pytestconfig.getoption("--old-kafka")
    return version


@pytest.fixture
def kafka_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., KafkaCluster]]:
    """Starts clusters for one test: `kafka_factory(brokers=1, settings={...})`; they end with it, passed or failed."""
    started = request.node.stash.setdefault(_STARTED, [])

    def start(brokers: int = 1, settings: Mapping[str, str | int] | None = None) -> KafkaCluster:
        cluster = KafkaCluster(brokers, settings)
        started.append(cluster)
        cluster.start()
        return cluster

    yield start
    for cluster in started:
        cluster.stop()


@pytest.fixture
def mock_cluster() -> Iterator[MockCluster]:
    """The mock cluster of librdkafka, fresh for one test."""
    with MockCluster() as cluster:
        yield cluster


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attaches the end of each broker's log to the report of a failed test."""
    report = yield
    if report.failed:
        for cluster in _clusters_of(item):
            for broker in cluster.brokers:
                tail = "\n".join(cluster.log(broker).splitlines()[-_LOG_TAIL_LINES:])
                report.sections.append((f"end of the log of broker {broker}", tail))
    return report


def _clusters_of(item: pytest.Item) -> list[KafkaCluster]:
    arguments = getattr(item, "funcargs", {}).values()
    return [value for value in arguments if isinstance(value, KafkaCluster)] + item.stash.get(_STARTED, [])
