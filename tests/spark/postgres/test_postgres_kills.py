"""PostgresSink, with drivers that are killed at any moment, in processes of their own."""

from __future__ import annotations

import pytest

from tests.spark.postgres.server import PostgresServer
from tests.spark.versions.other_pyspark import POSTGRES

pytestmark = [pytest.mark.deep, pytest.mark.timeout(1800)]


@pytest.mark.kafka
def test_drivers_are_killed_while_records_arrive(postgres: PostgresServer) -> None:
    """No record is lost or there twice. More of them, and with `merge`: python -m tests.spark.kills."""
    ended = POSTGRES.run("-m", "tests.spark.kills", "--kills", "4", "--seed", "1", "--sink", "postgres")
    assert ended.returncode == 0, ended.stdout
