"""Brokers for tests and demonstrations: embedded in this process, or real Kafka."""

from membership_client.testing.admin import ClusterAdmin
from membership_client.testing.described import DescribedMember, GroupDescription
from membership_client.testing.embedded.kafka import EmbeddedKafka
from membership_client.testing.jars import cached_kafka_jars
from membership_client.testing.java import find_java
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
from membership_client.testing.settings import Listener

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
