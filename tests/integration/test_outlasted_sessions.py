"""Threads that are blocked for longer than a real session: heartbeats go on, and the coordinator keeps the member."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from membership_client import MemberState, aio
from tests.integration.members import Call, RecordingListener, assert_never_shared, log_about

if TYPE_CHECKING:
    from membership_client.testing import KafkaCluster
    from tests.integration.conftest import GroupFactory
    from tests.integration.members import Group

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

SESSION_MS = 6000
BLOCKED_S = 9.0


@pytest.fixture
def group(kafka: KafkaCluster, new_group: GroupFactory) -> Group:
    return new_group(kafka, consumer_session_timeout_ms=SESSION_MS)


def test_every_callback_may_outlast_the_session(kafka: KafkaCluster, group: Group) -> None:
    """An assigned callback, and the revoke of a close: the partitions move once, after the revoke has returned."""

    def block(_: Call) -> None:
        time.sleep(BLOCKED_S)

    leaving = group.join(listener=RecordingListener(assigned=block, revoked=block))
    leaving.wait_stable()
    assert [call.kind for call in leaving.calls] == ["assigned"]
    other = group.join()
    assert leaving.close(timeout_s=60).clean
    group.wait_for_shares([other], group.partitions(6))
    assert_never_shared([leaving, other])
    assert not leaving.listener.of("lost")
    assert "session expired" not in log_about(kafka, leaving.snapshot.member_id)()


def test_a_blocked_event_loop_may_outlast_the_session(group: Group) -> None:
    """The member keeps its place and its epoch, since heartbeats do not need the loop."""

    async def story() -> None:
        config = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id}
        async with aio.GroupMember(config) as member:
            member.subscribe([group.topic])
            before = await member.wait_until(MemberState.STABLE, 60)
            time.sleep(BLOCKED_S)  # noqa: ASYNC251 - the point of the test
            assert (member.snapshot.epoch, member.snapshot.owned) == (before.epoch, before.owned)
            assert await asyncio.to_thread(group.knows, before.member_id)

    asyncio.run(story())
