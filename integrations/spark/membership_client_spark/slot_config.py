"""The configuration of one slot's member, out of the one the user gave for all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from membership_client import ConfigError
from membership_client_spark.holders import Config
from membership_client_spark.identity import slot_instance_id
from membership_client_spark.incarnation import Incarnation

_OURS = {
    "group.instance.id": "it is made of the name and the slot",
    "group.instance.id.conflict": "the newest incarnation of a slot always wins",
    "client.id": "it tells incarnations apart",
}


def check_config(config: Config) -> None:
    """ConfigError, on the driver and before anything starts, for what a slot decides itself."""
    if not isinstance(config, Mapping):
        raise ConfigError(f"config must be a mapping, as for membership_client.Consumer, not {config!r}.")
    for key, why in _OURS.items():
        if key in config:
            raise ConfigError(f"{key} cannot be set for slots: {why}. Leave it out.")
    for key in ("bootstrap.servers", "group.id"):
        if not config.get(key):
            raise ConfigError(f"{key} is missing: give it in config, as for membership_client.Consumer.")


def slot_config(config: Config, name: str, slot: int, who: Incarnation) -> dict[str, Any]:
    """For `membership_client.Consumer` or `GroupMember`: a static member that takes over from what was before it."""
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
