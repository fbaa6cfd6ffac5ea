"""`group.protocol=auto` on a real broker: which protocol it takes, what it says about it, and groups that cannot be upgraded."""

from __future__ import annotations

import functools
import logging

import confluent_kafka
import pytest

from membership_client import GroupProtocol
from tests.consumer.helpers import World
from tests.integration.members import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.deep]


def said(caplog: pytest.LogCaptureFixture, level: int) -> str:
    return "\n".join(record.getMessage() for record in caplog.records if record.levelno == level)


def test_a_classic_group_that_cannot_be_upgraded(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The bug: FATAL beside cooperative-sticky members of confluent-kafka, whose data of their own brokers cannot upgrade."""
    caplog.set_level(logging.INFO, logger="membership_client")
    config = {**world.config(), "partition.assignment.strategy": "cooperative-sticky", "group.protocol": "classic"}
    theirs = [confluent_kafka.Consumer(config) for _ in range(2)]

    def shares() -> list[int]:
        return [(peer.poll(0.02), len(peer.assignment()))[1] for peer in theirs]

    for peer, expected in zip(
        theirs, ([0, 4], [2, 2]), strict=True
    ):  # One by one: they have such data from the second join on.
        peer.subscribe([world.topic])
        eventually(functools.partial(lambda wanted: sorted(shares()) == wanted, expected), "a group of theirs")
    ours = world.join()
    eventually(lambda: (ours.poll(0.02), sorted([*shares(), len(ours.owned)]) == [1, 1, 2])[1], "three that share")
    assert ours.consumer.snapshot.protocol is GroupProtocol.CLASSIC
    told = said(caplog, logging.WARNING)
    assert "takes the classic protocol" in told
    assert "custom assignor" in told  # The broker's own words.
    assert "To migrate" in told
    for peer in theirs:
        peer.close()


def test_keys_of_the_classic_protocol_are_named(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The bug: KIP-848 was taken without a word, and a session timeout that was given had no effect."""
    caplog.set_level(logging.INFO, logger="membership_client")
    reader = world.join({"session.timeout.ms": 30000})
    eventually(lambda: (reader.poll(), len(reader.owned) == 4)[1], "all partitions")
    assert "takes KIP-848" in said(caplog, logging.INFO)
    told = said(caplog, logging.WARNING)
    assert "session.timeout.ms has no effect" in told
    assert "consumer.session.timeout.ms" in told
    assert "heartbeat.interval.ms has no effect" not in told
