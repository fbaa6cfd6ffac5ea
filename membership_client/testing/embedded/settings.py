"""The settings of an embedded cluster, by Kafka's names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from membership_client.arguments import checked_choice, shown
from membership_client.errors import ConfigError
from membership_client.testing.embedded.topics import MOST_PARTITIONS
from membership_client.testing.fake_coordinator import CoordinatorSettings

_TRUE_OR_FALSE = {"true": True, "false": False}
_FLAGS = {"auto.create.topics.enable", "group.consumer.assignor.offload.enable"}
_LIMITS = {"num.partitions": (1, MOST_PARTITIONS)}
"""Bounds of some numbers. The bounds of others are those of their type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Settings with Kafka's defaults, except that tests may choose short sessions, and no topics are created automatically.

    Kafka 4.3 has no `group.consumer.assignor.offload.enable`; in KIP-1263 it is true.
    """

    auto_create_topics_enable: bool = False
    num_partitions: int = 1
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_assignment_interval_ms: int = 1_000
    group_consumer_assignor_offload_enable: bool = False
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_max_size: int = 2**31 - 1
    group_max_size: int = 2**31 - 1
    group_min_session_timeout_ms: int = 1_000
    group_max_session_timeout_ms: int = 1_800_000
    message_max_bytes: int = 1_048_588
    offset_metadata_max_bytes: int = 4_096
    transaction_max_timeout_ms: int = 900_000

    @classmethod
    def of(cls, given: Mapping[str, str | int]) -> BrokerSettings:
        """The settings. ConfigError for a name or value that an embedded broker does not have."""
        values: dict[str, Any] = {_field_name(name): _checked(name, value) for name, value in given.items()}
        return cls(**values)

    def as_texts(self) -> dict[str, str]:
        """The values as texts, by Kafka's names, as in answers of a broker."""
        return {name.replace("_", "."): str(value).lower() for name, value in dataclasses.asdict(self).items()}


def _field_name(name: str) -> str:
    known = BrokerSettings().as_texts()
    if name not in known:
        raise ConfigError(f"{shown(name)} is not a setting of an embedded broker. It has {', '.join(sorted(known))}.")
    return name.replace(".", "_")


def _checked(name: str, value: str | int) -> bool | int | str:
    if name == "group.consumer.migration.policy":
        return checked_choice(name, str(value).lower(), ("bidirectional", "upgrade", "downgrade", "disabled"))
    if name in _FLAGS:
        if str(value).lower() not in _TRUE_OR_FALSE:
            raise ConfigError(f"{name} is true or false, not {shown(value)}.")
        return _TRUE_OR_FALSE[str(value).lower()]
    try:
        number = int(value)
    except ValueError:
        raise ConfigError(f"{name} is a whole number, not {shown(value)}.") from None
    least, most = _LIMITS.get(name, (0, 2**31 - 1))
    if isinstance(value, bool) or not least <= number <= most:
        raise ConfigError(f"{name} is a whole number from {least} to {most}, not {shown(value)}.")
    return number


GROUP_SETTINGS = {
    "consumer.heartbeat.interval.ms": "group_consumer_heartbeat_interval_ms",
    "consumer.session.timeout.ms": "group_consumer_session_timeout_ms",
    "consumer.assignment.interval.ms": "group_consumer_assignment_interval_ms",
}
"""Settings of single groups, and the broker's settings that they override."""


def of_group(broker: BrokerSettings, own: Mapping[str, str]) -> BrokerSettings:
    """The broker's settings, overridden by the group's own."""
    values: dict[str, Any] = {GROUP_SETTINGS[name]: int(value) for name, value in own.items()}
    return dataclasses.replace(broker, **values)


def coordinator_settings(settings: BrokerSettings) -> CoordinatorSettings:
    return CoordinatorSettings(
        heartbeat_interval_s=settings.group_consumer_heartbeat_interval_ms / 1000,
        session_timeout_s=settings.group_consumer_session_timeout_ms / 1000,
        assignment_interval_s=settings.group_consumer_assignment_interval_ms / 1000,
        offloads_assignor=settings.group_consumer_assignor_offload_enable,
        max_size=settings.group_consumer_max_size,
        upgrades=settings.group_consumer_migration_policy in {"bidirectional", "upgrade"},
        downgrades=settings.group_consumer_migration_policy in {"bidirectional", "downgrade"},
    )
