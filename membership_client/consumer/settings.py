"""One configuration for two: what concerns the group is the member's, what concerns fetching is librdkafka's.

A key that would reach neither is refused, because a setting that is silently ignored is found out in production.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, TopicPartition

from membership_client.arguments import MOST_INT32, checked_choice, checked_function, shown, with_dots
from membership_client.config import MemberConfig
from membership_client.errors import ConfigError
from membership_client.security import Security, split_security

OnCommit = Callable[[KafkaError | None, list[TopicPartition]], None]

_BOTH = frozenset(
    {
        "bootstrap.servers",
        "group.id",
        "client.id",
        "client.rack",
        "socket.connection.setup.timeout.ms",
        "retry.backoff.ms",
        "retry.backoff.max.ms",
        "metadata.max.age.ms",
    }
)
_MEMBER_ONLY = frozenset(field.name.replace("_", ".") for field in fields(MemberConfig)) - _BOTH
_CONSUMER_ONLY = frozenset(
    {"enable.auto.commit", "auto.commit.interval.ms", "enable.auto.offset.store", "on_commit", "auto.offset.reset"}
)

_DOTTED = _BOTH | _MEMBER_ONLY | _CONSUMER_ONLY | Security.KEYS
_DIGITS = re.compile(r"[0-9]{1,10}")

_STARTS = {
    "smallest": confluent_kafka.OFFSET_BEGINNING,
    "earliest": confluent_kafka.OFFSET_BEGINNING,
    "beginning": confluent_kafka.OFFSET_BEGINNING,
    "largest": confluent_kafka.OFFSET_END,
    "latest": confluent_kafka.OFFSET_END,
    "end": confluent_kafka.OFFSET_END,
    # Left to librdkafka, which then reports the error as a message, as its users expect it.
    "error": confluent_kafka.OFFSET_INVALID,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a Consumer was told, sorted by who acts on it."""

    member: MemberConfig
    security: Security
    """For the member; librdkafka is told the same."""
    fetcher: dict[str, Any]
    """For librdkafka; it may hold secrets, so it is never shown."""
    auto_commit_s: float | None
    """Seconds between automatic commits; None without them."""
    auto_store: bool
    """A record counts as read when poll() returned it, and not when store_offsets() says so."""
    start: int
    """Where a partition starts of which nothing was ever committed."""
    on_commit: OnCommit | None

    def __repr__(self) -> str:
        return f"Settings({self.member!r})"


def settings_of(config: Mapping[str, Any]) -> Settings:
    """Checked as far as it is ours; librdkafka's constructor checks the rest."""
    given = _normalised(config)
    on_commit = given.get("on_commit")
    if on_commit is not None:
        checked_function("on_commit", on_commit, of="an error, or None, and partitions")
    _refuse_what_reaches_nobody(given)
    seconds = _whole(given, "auto.commit.interval.ms", 5000) / 1000
    reset = checked_choice("auto.offset.reset", given.get("auto.offset.reset", "largest"), _STARTS)
    return Settings(
        member=_member_config(given),
        security=split_security(given)[0],
        fetcher=_fetcher_config(given),
        auto_commit_s=seconds if _flag(given, "enable.auto.commit") and seconds > 0 else None,
        auto_store=_flag(given, "enable.auto.offset.store"),
        start=_STARTS[reset],
        on_commit=on_commit,
    )


def _normalised(config: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys for all that has a dotted name, as confluent-kafka's keyword arguments allow both."""
    dotted = with_dots(config, _DOTTED)
    nested = with_dots(dotted.pop("default.topic.config", None) or {}, _DOTTED)
    if "metadata.broker.list" in dotted:
        dotted.setdefault("bootstrap.servers", dotted.pop("metadata.broker.list"))
    return {**nested, **dotted}


def _refuse_what_reaches_nobody(given: Mapping[str, Any]) -> None:
    """Of security, that would be half of a Consumer: its fetcher would obey, and its member not."""
    about_security = {key for key in given if key.startswith(("ssl.", "sasl.", "enable.ssl.", "enable.sasl."))}
    if unknown := sorted(about_security - Security.KEYS):
        raise ConfigError(f"{', '.join(unknown)}: the membership connection does not have that setting.")


def _member_config(given: Mapping[str, Any]) -> MemberConfig:
    ours = {key: value for key, value in given.items() if key in _BOTH | _MEMBER_ONLY}
    whole = {key: _whole(given, key, 0) for key in ours if key.endswith(".ms")}
    return MemberConfig.from_dict({**ours, **whole})


def _fetcher_config(given: Mapping[str, Any]) -> dict[str, Any]:
    """What librdkafka is told: never anything that would make it join a group or commit by itself."""
    passed = {key: value for key, value in given.items() if key not in _MEMBER_ONLY | _CONSUMER_ONLY}
    reset = {"auto.offset.reset": given["auto.offset.reset"]} if "auto.offset.reset" in given else {}
    return {**passed, **reset, "enable.auto.commit": False, "enable.auto.offset.store": False}


def _flag(given: Mapping[str, Any], key: str) -> bool:
    """As librdkafka reads it: a bool, or a word for one."""
    value = given.get(key, True)
    word = str(value).lower() if isinstance(value, str | bool) or value in (0, 1) else ""
    if word not in {"true", "t", "1", "false", "f", "0"}:
        raise ConfigError(f"{key} must be true or false, not {shown(value)}.")
    return word in {"true", "t", "1"}


def _whole(given: Mapping[str, Any], key: str, default: int) -> int:
    """As librdkafka reads it: an int, or the digits of one."""
    value = given.get(key, default)
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_INT32:
        raise ConfigError(f"{key} must be a whole number of milliseconds, below 2**31, not {shown(value)}.")
    return value
