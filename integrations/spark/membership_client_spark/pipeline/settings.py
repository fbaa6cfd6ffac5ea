"""The configuration of a pipeline, for its three users: members in the driver, readers in tasks, and the admin client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from confluent_kafka import Consumer

from membership_client import ConfigError, MemberConfig, Security
from membership_client.arguments import flag_from, shown, word_from
from membership_client_spark.arguments import check_consumer
from membership_client_spark.slot_member import Config, checked_config

Reset = Literal["earliest", "latest", "error"]

_RESETS: dict[str, Reset] = {
    "smallest": "earliest",
    "earliest": "earliest",
    "beginning": "earliest",
    "largest": "latest",
    "latest": "latest",
    "end": "latest",
    "error": "error",
}
_FOR_BOTH = frozenset({"bootstrap.servers", "group.id", "client.rack", "socket.connection.setup.timeout.ms"})
_OF_MEMBERS = frozenset(one.name.replace("_", ".") for one in fields(MemberConfig))
_COMMITS = frozenset({"enable.auto.commit", "enable.auto.offset.store", "auto.commit.interval.ms", "on_commit"})
_FOR_ALL_CLIENTS = ("bootstrap.servers", "client.", "socket.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSettings:
    """The user's configuration, sorted by its users. It may have secrets, so its repr does not show it."""

    members: Mapping[str, Any] = field(repr=False)
    readers: Mapping[str, Any] = field(repr=False)
    """For confluent_kafka.Consumer."""
    clients: Mapping[str, Any] = field(repr=False)
    """For any client of librdkafka."""
    reset: Reset
    """Where a partition without a committed offset starts, or one whose records were deleted."""
    only_committed: bool
    """Records of open and aborted transactions are not read."""


def settings_of(config: Config) -> PipelineSettings:
    """ConfigError for keys and values that cannot work, on the driver instead of in a task."""
    config = checked_config(config)
    _check_commits(config)
    reset = word_from(config.get("auto.offset.reset", "latest"))
    if not isinstance(reset, str) or reset not in _RESETS:
        raise ConfigError(f"auto.offset.reset must be one of {', '.join(_RESETS)}, not {shown(reset)}.")
    members = {key: value for key, value in config.items() if key in _OF_MEMBERS}
    secure = {key: value for key, value in config.items() if key in Security.KEYS}
    MemberConfig.from_dict(members)
    Security.from_dict(secure)
    fetching = {key: value for key, value in config.items() if key not in _OF_MEMBERS - _FOR_BOTH | _COMMITS}
    readers = {**fetching, **_READING}
    check_consumer(Consumer, readers)
    return PipelineSettings(
        members=members | secure,
        readers=readers,
        clients=secure | {key: value for key, value in fetching.items() if key.startswith(_FOR_ALL_CLIENTS)},
        reset=_RESETS[reset],
        only_committed=word_from(config.get("isolation.level")) != "read_uncommitted",
    )


_READING = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A range may end in offsets without records; then only the end of the partition shows that it was read.
    "enable.partition.eof": True,
    # A range is read as planned, or the task fails.
    "auto.offset.reset": "error",
}


def _check_commits(config: Config) -> None:
    if "on_commit" in config or flag_from(config.get("enable.auto.commit", False)) is not False:
        raise ConfigError(
            "The pipeline commits by itself, after each epoch: leave enable.auto.commit and on_commit out of config."
        )
