"""Configuration: Kafka's dotted keys or snake_case keyword arguments, checked at once and completely."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, get_args

from membership_client.arguments import (
    MOST_INT32,
    MOST_INT64,
    checked_choice,
    checked_flag,
    checked_text,
    checked_whole,
    flag_from,
    is_unset,
    optional,
    plain,
    shown,
    whole_from,
    with_dots,
    word_from,
)
from membership_client.errors import ConfigError
from membership_client.member_names import DEFAULT_CLIENT_ID
from membership_client.security import keys
from membership_client.types import Node
from membership_client.values import dataclass

ConflictPolicy = Literal["wait", "takeover", "fail"]
CallbackErrorPolicy = Literal["raise", "leave", "continue"]

_LEGAL_ID = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_LONGEST_KEY = 100
"""An unknown key is cut to this length before the nearest known key is searched, which takes quadratic time."""
_PLACEHOLDERS = {"group", "member", "instance", "pid"}

ProtocolChoice = Literal["auto", "consumer", "classic"]
KeeperChoice = Literal["off", "process"]

CLASSIC_ONLY = {
    "session.timeout.ms": "the brokers set it: consumer.session.timeout.ms in the group's configuration",
    "heartbeat.interval.ms": "the brokers set it: consumer.heartbeat.interval.ms in the group's configuration",
    "partition.assignment.strategy": "the brokers assign: choose with group.remote.assignor (uniform or range)",
}
"""Keys that are refused with `group.protocol=consumer`, because they have no effect there, and why."""


KIP_848_ONLY = {
    "group.remote.assignor": "members assign: choose with partition.assignment.strategy",
}
"""Keys that are refused with `group.protocol=classic`, because they have no effect there, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberConfig:
    """The configuration of a member. Immutable; a bad value raises ConfigError here and nowhere later.

        config = MemberConfig(bootstrap_servers="localhost:9092", group_id="tills", group_instance_id="till-3")
        with GroupMember(config) as member:
            member.subscribe(["orders"])

    `MemberConfig(bootstrap_servers="...", group_id="...")` and
    `MemberConfig.from_dict({"bootstrap.servers": "...", "group.id": "..."})` mean the same.
    """

    bootstrap_servers: str
    group_id: str
    group_protocol: ProtocolChoice = "auto"
    """KIP-848 or the classic protocol; `auto` takes KIP-848 where the brokers have it and the group can be upgraded."""
    group_instance_id: str | None = None
    group_instance_id_conflict: ConflictPolicy = "wait"
    """What to do if another process holds the instance id: wait up to its session timeout, take it over, or fail at once."""
    group_remote_assignor: str | None = None
    """KIP-848 only: the brokers' assignor to use; None leaves the choice to them."""
    partition_assignment_strategy: tuple[str, ...] = ("range", "cooperative-sticky")
    """Classic only: the strategies that this member offers, best first. The member is cooperative if all of them are."""
    session_timeout_ms: int = 45_000
    """Classic only: after so long without a heartbeat the coordinator drops the member, and the member counts as fenced."""
    heartbeat_interval_ms: int = 3_000
    """Classic only: the time between two heartbeats."""
    metadata_max_age_ms: int = 300_000
    """How often a classic leader, and a classic member that subscribed by pattern, looks for new topics and partitions.

    In both protocols also how often a member checks that subscribed topics of which it has no partition still exist.
    """
    client_id: str = DEFAULT_CLIENT_ID
    client_rack: str | None = None
    max_poll_interval_ms: int = 300_000
    """The longest time between two polls, for applications that poll; also how long the group waits for a revoke callback."""
    request_timeout_ms: int = 10_000
    socket_connection_setup_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    retry_when_full_s: float | None = None
    """Seconds between attempts to enter a full group; None makes a full group fatal."""
    callback_errors: CallbackErrorPolicy = "raise"
    trace_file: str | None = None
    """The file to which every step is written; `{group}`, `{member}`, `{instance}` and `{pid}` are filled in."""
    trace_file_max_bytes: int = 10_000_000
    """At this size the trace file is renamed, and a new one is begun."""
    trace_file_keep: int = 3
    """How many full trace files are kept."""
    enable_metrics_push: bool = True
    """Brokers with a receiver of client metrics (KIP-714) get the metrics of the membership that they ask for."""
    telemetry_member_id_label: bool = False
    """Also put member and instance id on metrics. They tell members apart, but every start makes new series."""
    heartbeat_keeper: KeeperChoice = "off"
    """`process`: a small process beside this one sends heartbeats while an extension holds the interpreter (Linux)."""

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> MemberConfig:
        """From dotted or snake_case keys, with values in all forms of librdkafka: "6000" or 6000.0 for 6000, "CLASSIC" for classic.

        An empty text means that the key is not given. Unknown keys are refused, with the nearest known one.
        """
        names = {field.name.replace("_", "."): field.name for field in fields(cls)}
        named = {_field_name(key, names): value for key, value in with_dots(config, names).items()}
        given = {name: _understood(name, value) for name, value in named.items() if not _is_unset(name, value)}
        missing = [k.replace("_", ".") for k in ("bootstrap_servers", "group_id") if k not in given]
        if missing:
            raise ConfigError(f"{' and '.join(missing)} must be set.")
        if isinstance(strategies := given.get("partition_assignment_strategy"), str | list):
            given["partition_assignment_strategy"] = _listed(strategies)
        return cls(**given)

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _plain(getattr(self, field.name)))
        checked_text("group.id", self.group_id)
        checked_choice("group.protocol", self.group_protocol, get_args(ProtocolChoice))
        _require_strategies(self.partition_assignment_strategy)
        checked_text("client.id", self.client_id)
        optional(checked_text, "client.rack", self.client_rack)
        optional(checked_text, "group.remote.assignor", self.group_remote_assignor)
        require_instance_id(self.group_instance_id)
        checked_choice("group.instance.id.conflict", self.group_instance_id_conflict, get_args(ConflictPolicy))
        checked_choice("callback_errors", self.callback_errors, get_args(CallbackErrorPolicy))
        _require_template("trace.file", self.trace_file)
        checked_whole("trace.file.max.bytes", self.trace_file_max_bytes, least=10_000)
        checked_whole("trace.file.keep", self.trace_file_keep, most=MOST_INT32)
        checked_flag("enable.metrics.push", self.enable_metrics_push)
        checked_flag("telemetry.member.id.label", self.telemetry_member_id_label)
        checked_choice("heartbeat.keeper", self.heartbeat_keeper, get_args(KeeperChoice))
        self._check_durations()
        self._check_protocol()
        parse_bootstrap(self.bootstrap_servers)

    def _check_durations(self) -> None:
        for field in fields(self):
            if field.name.endswith("_ms"):
                checked_milliseconds(field.name.replace("_", "."), getattr(self, field.name))
        if self.retry_backoff_max_ms < self.retry_backoff_ms:
            raise ConfigError("retry.backoff.max.ms must not be smaller than retry.backoff.ms.")
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError("heartbeat.interval.ms must be smaller than session.timeout.ms; a third of it is usual.")
        optional(_checked_pause, "retry_when_full_s", self.retry_when_full_s)

    def _check_protocol(self) -> None:
        """A key without effect in the chosen protocol is refused, because probably the other protocol was meant."""
        if self.group_protocol == "classic" and self.group_remote_assignor is not None:
            key = "group.remote.assignor"
            raise ConfigError(f"{key} belongs to KIP-848; in the classic protocol {KIP_848_ONLY[key]}.")
        if self.group_protocol != "consumer":
            return
        for key, why in self.without_effect(CLASSIC_ONLY).items():
            raise ConfigError(f"{key} belongs to the classic protocol; under KIP-848 {why}.")

    def without_effect(self, unused: Mapping[str, str]) -> dict[str, str]:
        """The `unused` keys whose value is not their default, and why they have no effect."""
        given = (field.name.replace("_", ".") for field in fields(self) if getattr(self, field.name) != field.default)
        return {key: unused[key] for key in given if key in unused}


