"""What the group knows of the holders of our instance ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from membership_client import GroupNotFoundError, Holder, Security
from membership_client.admin import GroupAdmin, MemberView
from membership_client_spark.errors import SupersededError
from membership_client_spark.incarnation import Incarnation, next_driver_epoch

Config = Mapping[str, Any]
"""What `membership_client.Consumer` takes; `check_config` has looked at it."""


_FOR_ADMIN = Security.KEYS | {"bootstrap.servers"}


def admin_of(config: Config) -> GroupAdmin:
    """Who reaches the cluster as the slots do."""
    return GroupAdmin({key: value for key, value in config.items() if key in _FOR_ADMIN})


def new_driver_epoch(config: Config) -> int:
    """The epoch of a driver that starts now: newer than all whose slots are still in the group."""
    return next_driver_epoch(member.client_id for member in _members(config))


def check_newest(config: Config, instance_id: str, mine: Incarnation) -> None:
    """Raises SupersededError if a newer incarnation holds `instance_id`; an older one may be taken over.

    Two incarnations that look at the same moment may both take over; the older one is then fenced by the newer, because
    the newer looks again and takes over once more, and the older does not.
    """
    for member in _members(config):
        theirs = Incarnation.of_client(member.client_id)
        if member.instance_id == instance_id and theirs is not None and theirs > mine:
            holder = Holder(member.member_id, member.client_id, member.host)
            raise SupersededError(f"{instance_id} belongs to incarnation {theirs}; this is {mine}.", holder=holder)


def _members(config: Config) -> tuple[MemberView, ...]:
    with admin_of(config) as admin:
        try:
            return admin.describe(config["group.id"], lag=False).members
        except GroupNotFoundError:
            return ()
