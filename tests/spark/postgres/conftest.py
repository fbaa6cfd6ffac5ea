"""The database of the tests in this directory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.postgres.server import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One for all tests, which take tables of names of their own."""
    with PostgresServer() as server:
        yield server
