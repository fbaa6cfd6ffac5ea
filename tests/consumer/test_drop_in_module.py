"""Programs that import everything from confluent_kafka do the same once they import it from membership_client.confluent."""

from __future__ import annotations

from pathlib import Path

import pytest

from membership_client.testing import KafkaCluster
from tests.consumer.drop_in import Stand

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


@pytest.mark.parametrize("program", ["deserializing", "lookups", "manual_assignment", "stored_offsets"])
def test_a_program_whose_module_is_changed(program: str, kafka: KafkaCluster, tmp_path: Path) -> None:
    """It prints the same, and the same is committed."""
    stand = Stand(kafka.bootstrap_servers, tmp_path)
    topic = stand.topic()
    assert stand.run_module(program, topic) == stand.run_theirs(program, topic)
