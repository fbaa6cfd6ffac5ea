"""A Connect server without a cluster, for the tests of the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.clusters import sessions
from tests.spark.clusters.connect_server import ConnectServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def local_connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A Connect server without a cluster."""
    with ConnectServer(sessions.local(), tmp_path_factory.mktemp("connect")) as server:
        yield server
