"""An administrator without rights gets errors that name the missing rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from membership_client import GroupAuthorizationError, GroupMember, TopicPartition
from membership_client.admin import (
    AdminError,
    Earliest,
    GroupAdmin,
    InvalidGroupError,
    Latest,
    NotAuthorizedError,
    OffsetsNotChangedError,
)
from membership_client.admin.errors import GroupNotEmptyError, UnsupportedByBrokerError, refusal
from membership_client.errors import GroupNotFoundError, MembershipError
from membership_client.testing import ClusterAdmin, KafkaCluster
from tests.integration.members import PATIENCE_S, eventually

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


PUBLIC, SHOWN, SECRET = "public", "shown", "secret"
"""Topics, with whatever right there is, to be looked at only, and without any."""
OPEN, BARRED, EMPTY, SEALED = "open", "barred", "empty", "sealed"
"""Groups: with all rights; to be looked at only, with a member and without one; and without any rights."""
RIGHTS = [
    (ResourceType.TOPIC, SHOWN, AclOperation.DESCRIBE, AclPermissionType.ALLOW),
    (ResourceType.TOPIC, SECRET, AclOperation.ALL, AclPermissionType.DENY),
    (ResourceType.GROUP, BARRED, AclOperation.DESCRIBE, AclPermissionType.ALLOW),
    (ResourceType.GROUP, EMPTY, AclOperation.DESCRIBE, AclPermissionType.ALLOW),
    (ResourceType.GROUP, SEALED, AclOperation.ALL, AclPermissionType.DENY),
    # Whoever may look at the cluster sees all groups; the rest is what its own brokers need.
    (ResourceType.BROKER, "kafka-cluster", AclOperation.CLUSTER_ACTION, AclPermissionType.ALLOW),
]


@pytest.fixture(scope="module")
def denying() -> Iterator[GroupAdmin]:
    """An administrator who has only these rights left."""
    with KafkaCluster(settings=SETTINGS) as cluster, GroupAdmin(cluster.bootstrap_servers) as admin:
        _found_groups(cluster.bootstrap_servers, admin)
        client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        for future in client.create_acls([_binding(*right) for right in RIGHTS]).values():
            future.result(30)
        eventually(lambda: is_denied(lambda: admin.describe(SEALED)), "ACLs in force")
        yield admin


def _found_groups(servers: str, admin: GroupAdmin) -> None:
    """Finds coordinators while everything is still allowed."""
    for topic in (PUBLIC, SHOWN, SECRET):
        ClusterAdmin(servers).create_topic(topic, 1)
    for group in (OPEN, EMPTY, SEALED):
        admin.reset(admin.plan_reset(group, Earliest(), topics=[PUBLIC, SHOWN, SECRET]))
    with GroupMember({"bootstrap.servers": servers, "group.id": BARRED, "group.instance.id": "till-1"}) as member:
        member.subscribe([PUBLIC])
        member.wait_until(lambda now: len(now.owned) == 1, PATIENCE_S)


def _binding(kind: ResourceType, name: str, operation: AclOperation, permission: AclPermissionType) -> AclBinding:
    return AclBinding(kind, name, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation, permission)


def places(*topics: str) -> list[TopicPartition]:
    return [TopicPartition(topic, 0) for topic in topics]


@pytest.mark.kafka
@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(lambda admin: admin.describe(SEALED), id="describe"),
        pytest.param(lambda admin: admin.waiting_for(SEALED), id="waiting"),
        pytest.param(lambda admin: admin.committed(SEALED, places(PUBLIC)), id="committed"),
        pytest.param(lambda admin: admin.committed(OPEN, places(PUBLIC, SECRET)), id="committed of a topic"),
        pytest.param(lambda admin: admin.settings(SEALED), id="settings"),
        pytest.param(lambda admin: admin.change_settings(BARRED, {"consumer.session.timeout.ms": 50_000}), id="change"),
        pytest.param(lambda admin: admin.remove(BARRED, ["till-1"], watch_s=1), id="remove"),
        pytest.param(lambda admin: admin.reset(admin.plan_reset(EMPTY, Latest(), topics=[PUBLIC])), id="reset"),
        pytest.param(
            lambda admin: admin.reset(admin.plan_reset(OPEN, Latest(), topics=[SHOWN])), id="reset of a topic"
        ),
        pytest.param(lambda admin: admin.plan_reset(OPEN, Latest(), topics=[PUBLIC, SECRET]), id="plan of a topic"),
        pytest.param(
            lambda admin: admin.plan_reset(OPEN, Latest(), partitions=places(SECRET)), id="plan of a partition"
        ),
        pytest.param(lambda admin: admin.forget_offsets(EMPTY, places(PUBLIC)), id="forget"),
        pytest.param(lambda admin: admin.forget_offsets(OPEN, places(SHOWN)), id="forget of a topic"),
    ],
)
def test_what_is_denied_is_a_typed_error(denying: GroupAdmin, attempt: Callable[[GroupAdmin], object]) -> None:
    """A denied topic was once reported as missing, and its offset as never committed."""
    assert is_denied(lambda: attempt(denying))


@pytest.mark.kafka
def test_what_is_denied_in_part_is_said_part_by_part(denying: GroupAdmin) -> None:
    """The error names the offsets that were changed."""
    plan = denying.plan_reset(OPEN, Earliest(), topics=[PUBLIC, SHOWN])
    with pytest.raises(OffsetsNotChangedError, match="shown-0: TOPIC_AUTHORIZATION_FAILED") as refused:
        denying.reset(plan)
    assert refused.value.changed == {TopicPartition(PUBLIC, 0): 0}


@pytest.mark.kafka
def test_groups_that_may_be_seen_are_listed(denying: GroupAdmin) -> None:
    """Other groups are not in the list."""
    assert [group.group_id for group in denying.list()] == sorted([OPEN, BARRED, EMPTY])


def is_denied(attempt: Callable[[], object]) -> bool:
    """Whether the request is refused; False while it is not denied yet."""
    try:
        attempt()
    except NotAuthorizedError as refused:
        return "Access is denied" in str(refused)
    return False


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (30, GroupAuthorizationError),
        (29, NotAuthorizedError),
        (31, NotAuthorizedError),
        (69, GroupNotFoundError),
        (24, InvalidGroupError),
        (35, UnsupportedByBrokerError),
        (68, GroupNotEmptyError),
        (-1, AdminError),
        (999, AdminError),
    ],
)
def test_every_refusal_has_its_type(code: int, kind: type[MembershipError]) -> None:
    """The error has the group, the request, and the broker's text if there is one."""
    error = refusal(code, "its words", "shop", "be described")
    assert isinstance(error, kind)
    assert "shop" in str(error)
