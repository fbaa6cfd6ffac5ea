"""The session of tests that run inside of another pyspark, which has the jars of a table format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.spark.clusters.environment import environment
from tests.spark.versions.inside.with_tables import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session in this process, which runs in a directory of its own: there is the warehouse."""
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(home).items():
            if name in {"JAVA_HOME", "PYTHONPATH"} or "SPARK" in name:
                patch.setenv(name, value)
        patch.chdir(home)
        given = settings()
        session = SparkSession.builder.master(given.master).config(map=dict(given.properties)).getOrCreate()
        yield session
        session.stop()
