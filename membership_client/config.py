"""Configuration: Kafka's dotted keys or snake_case keyword arguments, checked at once and completely."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from membership_client.errors import ConfigError
from membership_client.security import keys
from membership_client.types import Node

ConflictPolicy = Literal["wait", "takeover", "fail"]
CallbackErrorPolicy = Literal["raise", "leave", "continue"]

_LEGAL_ID = re.compile(r"[a-zA-Z0-9._-]{1,249}")

_LONGEST_TEXT_BYTES = 32_767

ProtocolChoice = Literal["auto", "consumer", "classic"]

CLASSIC_ONLY = {
    "session.timeout.ms": "the brokers set it: consumer.session.timeout.ms in the group's configuration",
    "heartbeat.interval.ms": "the brokers set it: consumer.heartbeat.interval.ms in the group's configuration",
    "partition.assignment.strategy": "the brokers assign: choose with group.remote.assignor (uniform or range)",
}
"""Of no use with `group.protocol=consumer`, so refused there; and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberConfig:
    """Everything a member can be told. Immutable; a bad value raises ConfigError here and nowhere later.

    `MemberConfig(bootstrap_servers="...", group_id="...")` and
    `MemberConfig.from_dict({"bootstrap.servers": "...", "group.id": "..."})` mean the same.
    """

    bootstrap_servers: str
    group_id: str
    group_protocol: ProtocolChoice = "auto"
    """KIP-848 or the classic protocol; `auto` takes KIP-848 where the brokers have it."""
    group_instance_id: str | None = None
    group_instance_id_conflict: ConflictPolicy = "wait"
    """When another process holds the instance id: wait up to its session timeout, take it over, or fail at once."""
    group_remote_assignor: str | None = None
    """KIP-848 only: which of the brokers' assignors; None leaves it to them."""
    partition_assignment_strategy: tuple[str, ...] = ("range", "cooperative-sticky")
    """Classic only: what this member can assign by, best first. Cooperative if all of them are."""
    session_timeout_ms: int = 45_000
    """Classic only: after so long without a heartbeat both sides give the membership up."""
    heartbeat_interval_ms: int = 3_000
    """Classic only."""
    metadata_max_age_ms: int = 300_000
    """Classic only: how often a leader, or whoever subscribed by pattern, looks for new topics and partitions."""
    client_id: str = "membership-client"
    client_rack: str | None = None
    max_poll_interval_ms: int = 300_000
    """The budget between two polls, for those who poll; also how long the group waits for a revoke callback."""
    request_timeout_ms: int = 10_000
    socket_connection_setup_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    retry_when_full_s: float | None = None
    """Seconds between attempts to enter a full group; None makes a full group fatal."""
    callback_errors: CallbackErrorPolicy = "raise"
    trace_file: str | None = None
    """Every step goes to this file as well; `{group}`, `{member}`, `{instance}` and `{pid}` are filled in."""
    trace_file_max_bytes: int = 10_000_000
    """At this size the file is put aside, and a new one begun."""
    trace_file_keep: int = 3
    """How many of those that were put aside are kept."""
    telemetry_member_id_label: bool = False
    """Member and instance id on metrics too: tells members apart, at the price of new series with every start."""

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> MemberConfig:
        """From dotted or snake_case keys. Unknown keys are refused, with the nearest known one."""
        known = {f.name for f in fields(cls)}
        given = {_field_name(key, known): value for key, value in config.items()}
        missing = [k.replace("_", ".") for k in ("bootstrap_servers", "group_id") if k not in given]
        if missing:
            raise ConfigError(f"{' and '.join(missing)} must be set.")
        if isinstance(strategies := given.get("partition_assignment_strategy"), str | list):
            given["partition_assignment_strategy"] = _listed(strategies)
        return cls(**given)

    def __post_init__(self) -> None:
        _require_text("group.id", self.group_id)
        _require_choice("group.protocol", self.group_protocol, get_args(ProtocolChoice))
        _require_strategies(self.partition_assignment_strategy)
        _require_text("client.id", self.client_id)
        _require_optional_text("client.rack", self.client_rack)
        _require_optional_text("group.remote.assignor", self.group_remote_assignor)
        require_instance_id(self.group_instance_id)
        _require_choice("group.instance.id.conflict", self.group_instance_id_conflict, get_args(ConflictPolicy))
        _require_choice("callback_errors", self.callback_errors, get_args(CallbackErrorPolicy))
        _require_template("trace.file", self.trace_file)
        _require_whole("trace.file.max.bytes", self.trace_file_max_bytes, least=10_000)
        _require_whole("trace.file.keep", self.trace_file_keep, least=0)
        _require_boolean("telemetry.member.id.label", self.telemetry_member_id_label)
        self._check_durations()
        self._check_protocol()
        parse_bootstrap(self.bootstrap_servers)

    def _check_durations(self) -> None:
        for field in fields(self):
            if field.name.endswith("_ms"):
                _require_milliseconds(field.name.replace("_", "."), getattr(self, field.name))
        if self.retry_backoff_max_ms < self.retry_backoff_ms:
            raise ConfigError("retry.backoff.max.ms must not be smaller than retry.backoff.ms.")
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError("heartbeat.interval.ms must be smaller than session.timeout.ms; a third of it is usual.")
        if self.retry_when_full_s is not None and not _is_positive_number(self.retry_when_full_s):
            raise ConfigError(
                f"retry_when_full_s must be a positive number of seconds, not {self.retry_when_full_s!r}."
            )

    def _check_protocol(self) -> None:
        """What the chosen protocol has no use for is a mistake about the protocol."""
        if self.group_protocol == "classic" and self.group_remote_assignor is not None:
            raise ConfigError(
                "group.remote.assignor belongs to KIP-848; in the classic protocol members assign: "
                "choose with partition.assignment.strategy."
            )
        if self.group_protocol != "consumer":
            return
        for field in fields(self):
            key = field.name.replace("_", ".")
            if key in CLASSIC_ONLY and getattr(self, field.name) != field.default:
                raise ConfigError(f"{key} belongs to the classic protocol; under KIP-848 {CLASSIC_ONLY[key]}.")


