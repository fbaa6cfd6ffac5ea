"""The size of records, estimated from a sample."""

from __future__ import annotations

import threading

import pytest

from membership_client.testing import KafkaCluster
from membership_client.testing.wire import parse_addresses
from membership_client_spark.pipeline.planning import SizeSampler
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.pipeline.settings import settings_of
from tests.integration.proxy import Proxy
from tests.spark.pipeline.stage import Stage

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def test_a_broker_that_is_slow_at_first_is_waited_for(kafka: KafkaCluster) -> None:
    """It once had a second, in which some connections are not even made; an epoch then was planned without a size."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    stage.fill(10)
    (broker,) = parse_addresses(kafka.bootstrap_servers)
    with Proxy(broker) as proxy:
        proxy.stall()
        opening = threading.Timer(2.0, proxy.resume)
        opening.start()
        sampler = SizeSampler(settings_of(stage.config(bootstrap_servers=proxy.address)).readers)
        try:
            assert sampler.average([OffsetRange(stage.topic, 0, 0, 10)]) == Stage.RECORD_BYTES
        finally:
            sampler.close()
            opening.join()


def test_the_end_of_a_partition_is_an_answer(kafka: KafkaCluster) -> None:
    """Where no record is left to be seen, as after transactions that were aborted, there is nothing to wait for."""
    stage = Stage(kafka.bootstrap_servers, partitions=1)
    sampler = SizeSampler(settings_of(stage.config()).readers)
    try:
        assert sampler.average([OffsetRange(stage.topic, 0, 0, 10)]) is None
    finally:
        sampler.close()
