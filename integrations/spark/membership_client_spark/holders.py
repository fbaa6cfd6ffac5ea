"""The members of the group that hold the instance ids of slots: which is newer, and how to remove them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from membership_client import GroupNotFoundError, Holder, Security
from membership_client.admin import GroupAdmin, MemberView, UnknownMemberError
from membership_client_spark.errors import SupersededError
from membership_client_spark.incarnation import Incarnation, next_driver_epoch

Config = Mapping[str, Any]
"""What `membership_client.Consumer` takes, after `checked_config`."""


_FOR_ADMIN = Security.KEYS | {"bootstrap.servers"}


def admin_of(config: Config) -> GroupAdmin:
    """An admin client with the addresses and credentials of the slots."""
    return GroupAdmin({key: value for key, value in config.items() if key in _FOR_ADMIN})


def new_driver_epoch(config: Config) -> int:
    """The epoch of a driver that starts now: greater than those of all drivers whose slots are in the group."""
    return next_driver_epoch(member.client_id for member in _members(config))


def check_newest(config: Config, instance_id: str, mine: Incarnation) -> None:
    """Raises SupersededError if a newer incarnation holds `instance_id`; an older one may be taken over.

    Two incarnations that check at the same moment may both take over. The newer one then checks again and takes over once
    more, which fences the older one; the older one checks again and ends.
    """
    for member in _members(config):
        theirs = Incarnation.of_client(member.client_id)
        if member.instance_id == instance_id and theirs is not None and theirs > mine:
            holder = Holder(member.member_id, member.client_id, member.host)
            raise SupersededError(f"{instance_id} belongs to incarnation {theirs}; this is {mine}.", holder=holder)


def remove_holders(config: Config, instance_ids: Collection[str], driver_epoch: int, reason: str) -> bool:
    """Removes the members with these instance ids from the group, and says whether there were any.

    For slots that could not leave, because their processes have ended. Members of a newer driver stay.
    """
    with admin_of(config) as admin:
        left_behind = [
            member.member_id
            for member in _seen_by(admin, config)
            if member.instance_id in instance_ids
            and (who := Incarnation.of_client(member.client_id)) is not None
            and who.driver_epoch <= driver_epoch
        ]
        outcomes = admin.remove(config["group.id"], left_behind, reason=reason, force=True) if left_behind else ()
    for outcome in outcomes:
        if outcome.error is not None and not isinstance(outcome.error, UnknownMemberError):
            raise outcome.error
    return bool(left_behind)


def _members(config: Config) -> tuple[MemberView, ...]:
    with admin_of(config) as admin:
        return _seen_by(admin, config)


def _seen_by(admin: GroupAdmin, config: Config) -> tuple[MemberView, ...]:
    try:
        return admin.describe(config["group.id"], lag=False).members
    except GroupNotFoundError:
        return ()
