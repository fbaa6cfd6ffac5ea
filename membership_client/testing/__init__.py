"""Kafka brokers for tests and demonstrations, embedded in this process or real ones, and a kit that tests programs in groups."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from membership_client.testing.described import DescribedMember, GroupDescription
from membership_client.testing.embedded.kafka import EmbeddedKafka, ForkedKafkaError
from membership_client.testing.jars import cached_kafka_jars
from membership_client.testing.java import find_java
from membership_client.testing.settings import Listener

if TYPE_CHECKING:
    from membership_client.testing.admin import ClusterAdmin
    from membership_client.testing.kafka import KafkaCluster, KafkaStartError, KafkaUnavailableError
    from membership_client.testing.kit.checks import (
        CheckError,
        at_least_once,
        at_least_once_in,
        callbacks_within,
        everything_committed_before_release,
        exactly_once,
        exactly_once_in,
        no_commit_after_loss,
        nothing_processed_after_revoke,
        nothing_raised,
    )
    from membership_client.testing.kit.events import (
        Crash,
        ExpireSession,
        Fence,
        Join,
        Leave,
        LoseAnswer,
        MoveCoordinator,
        Stall,
    )
    from membership_client.testing.kit.explore import Explored, StoryError, explore, play
    from membership_client.testing.kit.group import KafkaGroup
    from membership_client.testing.kit.history import Entry, History, Record, What
    from membership_client.testing.kit.instance import Instance
    from membership_client.testing.kit.virtual_group import VirtualGroup

__all__ = [
    "CheckError",
    "ClusterAdmin",
    "Crash",
    "DescribedMember",
    "EmbeddedKafka",
    "Entry",
    "ExpireSession",
    "Explored",
    "Fence",
    "ForkedKafkaError",
    "GroupDescription",
    "History",
    "Instance",
    "Join",
    "KafkaCluster",
    "KafkaGroup",
    "KafkaStartError",
    "KafkaUnavailableError",
    "Leave",
    "Listener",
    "LoseAnswer",
    "MoveCoordinator",
    "Record",
    "Stall",
    "StoryError",
    "VirtualGroup",
    "What",
    "at_least_once",
    "at_least_once_in",
    "cached_kafka_jars",
    "callbacks_within",
    "everything_committed_before_release",
    "exactly_once",
    "exactly_once_in",
    "explore",
    "find_java",
    "no_commit_after_loss",
    "nothing_processed_after_revoke",
    "nothing_raised",
    "play",
]

_LOADED_LATER = {
    "ClusterAdmin": "membership_client.testing.admin",
    "KafkaCluster": "membership_client.testing.kafka",
    "KafkaStartError": "membership_client.testing.kafka",
    "KafkaUnavailableError": "membership_client.testing.kafka",
    "CheckError": "membership_client.testing.kit.checks",
    "at_least_once": "membership_client.testing.kit.checks",
    "at_least_once_in": "membership_client.testing.kit.checks",
    "callbacks_within": "membership_client.testing.kit.checks",
    "everything_committed_before_release": "membership_client.testing.kit.checks",
    "exactly_once": "membership_client.testing.kit.checks",
    "exactly_once_in": "membership_client.testing.kit.checks",
    "no_commit_after_loss": "membership_client.testing.kit.checks",
    "nothing_processed_after_revoke": "membership_client.testing.kit.checks",
    "nothing_raised": "membership_client.testing.kit.checks",
    "Crash": "membership_client.testing.kit.events",
    "ExpireSession": "membership_client.testing.kit.events",
    "Fence": "membership_client.testing.kit.events",
    "Join": "membership_client.testing.kit.events",
    "Leave": "membership_client.testing.kit.events",
    "LoseAnswer": "membership_client.testing.kit.events",
    "MoveCoordinator": "membership_client.testing.kit.events",
    "Stall": "membership_client.testing.kit.events",
    "Explored": "membership_client.testing.kit.explore",
    "StoryError": "membership_client.testing.kit.explore",
    "explore": "membership_client.testing.kit.explore",
    "play": "membership_client.testing.kit.explore",
    "KafkaGroup": "membership_client.testing.kit.group",
    "Entry": "membership_client.testing.kit.history",
    "History": "membership_client.testing.kit.history",
    "Record": "membership_client.testing.kit.history",
    "What": "membership_client.testing.kit.history",
    "Instance": "membership_client.testing.kit.instance",
    "VirtualGroup": "membership_client.testing.kit.virtual_group",
}
"""Names that are loaded at their first use: they import kio's message formats, which take long to load, or the test kit."""


def __getattr__(name: str) -> Any:
    if name not in _LOADED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LOADED_LATER[name]), name)
