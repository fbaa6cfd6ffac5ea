"""Classic groups that change: from eager to cooperative, from dynamic to static members, to KIP-848, and back."""

from __future__ import annotations

import pytest

from membership_client import (
    LeaveMode,
)
from membership_client.admin import GroupAdmin
from membership_client.testing import KafkaCluster
from tests.integration.classic import CLASSIC, classic, wait_shared
from tests.integration.conftest import GroupFactory
from tests.integration.members import (
    Group,
    WatchedMember,
    assert_never_shared,
    eventually,
)

pytestmark = pytest.mark.kafka


def test_from_dynamic_to_static_and_back(group: Group) -> None:
    """By a rolling restart, each time; nothing is ever owned twice."""
    members = [group.join(**CLASSIC) for _ in range(2)]
    wait_shared(group, members)
    for names in (("a", "b"), (None, None)):
        for at, name in enumerate(names):
            members[at].close(LeaveMode.LEAVE)
            members[at] = group.join(name, **CLASSIC)
            wait_shared(group, members)
        with GroupAdmin(group.bootstrap_servers) as admin:
            known = {member.member_id: member.instance_id for member in admin.describe(group.id).members}
        assert known == {member.snapshot.member_id: name for member, name in zip(members, names, strict=True)}
    assert_never_shared(group.members)


def test_from_eager_to_cooperative(group: Group) -> None:
    """By two rolling restarts, as in Java: the first offers both strategies, the second only the new one."""
    members = [group.join(**classic("range")) for _ in range(2)]
    wait_shared(group, members)
    for strategies in (("cooperative-sticky", "range"), ("cooperative-sticky",)):
        for at in range(2):
            members[at].close()
            members[at] = group.join(**CLASSIC | {"partition_assignment_strategy": strategies})
            wait_shared(group, members)
    assert_never_shared(group.members)
    third = group.join(**classic("cooperative-sticky"))
    wait_shared(group, [*members, third])
    assert [len(member.listener.of("revoked")[-1].partitions) for member in members] == [1, 1]


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_moves_to_kip_848_and_back(new_group: GroupFactory, kafka: KafkaCluster, strategy: str) -> None:
    """By rolling restarts, with static and dynamic members mixed: nothing is owned twice, and in the end all is owned."""
    group = new_group(kafka)
    names: tuple[str | None, ...] = ("one", None, None)
    members = [group.join(name, **classic(strategy)) for name in names]
    wait_shared(group, members)
    for settings in ({"group_protocol": "consumer"}, classic(strategy)):
        for at, name in enumerate(names):
            members[at].close(LeaveMode.LEAVE)
            members[at] = group.join(name, **settings)
            eventually(lambda: _owned_once(group, members), "every partition owned once")
    assert_never_shared(group.members)


def _owned_once(group: Group, members: list[WatchedMember]) -> bool:
    return sorted(partition for member in members for partition in member.assignment()) == sorted(group.partitions(6))
