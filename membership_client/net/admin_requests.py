"""Requests that administrators send to brokers, and the answers, as frozen values."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from membership_client.core.events import OutsideRequest, OutsideResponse
from membership_client.types import Node, TopicPartition

# --- requests --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroups(OutsideRequest):
    """The groups that this broker coordinates, of every state and type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocateLeaders(OutsideRequest):
    """Metadata by name: all brokers, and the leaders of these topics' partitions."""

    topics: frozenset[str]


class Moment(enum.IntEnum):
    """Where in a partition, other than by a time in milliseconds."""

    LATEST = -1
    EARLIEST = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class FindOffsets(OutsideRequest):
    """ListOffsets, of partitions that this broker leads: by a Moment, or the first record at that time or later."""

    at: int
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAllOffsets(OutsideRequest):
    """OffsetFetch of all offsets that the group has committed. Answered by OffsetsFetched."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetOffsets(OutsideRequest):
    """OffsetDelete. Answered by OffsetsCommitted: a code for each partition."""

    group_id: str
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Leaver:
    """A member that is to be removed: by instance id alone, or by member id alone."""

    member_id: str = ""
    instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveMembers(OutsideRequest):
    """LeaveGroup on behalf of other members. Brokers before Kafka 3.2 have no field for the reason: they do not get it."""

    group_id: str
    members: tuple[Leaver, ...]
    reason: str


class Resource(enum.IntEnum):
    """What has a configuration."""

    BROKER = 4
    GROUP = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigs(OutsideRequest):
    """The configuration of a broker, which only that broker answers, or of a group, which any broker answers."""

    resource: Resource
    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterGroupConfigs(OutsideRequest):
    """IncrementalAlterConfigs: a new value per key; None goes back to the brokers' default."""

    group_id: str
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeBroker(OutsideRequest):
    """ApiVersions: the features of the cluster, and the versions that this broker has of each API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicRights(OutsideRequest):
    """Metadata with what this user may do with each topic; None asks for all topics that it may describe."""

    topics: frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupRights(OutsideRequest):
    """DescribeGroups, for what this user may do with the group. Coordinators answer it for groups of every kind, also for none."""

    group_id: str


# --- responses -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """`state` and `type` are empty where the broker is too old to tell (before Kafka 2.6, and 3.7)."""

    group_id: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class GroupsListed(OutsideResponse):
    groups: tuple[ListedGroup, ...]


@dataclass(frozen=True, slots=True)
class LeadersLocated(OutsideResponse):
    """Topics that the broker does not know are missing."""

    brokers: Mapping[int, Node]
    leaders: Mapping[TopicPartition, Node]
    unled: frozenset[TopicPartition]
    """Partitions that have no leader at the moment."""
    denied: frozenset[str] = frozenset()
    """Topics that this user may not describe."""


@dataclass(frozen=True, slots=True)
class OffsetsFound(OutsideResponse):
    """The offset found for each partition, -1 where no record is that late; partitions with an error are in `codes` instead."""

    offsets: Mapping[TopicPartition, int]
    codes: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class MembersRemoved(OutsideResponse):
    """An error code for each member; 0 where it was removed."""

    codes: Mapping[Leaver, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    name: str
    value: str | None
    is_own: bool
    """True if the value was set for this group, and is not inherited."""
    default: str | None
    """The value that it would have otherwise; None if the broker does not tell."""


@dataclass(frozen=True, slots=True)
class ConfigsDescribed(OutsideResponse):
    entries: tuple[ConfigEntry, ...]


@dataclass(frozen=True, slots=True)
class ConfigsAltered(OutsideResponse):
    pass


@dataclass(frozen=True, slots=True)
class BrokerDescribed(OutsideResponse):
    features: Mapping[str, int]
    """The finalized level of each feature; brokers leave out those at level 0."""
    apis: Mapping[int, tuple[int, int]]
    """The first and the last version of each API, by its key."""


class Operation(enum.IntEnum):
    """What a user may do, by the number of its bit in Kafka's sets of operations."""

    READ = 3
    DESCRIBE = 8


@dataclass(frozen=True, slots=True)
class TopicRights:
    partitions: int
    operations: frozenset[Operation] | None
    """None if the broker does not report them."""


@dataclass(frozen=True, slots=True)
class TopicRightsDescribed(OutsideResponse):
    """Topics that do not exist are missing."""

    topics: Mapping[str, TopicRights]
    denied: frozenset[str]
    """Topics that this user may not even describe; brokers report them only where they were asked for by name."""


@dataclass(frozen=True, slots=True)
class GroupRightsDescribed(OutsideResponse):
    operations: frozenset[Operation] | None
    """None if the broker does not report them."""
