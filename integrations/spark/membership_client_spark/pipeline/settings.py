"""One configuration for three: the members in the driver, the readers in the tasks, and the questions about offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from confluent_kafka import Consumer

from membership_client import ConfigError, MemberConfig, Security
from membership_client.arguments import flag_from, shown, word_from
from membership_client_spark.arguments import check_consumer
from membership_client_spark.holders import Config
from membership_client_spark.slot_config import checked_config

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
    """What the user gave, sorted by who acts on it. It may hold secrets, so it is never shown."""

    members: Mapping[str, Any] = field(repr=False)
    readers: Mapping[str, Any] = field(repr=False)
    """For confluent_kafka.Consumer."""
    clients: Mapping[str, Any] = field(repr=False)
    """What any client of librdkafka takes."""
    reset: Reset
    """Where a partition starts of which nothing is known, or whose records are gone."""
    only_committed: bool
    """Records of open and aborted transactions are not read."""


def settings_of(config: Config) -> PipelineSettings:
    """ConfigError for what cannot work, here and not first in a task."""
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
    # Ranges may end in offsets that have no record; only the end of the partition tells.
    "enable.partition.eof": True,
    # A range is read as planned or not at all.
    "auto.offset.reset": "error",
}


def _check_commits(config: Config) -> None:
    if "on_commit" in config or flag_from(config.get("enable.auto.commit", False)) is not False:
        raise ConfigError(
            "The pipeline commits by itself, after each epoch: leave enable.auto.commit and on_commit out."
        )
