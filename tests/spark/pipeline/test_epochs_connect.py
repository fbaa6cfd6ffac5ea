"""The same pipeline through Spark Connect, where the driver's JVM is somebody else's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from membership_client.testing import KafkaCluster
from membership_client_spark import SparkSettingsError
from membership_client_spark.parquet.sink import ParquetSink
from membership_client_spark.pipeline.resuming import PipelineRun
from tests.spark.pipeline.stage import Collecting, Stage, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.spark.clusters.connect_server import ConnectServer


@pytest.fixture
def remote(local_connect: ConnectServer) -> Iterator[SparkSession]:
    """Typed as its classic twin, which it can stand in for."""
    session: Any = local_connect.session()
    yield session
    session.stop()


@pytest.mark.kafka
@pytest.mark.slow
def test_epochs_and_sink_work_over_connect(kafka: KafkaCluster, remote: SparkSession, tmp_path: Path) -> None:
    """Members live in the client; rows are read, counted and published as ever."""
    stage, seen = Stage(kafka.bootstrap_servers), Collecting()
    stage.fill(60)
    stage.read_all(remote, ParquetSink(tmp_path), max_records=40)
    rows = remote.read.parquet(str(tmp_path)).select("value").collect()
    assert numbers_of(row.value for row in rows) == stage.all_numbers
    stage.fill(20)
    stage.read_all(remote, seen)
    assert (seen.ids, sorted(seen.numbers)) == ([3], list(range(60, 80)))


def test_over_connect_there_is_no_way_to_hdfs(remote: SparkSession) -> None:
    """Which is said before anything is read."""
    with pytest.raises(SparkSettingsError, match="over Spark Connect there is no way to hdfs"):
        ParquetSink("hdfs://name-node/orders").resume(PipelineRun(remote, "g", lambda: None))
