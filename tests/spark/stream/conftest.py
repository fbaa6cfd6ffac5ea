"""A topic and a sink for each test of streams. Queries are stopped after it, passed or failed: they outlive their test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster
from tests.spark.pipeline.stage import Stage
from tests.spark.stream.queries import Batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def stage(kafka: KafkaCluster) -> Stage:
    return Stage(kafka.bootstrap_servers)


@pytest.fixture
def batches(tmp_path: Path) -> Batches:
    return Batches(tmp_path / "first")


@pytest.fixture(autouse=True)
def _no_query_goes_on(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "spark" in request.fixturenames:
        spark: SparkSession = request.getfixturevalue("spark")
        for query in spark.streams.active:
            query.stop()
