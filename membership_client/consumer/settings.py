"""One configuration for two: what concerns the group is the member's, what concerns fetching is librdkafka's.

A key that would reach neither is refused: a setting that is silently ignored would be noticed in production only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import confluent_kafka
from confluent_kafka import KafkaError, TopicPartition

from membership_client.arguments import (
    MOST_INT32,
    checked_function,
    duration_s,
    flag_from,
    is_unset,
    shown,
    whole_from,
    with_dots,
    word_from,
)
from membership_client.config import MemberConfig
from membership_client.consumer.keys import KEYS, Reach, with_reach
from membership_client.errors import ConfigError
from membership_client.security import Security, split_security
from membership_client.values import dataclass

if TYPE_CHECKING:
    from membership_client.consumer.statistics import Statistics

OnCommit = Callable[[KafkaError | None, list[TopicPartition]], None]

_OF_MEMBER = frozenset(field.name.replace("_", ".") for field in fields(MemberConfig))
_BOTH = _OF_MEMBER & with_reach(Reach.BOTH)
_NOT_FOR_LIBRDKAFKA = (_OF_MEMBER - _BOTH) | with_reach(Reach.MEMBERSHIP)
_DOTTED = _OF_MEMBER | KEYS.keys()

_ONE_VALUE = {"group.protocol.type": "consumer", "offset.store.method": "broker"}
"""Keys that only may have librdkafka's default here, because no other value would have a meaning."""

_BY_DURATION = "by_duration:"

_HEARTBEAT_INTERVAL_MS = 3000
"""The default."""

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
    """The configuration of a Consumer, sorted by the side that acts on each key."""

    member: MemberConfig
    security: Security
    """For the member; librdkafka is told the same."""
    fetcher: dict[str, Any]
    """For librdkafka; it may hold secrets, so it is never shown."""
    auto_commit_s: float | None
    """Seconds between automatic commits; None without them."""
    auto_store: bool
    """True if a record counts as read when poll() returned it, False if only when store_offsets() says so."""
    start: int
    """Where a partition without a committed offset starts."""
    reset_s: float | None
    """With auto.offset.reset=by_duration: how long ago the first record to read was written."""
    on_commit: OnCommit | None
    statistics: Statistics | None
    """What fills in the statistics before the application's `stats_cb` gets them; None without that callback."""

    def __repr__(self) -> str:
        return f"Settings({self.member!r})"


def settings_of(config: Mapping[str, Any]) -> Settings:
    """Check the keys of the membership; librdkafka's constructor checks the others."""
    given = _normalised(config)
    on_commit = given.get("on_commit")
    if on_commit is not None:
        checked_function("on_commit", on_commit, of="an error, or None, and partitions")
    _refuse_what_reaches_nobody(given)
    statistics = _statistics(given)
    seconds = _milliseconds(given, "auto.commit.interval.ms", 5000) / 1000
    reset, reset_s = _reset(given)
    return Settings(
        member=_member_config(given),
        security=split_security(given)[0],
        fetcher=_fetcher_config(
            given
            | ({} if statistics is None else {"stats_cb": statistics})
            | ({} if reset_s is None else {"auto.offset.reset": reset})
        ),
        auto_commit_s=seconds if _flag(given, "enable.auto.commit") and seconds > 0 else None,
        auto_store=_flag(given, "enable.auto.offset.store"),
        start=_STARTS[reset],
        reset_s=reset_s,
        on_commit=on_commit,
        statistics=statistics,
    )


def _normalised(config: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys for all that has a dotted name, as confluent-kafka's keyword arguments allow both."""
    dotted = with_dots(config, _DOTTED)
    of_topics = dotted.pop("default.topic.config", None)
    nested = {} if is_unset(of_topics) else with_dots(of_topics, _DOTTED)
    if "metadata.broker.list" in dotted:
        dotted.setdefault("bootstrap.servers", dotted.pop("metadata.broker.list"))
    return {**nested, **dotted}


def _refuse_what_reaches_nobody(given: Mapping[str, Any]) -> None:
    """ConfigError, which says why the key is refused and what to do instead."""
    for key in given:
        if (found := KEYS.get(key)) is not None and found.reach is Reach.REFUSED:
            raise ConfigError(f"{key}: {found.note}.")
    for key, only in _ONE_VALUE.items():
        if given.get(key) is not None and word_from(given[key]) != only:
            raise ConfigError(f"{key} must be {only}, not {shown(given[key])}: {KEYS[key].note}.")


def _reset(given: Mapping[str, Any]) -> tuple[str, float | None]:
    """The word that librdkafka is told, and the duration of by_duration, which it does not know: see duration_reset.py."""
    value = word_from(given.get("auto.offset.reset", "largest"))
    if isinstance(value, str) and value.startswith(_BY_DURATION):
        return "error", _reset_duration_s(value)
    if not isinstance(value, str) or value not in _STARTS:
        known = ", ".join((*_STARTS, f"{_BY_DURATION}PT1H"))
        raise ConfigError(f"auto.offset.reset must be one of {known}, not {shown(value)}.")
    return value, None


def _reset_duration_s(value: str) -> float:
    long_s = duration_s(value.removeprefix(_BY_DURATION))
    if long_s is None:
        raise ConfigError(
            f"auto.offset.reset={shown(value)}: after {_BY_DURATION} comes a duration that is not negative, in ISO 8601, "
            "such as P1D, PT6H or PT1H30M."
        )
    return long_s


def _member_config(given: Mapping[str, Any]) -> MemberConfig:
    ours = {key: value for key, value in given.items() if key in _OF_MEMBER}
    return MemberConfig.from_dict({**_heartbeat_interval(given), **ours})


def _heartbeat_interval(given: Mapping[str, Any]) -> dict[str, int]:
    """A third of a session.timeout.ms that is too short for the default interval: confluent-kafka accepts it alone."""
    session_ms = _milliseconds(given, "session.timeout.ms", _HEARTBEAT_INTERVAL_MS + 1)
    return {"heartbeat.interval.ms": max(1, session_ms // 3)} if 1 < session_ms <= _HEARTBEAT_INTERVAL_MS else {}


def _statistics(given: Mapping[str, Any]) -> Statistics | None:
    """None for a `stats_cb` that is no function, because confluent-kafka refuses it."""
    tell = given.get("stats_cb")
    if not callable(tell):
        return None
    from membership_client.consumer.statistics import Statistics  # noqa: PLC0415 - loads json

    read_committed = word_from(given.get("isolation.level", "read_committed")) != "read_uncommitted"
    return Statistics(tell, auto_store=_flag(given, "enable.auto.offset.store"), read_committed=read_committed)


def _fetcher_config(given: Mapping[str, Any]) -> dict[str, Any]:
    """What librdkafka is told: never anything that would make it join a group or commit by itself."""
    passed = {key: value for key, value in given.items() if key not in _NOT_FOR_LIBRDKAFKA}
    return {**passed, "enable.auto.commit": False, "enable.auto.offset.store": False}


def _flag(given: Mapping[str, Any], key: str) -> bool:
    value = flag_from(given.get(key, True))
    if not isinstance(value, bool):
        raise ConfigError(f"{key} must be true or false, not {shown(value)}.")
    return value


def _milliseconds(given: Mapping[str, Any], key: str, default: int) -> int:
    value = whole_from(given.get(key, default))
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_INT32:
        raise ConfigError(f"{key} must be a whole number of milliseconds, below 2**31, not {shown(value)}.")
    return value
