"""The pytest plugin: fixtures `embedded_kafka`, `kafka_group` and `virtual_group`.

A package of its own, because pytest imports plugins at every start: it must not import `membership_client`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from membership_client.testing import EmbeddedKafka, KafkaGroup, VirtualGroup

_QUICK = {"group.consumer.heartbeat.interval.ms": 100, "group.consumer.assignment.interval.ms": 0}
"""So that a rebalance takes a fraction of a second: members learn of it with their next heartbeat."""


@pytest.fixture
def embedded_kafka() -> Iterator[EmbeddedKafka]:
    """A Kafka broker in this process, without topics, fresh for each test; its groups rebalance quickly."""
    from membership_client.testing import EmbeddedKafka  # noqa: PLC0415 - see above

    with EmbeddedKafka(settings=_QUICK) as kafka:
        yield kafka


@pytest.fixture
def kafka_group(embedded_kafka: EmbeddedKafka) -> Iterator[KafkaGroup]:
    """A group on `embedded_kafka` with the topic `orders` of four partitions, to play with: see `KafkaGroup`."""
    from membership_client.testing import KafkaGroup  # noqa: PLC0415 - see above

    with KafkaGroup(embedded_kafka) as group:
        yield group


@pytest.fixture
def virtual_group() -> Iterator[VirtualGroup]:
    """A group in virtual time, without a broker, with the topic `orders` of four partitions: see `VirtualGroup`."""
    from membership_client.testing import VirtualGroup  # noqa: PLC0415 - see above

    with VirtualGroup() as group:
        yield group
