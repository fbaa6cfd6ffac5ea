"""A close during a revoke callback that takes longer than the close: the callback's commit counts."""

from __future__ import annotations

import asyncio
import time

import confluent_kafka
import pytest

from membership_client import CallbackContext, CloseReport, Consumer, GroupMember, MemberState, TopicPartition, aio
from membership_client.runtime.listener import RebalanceListener
from tests.consumer.helpers import Places, World
from tests.integration.members import PATIENCE_S

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

_SLOW_S = 11.0
"""Longer than the 10 s that a close() waits for the coordinator."""


def outcomes(report: CloseReport) -> list[str]:
    return [step.outcome for step in report.steps]


@pytest.mark.parametrize(("protocol", "timeout_s", "slow_s"), [("consumer", None, _SLOW_S), ("classic", 0.5, 2.0)])
def test_a_consumer_commits_in_a_callback_that_outlasts_its_close(
    world: World, protocol: str, timeout_s: float | None, slow_s: float
) -> None:
    """And the coordinator is told afterwards: the bug was that both failed, and close() took the whole time anyway."""

    def finish(consumer: Consumer, places: Places) -> None:
        time.sleep(slow_s)
        consumer.commit(offsets=[world.place(place.partition, 7) for place in places], asynchronous=False)

    reader = world.owner({"group.protocol": protocol}, revoke=finish)
    report = reader.consumer.close() if timeout_s is None else reader.consumer.close(timeout_s=timeout_s)
    assert report.clean, report
    assert "confirmed, with its reason" in outcomes(report)
    assert world.committed() == dict.fromkeys(range(world.partitions), 7)


def test_the_group_grants_a_callback_no_more_than_the_poll_interval(world: World) -> None:
    """Then the membership ends under it, its commit is refused, and the report says so."""
    refused: list[BaseException] = []

    def finish(consumer: Consumer, places: Places) -> None:
        time.sleep(4.0)
        try:
            consumer.commit(offsets=[world.place(place.partition, 7) for place in places], asynchronous=False)
        except (confluent_kafka.KafkaException, RuntimeError) as error:
            refused.append(error)

    reader = world.owner({"max.poll.interval.ms": 1000}, revoke=finish)
    report = reader.consumer.close(timeout_s=0.5)
    assert refused
    assert "not told: the revoked callback still runs" in outcomes(report)


class CommitsSlowly(RebalanceListener):
    """Given its member after that was made with it."""

    member: GroupMember

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...], context: CallbackContext) -> None:
        time.sleep(_SLOW_S)
        self.member.commit(dict.fromkeys(partitions, 7))


def test_a_member_without_a_timeout_waits_for_its_callback(world: World) -> None:
    """Its callbacks have a thread of their own, and close() returns when that has committed."""
    listener = CommitsSlowly()
    member = GroupMember({"bootstrap.servers": world.bootstrap_servers, "group.id": world.group.id}, listener=listener)
    listener.member = member
    member.subscribe([world.topic])
    member.wait_until(lambda now: now.state is MemberState.STABLE and len(now.owned) == world.partitions, PATIENCE_S)
    report = member.close()
    assert report.clean, report
    assert world.committed() == dict.fromkeys(range(world.partitions), 7)
    assert world.group.describe().members == ()


def test_a_consumer_for_asyncio_commits_in_a_callback_that_outlasts_its_close(world: World) -> None:
    """As the Consumer; the callback is not cancelled before the group stops waiting."""

    async def finish(consumer: aio.Consumer, places: Places) -> None:
        await asyncio.sleep(_SLOW_S)
        await consumer.commit(offsets=[world.place(place.partition, 7) for place in places])

    async def story() -> CloseReport:
        consumer = aio.Consumer(world.config())
        consumer.subscribe([world.topic], on_revoke=finish)
        while len(consumer.snapshot.owned) < world.partitions:
            await consumer.getone(timeout_s=0.1)
        return await consumer.close()

    report = asyncio.run(asyncio.wait_for(story(), 2 * PATIENCE_S))
    assert report.clean, report
    assert world.committed() == dict.fromkeys(range(world.partitions), 7)
    assert world.group.describe().members == ()
