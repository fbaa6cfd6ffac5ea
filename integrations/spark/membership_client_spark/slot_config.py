"""The configuration of one slot's member, from the one that the user gave for all slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import PurePath
from typing import Any

from membership_client import ConfigError, MemberConfig, Security
from membership_client.arguments import is_unset, with_dots
from membership_client_spark.holders import Config
from membership_client_spark.incarnation import Incarnation, slot_instance_id

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
        if is_unset(dotted.get(key)):
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
