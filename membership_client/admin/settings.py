"""A group's settings for session and heartbeats, with the brokers' limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kio.schema.errors import ErrorCode

from membership_client.admin.asking import Asker
from membership_client.admin.errors import SettingRefusedError, UnsupportedByBrokerError, expect
from membership_client.arguments import MOST_INT32, checked_whole, optional, shown
from membership_client.core.events import Refused
from membership_client.net.admin_requests import (
    AlterGroupConfigs,
    ConfigEntry,
    ConfigsAltered,
    ConfigsDescribed,
    DescribeConfigs,
    Resource,
)

SETTINGS = {
    "consumer.session.timeout.ms": "a member without a heartbeat for this time is removed",
    "consumer.heartbeat.interval.ms": "time between heartbeats, and so the delay until members learn of changes",
    "consumer.assignment.interval.ms": "changes within this time are assigned together (Kafka 4.3 and later)",
}
_REFUSED = frozenset({ErrorCode.invalid_config, ErrorCode.invalid_request})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting; all numbers are milliseconds. `session.timeout.ms` has no value: each classic member chooses its own."""

    name: str
    value: int | None
    is_own: bool = False
    """Whether the value is set for this group; otherwise it is the brokers' default."""
    default: int | None = None
    lowest: int | None = None
    highest: int | None = None


def settings(asker: Asker, group_id: str) -> tuple[Setting, ...]:
    """The settings that the brokers know, with the coordinator's limits."""
    answer = asker.ask(DescribeConfigs(resource=Resource.GROUP, name=group_id, keys=tuple(SETTINGS)))
    if isinstance(answer, Refused) and answer.code == ErrorCode.invalid_request:
        raise UnsupportedByBrokerError("These brokers have no settings for groups; Kafka 4.0 and later have.")
    own = expect(ConfigsDescribed, answer, group_id, "be asked for its settings")
    entries, limits = {entry.name: entry for entry in own.entries}, _limits(asker, group_id)
    return (*(_setting(entries[name], limits) for name in SETTINGS if name in entries), _classic(limits))


def change_settings(asker: Asker, group_id: str, values: Mapping[str, int | None]) -> None:
    """Set values; None restores the brokers' default. If a value is refused, none is changed: SettingRefusedError."""
    if unknown := [shown(name).strip("'") for name in values if name not in SETTINGS]:
        raise SettingRefusedError(f"{', '.join(unknown)}: unknown; the settings are {', '.join(SETTINGS)}.")
    wanted = {name: optional(_checked_ms, name, value) for name, value in values.items()}
    texts = {name: None if value is None else str(value) for name, value in wanted.items()}
    answer = asker.ask(AlterGroupConfigs(group_id=group_id, values=texts))
    if isinstance(answer, Refused) and answer.code in _REFUSED:
        raise SettingRefusedError(f"The brokers refuse the settings of group {group_id}: {answer.message}")
    expect(ConfigsAltered, answer, group_id, "have its settings changed")


def _checked_ms(name: str, value: object) -> int:
    return checked_whole(name, value, most=MOST_INT32)


def _setting(entry: ConfigEntry, limits: Mapping[str, int | None]) -> Setting:
    return Setting(
        name=entry.name,
        value=_number(entry.value),
        is_own=entry.is_own,
        default=_number(entry.default),
        lowest=limits.get(_limit("min", entry.name)),
        highest=limits.get(_limit("max", entry.name)),
    )


def _classic(limits: Mapping[str, int | None]) -> Setting:
    return Setting(
        name="session.timeout.ms",
        value=None,
        lowest=limits.get("group.min.session.timeout.ms"),
        highest=limits.get("group.max.session.timeout.ms"),
    )


def _limits(asker: Asker, group_id: str) -> dict[str, int | None]:
    """The coordinator's limits; empty without access to its configuration."""
    coordinator = asker.coordinator(group_id)
    keys = [_limit(end, name) for name in SETTINGS for end in ("min", "max")]
    keys += [f"group.{end}.session.timeout.ms" for end in ("min", "max")]
    request = DescribeConfigs(resource=Resource.BROKER, name=str(coordinator.node_id), keys=tuple(keys))
    answer = asker.ask(request, coordinator)
    entries = answer.entries if isinstance(answer, ConfigsDescribed) else ()
    return {entry.name: _number(entry.value) for entry in entries}


def _limit(end: str, name: str) -> str:
    return f"group.consumer.{end}.{name.removeprefix('consumer.')}"


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.lstrip("-").isdecimal() else None