def parse_bootstrap(servers: str) -> tuple[Node, ...]:
    """`host:port,[ipv6]:port` as nodes."""
    _require_text("bootstrap.servers", servers)
    nodes = tuple(_parse_address(entry.strip()) for entry in servers.split(",") if entry.strip())
    if not nodes:
        raise ConfigError(f"bootstrap.servers: {servers!r} has no host:port in it.")
    return nodes


def _parse_address(entry: str) -> Node:
    host, colon, port = entry.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(f"bootstrap.servers: {entry!r} is not host:port.")
    return Node(host.removeprefix("[").removesuffix("]"), int(port))


def _field_name(key: str, known: Iterable[str]) -> str:
    dotted = str(key).replace("_", ".")
    by_dotted = {name.replace("_", "."): name for name in known}
    if dotted in by_dotted:
        return by_dotted[dotted]
    if dotted in keys.ALL or key in keys.ALL:
        raise ConfigError(f"{key} is about security: give it to GroupMember or Consumer, or to Security.from_dict().")
    nearest = difflib.get_close_matches(dotted, by_dotted, n=1)
    raise ConfigError(f"Unknown configuration key {key!r}." + (f" Did you mean {nearest[0]!r}?" if nearest else ""))


def _require_text(key: str, value: object) -> None:
    if not is_text(value):
        raise ConfigError(f"{key} must be a non-empty string, not {value!r}.")


def is_text(value: object) -> bool:
    """Not blank, and a broker can be told it: some Python strings have no UTF-8 form, and Kafka's are bounded."""
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        return len(value.encode()) <= _LONGEST_TEXT_BYTES
    except UnicodeEncodeError:
        return False


def _require_optional_text(key: str, value: object) -> None:
    if value is not None:
        _require_text(key, value)


def require_instance_id(value: object) -> None:
    """ConfigError unless a broker would take it; None is no instance id, and right as well."""
    if value is None:
        return
    if not isinstance(value, str) or value in {".", ".."} or not _LEGAL_ID.fullmatch(value):
        raise ConfigError(
            f"group.instance.id {value!r} is not legal: 1 to 249 letters, digits, '.', '_' or '-', and not '.' or '..'."
        )


def _require_choice(key: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{key} must be one of {', '.join(choices)}, not {value!r}.")


def _listed(strategies: str | list[Any]) -> tuple[Any, ...]:
    """As librdkafka has it, separated by commas, or as Java has it, a list."""
    if isinstance(strategies, list):
        return tuple(strategies)
    return tuple(name.strip() for name in strategies.split(",") if name.strip())


def _require_strategies(value: object) -> None:
    key = "partition.assignment.strategy"
    if not isinstance(value, tuple) or not value:
        raise ConfigError(f"{key} must be a tuple with at least one strategy, not {value!r}.")
    for name in value:
        _require_text(key, name)
    if len(set(value)) < len(value):
        raise ConfigError(f"{key} names a strategy twice: {', '.join(value)}.")


def _require_template(key: str, value: str | None) -> None:
    _require_optional_text(key, value)
    try:
        (value or "").format(group="", member="", instance="", pid=0)
    except (IndexError, KeyError, ValueError):
        raise ConfigError(
            f"{key}: {value!r} may contain {{group}}, {{member}}, {{instance}} and {{pid}} only."
        ) from None


def _require_whole(key: str, value: object, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{key} must be a whole number, at least {least}, not {value!r}.")


def _require_boolean(key: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{key} must be True or False, not {value!r}.")


def _require_milliseconds(key: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
        raise ConfigError(f"{key} must be a positive whole number of milliseconds, not {value!r}.")


def _is_positive_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")
