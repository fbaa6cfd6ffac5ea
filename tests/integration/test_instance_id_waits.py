"""A second process with the same group.instance.id, which waits until the first one has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client import InstanceIdInUseError, MemberState

if TYPE_CHECKING:
    from collections.abc import Callable

    from membership_client.testing import KafkaCluster
    from tests.integration.conftest import GroupFactory
    from tests.integration.processes import MemberProcess

pytestmark = [pytest.mark.kafka, pytest.mark.deep]

SHORT_SESSION = {"consumer_session_timeout_ms": 3000}


def test_waiting_for_a_live_holder_ends_with_its_name(kafka: KafkaCluster, new_group: GroupFactory) -> None:
    """A holder that outlives the session timeout is alive: the newcomer says who it is, and the holder is undisturbed."""
    group = new_group(kafka, **SHORT_SESSION)
    holder = group.join("one", client_id="the-holder")
    holder.wait_stable()
    newcomer = group.join("one")
    with pytest.raises(InstanceIdInUseError, match="the-holder") as raised:
        newcomer.wait_stable()
    assert raised.value.holder is not None
    assert raised.value.holder.member_id == holder.snapshot.member_id
    assert holder.snapshot.state is MemberState.STABLE
    assert len(holder.calls) == 1


def test_waiting_for_a_dead_holder_ends_with_its_session(
    kafka: KafkaCluster, new_group: GroupFactory, new_process: Callable[..., MemberProcess]
) -> None:
    """After kill -9 a newcomer that waits gets in when the coordinator has given the dead one up."""
    group = new_group(kafka, **SHORT_SESSION)
    process = new_process(group, config={"group.instance.id": "one"})
    process.wait_owning()
    process.kill()
    newcomer = group.join("one")
    group.wait_for_shares([newcomer], group.partitions(6))
    assert newcomer.error is None
