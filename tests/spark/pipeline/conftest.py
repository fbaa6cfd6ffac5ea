"""One Spark session in the test's own process, for all tests of the pipeline that do not kill drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.clusters import sessions
from tests.spark.clusters.connect_server import ConnectServer
from tests.spark.clusters.environment import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """In local mode, where a task may be tried four times."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(tmp_path_factory.mktemp("spark")).items():
            if name in {"JAVA_HOME", "PYTHONPATH"} or "SPARK" in name:
                patch.setenv(name, value)
        settings = sessions.local()
        session = SparkSession.builder.master(settings.master).config(map=dict(settings.properties)).getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="session")
def local_connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A Connect server without a cluster."""
    with ConnectServer(sessions.local(), tmp_path_factory.mktemp("connect")) as server:
        yield server
