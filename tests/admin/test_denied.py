"""An administrator without rights is told which ones are missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from membership_client import GroupAuthorizationError
from membership_client.admin import AdminError, GroupAdmin, InvalidGroupError, NotAuthorizedError
from membership_client.admin.errors import GroupNotEmptyError, UnsupportedByBrokerError, refusal
from membership_client.errors import GroupNotFoundError, MembershipError
from membership_client.testing import KafkaCluster
from tests.integration.members import eventually

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.mark.kafka
def test_what_is_denied_is_a_typed_error(kafka_factory: Callable[..., KafkaCluster]) -> None:
    """Looking at a group, removing its members, reading its offsets and its settings; others are listed as ever."""
    servers = kafka_factory(settings=SETTINGS).bootstrap_servers
    denied = AclBinding(
        ResourceType.GROUP,
        "vault",
        ResourcePatternType.LITERAL,
        "User:ANONYMOUS",
        "*",
        AclOperation.ALL,
        AclPermissionType.DENY,
    )
    client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for future in client.create_acls([denied]).values():
        future.result(30)
    with GroupAdmin(servers) as admin:
        eventually(lambda: is_denied(lambda: admin.describe("vault")), "an ACL in force")
        for refused in (
            lambda: admin.remove("vault", ["till-1"]),
            lambda: admin.waiting_for("vault"),
            lambda: admin.settings("vault"),
        ):
            assert is_denied(refused)
        assert admin.list() == ()


def is_denied(attempt: Callable[[], object]) -> bool:
    """It is refused; false while the ACL is not in force yet."""
    with pytest.raises((NotAuthorizedError, GroupNotFoundError)) as refused:
        attempt()
    return "Access is denied" in str(refused.value)


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
    """With the group, what was asked for, and the broker's own words where it has any."""
    error = refusal(code, "its words", "shop", "be described")
    assert isinstance(error, kind)
    assert "shop" in str(error)
