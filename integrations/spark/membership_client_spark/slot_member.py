"""The member of a slot: its configuration, and which members of the group hold the instance ids of slots, and how to remove them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import PurePath
from typing import Any

from membership_client import ConfigError, GroupNotFoundError, Holder, MemberConfig, Security
from membership_client.admin import GroupAdmin, MemberView, UnknownMemberError
from membership_client.arguments import with_dots
from membership_client_spark.errors import SupersededError
from membership_client_spark.incarnation import Incarnation, next_driver_epoch, slot_instance_id

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


# --- the configuration of one slot's member, from the one that the user gave for all slots ---------------------------

_OURS = {
    "group.instance.id": "it consists of the name and the number of the slot",
    "group.instance.id.conflict": "the newest incarnation of a slot always takes over",
    "client.id": "it has the number of the incarnation",
}


_COMMITS = frozenset({"enable.auto.commit", "auto.commit.interval.ms", "enable.auto.offset.store", "auto.offset.reset"})
_DOTTED = frozenset(one.name.replace("_", ".") for one in fields(MemberConfig)) | Security.KEYS | _COMMITS
"""Keys that `membership_client.Consumer` takes with underscores as well."""


def checked_config(config: object) -> dict[str, Any]:
    """The configuration with dots in all known keys. ConfigError for keys that a slot sets itself, and for missing ones."""
    if not isinstance(config, Mapping):
        raise ConfigError(f"config must be a mapping, as for membership_client.Consumer, not {type(config).__name__}.")
    dotted = with_dots(config, _DOTTED)
    for key, why in _OURS.items():
        if key in dotted:
            raise ConfigError(f"{key} cannot be set for slots: {why}. Leave it out.")
    for key in ("bootstrap.servers", "group.id"):
        if not dotted.get(key):
            raise ConfigError(f"{key} is missing. Give it in config, as for membership_client.Consumer.")
    return dotted


def slot_config(config: Config, name: str, slot: int, who: Incarnation) -> dict[str, Any]:
    """For `Consumer` or `GroupMember`: a static member that takes its instance id over from an earlier incarnation."""
    instance_id = slot_instance_id(name, slot)
    own = {
        "group.instance.id": instance_id,
        "group.instance.id.conflict": "takeover",
        "client.id": who.client_id(instance_id),
    }
    if trace_file := config.get("trace.file"):
        path = PurePath(str(trace_file))
        own["trace.file"] = str(path.with_name(f"{path.stem}-{slot}{path.suffix}"))
    return {**config, **own}