_WORDS = frozenset({"group_protocol", "group_instance_id_conflict", "callback_errors", "heartbeat_keeper"})
_FLAGS = frozenset({"enable_metrics_push", "telemetry_member_id_label"})
_COUNTS = frozenset({"trace_file_max_bytes", "trace_file_keep"})
_MAY_BE_EMPTY = frozenset(
    {"client_id", "client_rack", "group_instance_id", "group_remote_assignor", "partition_assignment_strategy"}
)


def _understood(name: str, value: object) -> Any:
    """The value as the field holds it, if librdkafka would take it in this key; anything else as it is, for the checks."""
    if name in _WORDS:
        return word_from(value)
    if name in _FLAGS:
        return flag_from(value)
    return whole_from(value) if name.endswith("_ms") or name in _COUNTS else value


def _is_unset(name: str, value: object) -> bool:
    """Does the value mean the default, as None and an empty text do in librdkafka?"""
    return name in _MAY_BE_EMPTY and is_unset(value)


def _plain(value: object) -> Any:
    if not isinstance(value, tuple):
        return plain(value)
    copy = tuple(map(plain, value))
    # A trace omits a value that is the same object as the default.
    return value if all(one is other for one, other in zip(copy, value, strict=True)) else copy


def _field_name(key: str, names: Mapping[str, str]) -> str:
    if key in names:
        return names[key]
    dotted = key.replace("_", ".")
    if dotted in keys.ALL or key in keys.ALL:
        raise ConfigError(f"{key} is about security: give it to GroupMember or Consumer, or to Security.from_dict().")
    import difflib  # noqa: PLC0415 - for mistakes only

    nearest = difflib.get_close_matches(dotted[:_LONGEST_KEY], names, n=1)
    raise ConfigError(
        f"Unknown configuration key {shown(key)}." + (f" Did you mean {nearest[0]!r}?" if nearest else "")
    )


