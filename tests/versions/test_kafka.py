"""The table of docs/versions.md, cell by cell, on real brokers.

`--kafka 4.1.2` tries one version, and `--kafka all` each of the table. Without it the deep tier tries the oldest and the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from membership_client.testing import KafkaCluster
from membership_client.testing.jars import KAFKA_VERSION, OLD_KAFKA_VERSION
from tests.integration.members import Group
from tests.versions.features import FEATURES

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

PAGE = Path(__file__).parents[2] / "docs" / "versions.md"


def table() -> dict[str, dict[str, bool]]:
    """By version and feature."""
    (block,) = re.findall(r"^\| Kafka \|.*\n(?:\|.*\n)+", PAGE.read_text(), re.MULTILINE)
    heading, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
    return {
        version: {feature: cells[column] == "yes" for feature, *cells in rows}
        for column, version in enumerate(heading[1:])
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each version has a broker, which all features share."""
    if "kafka_version" in metafunc.fixturenames:
        asked = metafunc.config.getoption("--kafka")
        by_default = [OLD_KAFKA_VERSION, KAFKA_VERSION]
        versions = list(table()) if asked == "all" else [asked] if asked else by_default
        metafunc.parametrize("kafka_version", versions, scope="module")


@pytest.fixture(scope="module")
def cluster(kafka_version: str) -> Iterator[KafkaCluster]:
    with KafkaCluster(version=kafka_version) as started:
        assert f"Kafka version: {kafka_version} " in started.log()
        yield started


@pytest.fixture
def group(cluster: KafkaCluster, kafka_version: str) -> Iterator[Group]:
    """Its topic has six partitions."""
    made = Group(cluster.bootstrap_servers, "versions")
    made.admin.create_topic(made.topic, 6)
    if table()[kafka_version]["`membership-client groups config`: settings of a group"]:
        made.admin.set_group_config(made.id, consumer_heartbeat_interval_ms=200)
    yield made
    made.close()


@pytest.mark.parametrize("feature", FEATURES)
def test_the_table_is_right(feature: str, cluster: KafkaCluster, group: Group, kafka_version: str) -> None:
    """What the table says works, works; and what it says does not, does not."""
    assert FEATURES[feature](group, cluster) == table()[kafka_version][feature]


def test_the_table_has_every_feature() -> None:
    """And no other."""
    assert {feature for column in table().values() for feature in column} == set(FEATURES)
