"""IcebergSink, on the newest pyspark that Iceberg is published for, in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.postgres.server import PostgresServer
from tests.spark.versions.other_pyspark import ICEBERG, OtherPyspark

pytestmark = [pytest.mark.deep, pytest.mark.timeout(1800)]

INSIDE = Path(__file__).with_name("inside")


@pytest.fixture
def iceberg_spark() -> OtherPyspark:
    return ICEBERG


def test_the_sink_by_itself(iceberg_spark: OtherPyspark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests of inside/iceberg_sink.py pass there, with a catalog in PostgreSQL."""
    with PostgresServer() as server:
        monkeypatch.setenv("SPARK_TEST_DATABASE", server.whole_url)
        monkeypatch.setenv("SPARK_TEST_WAREHOUSE", str(tmp_path))
        # This pyspark leaves the sockets of collect() to the garbage collector.
        options = ("-p", "no:cacheprovider", "-o", "timeout=600", "-W", "ignore:unclosed:ResourceWarning")
        ended = iceberg_spark.run("-m", "pytest", *options, str(INSIDE / "iceberg_sink.py"))
    assert ended.returncode == 0, ended.stdout


@pytest.mark.kafka
def test_drivers_are_killed_while_records_arrive(iceberg_spark: OtherPyspark) -> None:
    """No record is lost or there twice. More of them, and with `merge`: python -m tests.spark.kills."""
    ended = iceberg_spark.run("-m", "tests.spark.kills", "--kills", "4", "--seed", "1", "--sink", "iceberg")
    assert ended.returncode == 0, ended.stdout
