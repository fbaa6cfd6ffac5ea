"""One Spark session in the test's own process, for all tests of the pipeline that do not kill drivers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

from tests.spark.clusters import sessions
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


@pytest.fixture(autouse=True)
def _quiet_pandas() -> Iterator[None]:
    """Pyspark warns about every pandas it does not know yet."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        yield