def require_instance_id(value: object) -> None:
    """ConfigError unless a broker would accept it; None, which is no instance id, is right as well."""
    if value is None:
        return
    if not isinstance(value, str) or value in {".", ".."} or not _LEGAL_ID.fullmatch(value):
        raise ConfigError(
            f"group.instance.id {shown(value)} is not legal: 1 to 249 letters, digits, '.', '_' or '-', and not '.' "
            "or '..'."
        )


def _listed(strategies: str | list[Any]) -> tuple[Any, ...]:
    """The strategies, from a text with commas, as librdkafka takes it, or from a list, as Java takes it."""
    if isinstance(strategies, list):
        return tuple(strategies)
    return tuple(name.strip() for name in strategies.split(",") if name.strip())


def _require_strategies(value: object) -> None:
    key = "partition.assignment.strategy"
    if not isinstance(value, tuple) or not value:
        raise ConfigError(f"{key} must be a tuple with at least one strategy, not {shown(value)}.")
    for name in value:
        checked_text(key, name)
    if len(set(value)) < len(value):
        raise ConfigError(f"{key} names a strategy twice: {', '.join(value)}.")


def _require_template(key: str, value: str | None) -> None:
    optional(checked_text, key, value)
    try:
        parts = list(string.Formatter().parse(value or ""))
    except ValueError:
        parts = [("", "?", None, None)]
    if any(
        name is not None and (name not in _PLACEHOLDERS or form or conversion) for _, name, form, conversion in parts
    ):
        raise ConfigError(f"{key}: {shown(value)} may contain {{group}}, {{member}}, {{instance}} and {{pid}} only.")


def checked_milliseconds(key: str, value: object) -> int:
    """The value, if it is positive and fits into an int32, as in Kafka's format."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MOST_INT32:
        raise ConfigError(f"{key} must be a positive whole number of milliseconds, below 2**31, not {shown(value)}.")
    return value


def _checked_pause(key: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= MOST_INT64:
        raise ConfigError(f"{key} must be a positive number of seconds, not {shown(value)}.")
    return value


# --- bootstrap.servers, as librdkafka writes them --------------------------------------------------------------------


_DEFAULT_PORT = 9092
_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_PORT = re.compile(r"[0-9]{1,5}")
_HOST = re.compile(r"[^\s/@\[\]]{1,255}")


def parse_bootstrap(servers: str, protocol: str | None = None) -> tuple[Node, ...]:
    """The addresses of the list. Each is `host`, `host:port` or `[ipv6]:port`, maybe after `PROTOCOL://`; the default port is 9092.

    `protocol` is what security.protocol says; None if that is not known yet.

    Raises:
        ConfigError: there is no address, one cannot be read, or one names another protocol than `protocol`.
    """
    checked_text("bootstrap.servers", servers)
    nodes = tuple(_parse_entry(entry.strip(), protocol) for entry in servers.split(",") if entry.strip())
    if not nodes:
        raise ConfigError(f"bootstrap.servers: {shown(servers)} has no host:port in it.")
    return nodes


def _parse_entry(entry: str, protocol: str | None) -> Node:
    if "@" in entry:
        # The address is not shown, because the text before an @ may be a password.
        raise ConfigError(
            "bootstrap.servers: an address is host:port, without a user: sasl.username says who connects."
        )
    scheme, separator, address = entry.rpartition("://")
    if separator:
        _check_scheme(scheme.lower(), protocol)
        address = address.partition("/")[0]  # As in librdkafka, a path is ignored.
    return _parse_address(address, entry)


def _check_scheme(scheme: str, protocol: str | None) -> None:
    if scheme not in _PROTOCOLS:
        raise ConfigError(f"bootstrap.servers: {shown(scheme)} is none of the protocols {', '.join(_PROTOCOLS)}.")
    if protocol is not None and scheme != protocol:
        raise ConfigError(
            f"bootstrap.servers names the protocol {scheme}, and security.protocol is {protocol}: set it to {scheme}, or "
            "leave the protocol out of the address."
        )


def _parse_address(address: str, entry: str) -> Node:
    """Split host and port. Several colons without brackets are an IPv6 address without a port."""
    host, colon, port = address.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        host, port = address, str(_DEFAULT_PORT)
    host = host.removeprefix("[").removesuffix("]") or "localhost"
    if not _HOST.fullmatch(host) or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        raise ConfigError(f"bootstrap.servers: {shown(entry)} is not host:port.")
    return Node(host, int(port))
