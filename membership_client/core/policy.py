"""What each broker error means for each request: one table, complete for every code a 4.x broker can answer with.

A code that a table does not list is fatal for a heartbeat or a coordinator look-up, because an unknown error must not be
retried for ever in silence. Other requests are then not repeated.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from types import MappingProxyType

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    DescribeClassicGroup,
    DescribeGroup,
    DescribeSessionTimeout,
    DescribeTopics,
    FailureKind,
    FindCoordinator,
    Heartbeat,
    JoinGroup,
    Request,
    ResolveTopics,
    SyncGroup,
)
from membership_client.core.member import Member
from membership_client.errors import ProblemKind


class Reaction(enum.Enum):
    """What the member does about an error code."""

    RETRY = "again, after a backoff"
    REDISCOVER = "find the coordinator again, then repeat"
    FENCE = "partitions are lost; join again"
    FENCE_UNKNOWN = "as FENCE, and the coordinator no longer knows us"
    INSTANCE_ID_HELD = "the instance id is taken"
    SUPERSEDED = "another process took our instance id over"
    FULL = "the group is full"
    DENIED_TOPIC = "keep trying: access may be granted"
    REBALANCE = "the group rebalances: join again"
    MISMATCH = "no strategy is common to all members"
    NO_GROUP = "the group is gone if we were in it, of another type if we were not"
    DONE = "it is as we wanted"
    FATAL = "repeating cannot mend it"


_PASSING: dict[int, Reaction] = {
    Code.UNKNOWN_SERVER_ERROR: Reaction.RETRY,
    Code.REQUEST_TIMED_OUT: Reaction.RETRY,
    Code.NETWORK_EXCEPTION: Reaction.RETRY,
    Code.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    Code.THROTTLING_QUOTA_EXCEEDED: Reaction.RETRY,
    Code.COORDINATOR_NOT_AVAILABLE: Reaction.REDISCOVER,
    Code.NOT_COORDINATOR: Reaction.REDISCOVER,
}

HEARTBEAT: Mapping[int, Reaction] = MappingProxyType(
    _PASSING
    | {
        Code.FENCED_MEMBER_EPOCH: Reaction.FENCE,
        Code.UNKNOWN_MEMBER_ID: Reaction.FENCE_UNKNOWN,
        Code.UNRELEASED_INSTANCE_ID: Reaction.INSTANCE_ID_HELD,
        Code.FENCED_INSTANCE_ID: Reaction.SUPERSEDED,
        Code.GROUP_MAX_SIZE_REACHED: Reaction.FULL,
        Code.TOPIC_AUTHORIZATION_FAILED: Reaction.DENIED_TOPIC,
        Code.GROUP_ID_NOT_FOUND: Reaction.NO_GROUP,
        Code.GROUP_AUTHORIZATION_FAILED: Reaction.FATAL,
        Code.CLUSTER_AUTHORIZATION_FAILED: Reaction.FATAL,
        Code.INVALID_GROUP_ID: Reaction.FATAL,
        Code.INVALID_REQUEST: Reaction.FATAL,
        Code.INVALID_REGULAR_EXPRESSION: Reaction.FATAL,
        Code.UNSUPPORTED_ASSIGNOR: Reaction.FATAL,
        Code.UNSUPPORTED_VERSION: Reaction.FATAL,
    }
)

_AS_CLASSIC_MEMBER: dict[int, Reaction] = {
    Code.REBALANCE_IN_PROGRESS: Reaction.REBALANCE,
    Code.ILLEGAL_GENERATION: Reaction.FENCE,
    Code.UNKNOWN_MEMBER_ID: Reaction.FENCE_UNKNOWN,
    Code.FENCED_INSTANCE_ID: Reaction.SUPERSEDED,
    Code.GROUP_ID_NOT_FOUND: Reaction.NO_GROUP,
    Code.GROUP_AUTHORIZATION_FAILED: Reaction.FATAL,
    Code.CLUSTER_AUTHORIZATION_FAILED: Reaction.FATAL,
    Code.INVALID_GROUP_ID: Reaction.FATAL,
    Code.INVALID_REQUEST: Reaction.FATAL,
    Code.UNSUPPORTED_VERSION: Reaction.FATAL,
}

CLASSIC_HEARTBEAT: Mapping[int, Reaction] = MappingProxyType(_PASSING | _AS_CLASSIC_MEMBER)

SYNC: Mapping[int, Reaction] = MappingProxyType(
    _PASSING | _AS_CLASSIC_MEMBER | {Code.INCONSISTENT_GROUP_PROTOCOL: Reaction.MISMATCH}
)
"""After a refused sync the member joins again, because the group may be in another generation."""

JOIN: Mapping[int, Reaction] = MappingProxyType(
    _PASSING
    | _AS_CLASSIC_MEMBER
    | {
        Code.GROUP_MAX_SIZE_REACHED: Reaction.FULL,
        Code.INCONSISTENT_GROUP_PROTOCOL: Reaction.MISMATCH,
        Code.INVALID_SESSION_TIMEOUT: Reaction.FATAL,
    }
)

FIND_COORDINATOR: Mapping[int, Reaction] = MappingProxyType(
    {
        Code.UNKNOWN_SERVER_ERROR: Reaction.RETRY,
        Code.REQUEST_TIMED_OUT: Reaction.RETRY,
        Code.NETWORK_EXCEPTION: Reaction.RETRY,
        Code.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
        Code.COORDINATOR_NOT_AVAILABLE: Reaction.RETRY,
        Code.NOT_COORDINATOR: Reaction.RETRY,
        Code.THROTTLING_QUOTA_EXCEEDED: Reaction.RETRY,
        Code.GROUP_AUTHORIZATION_FAILED: Reaction.FATAL,
        Code.CLUSTER_AUTHORIZATION_FAILED: Reaction.FATAL,
        Code.INVALID_GROUP_ID: Reaction.FATAL,
        Code.INVALID_REQUEST: Reaction.FATAL,
        Code.UNSUPPORTED_VERSION: Reaction.FATAL,
    }
)

_ANY_COORDINATOR_REQUEST: dict[int, Reaction] = {
    Code.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    Code.COORDINATOR_NOT_AVAILABLE: Reaction.REDISCOVER,
    Code.NOT_COORDINATOR: Reaction.REDISCOVER,
}

_ALREADY_OUT: dict[int, Reaction] = {
    Code.UNKNOWN_MEMBER_ID: Reaction.DONE,
    Code.FENCED_MEMBER_EPOCH: Reaction.DONE,
    Code.FENCED_INSTANCE_ID: Reaction.DONE,
    Code.GROUP_ID_NOT_FOUND: Reaction.DONE,
}

LEAVE: Mapping[int, Reaction] = MappingProxyType(_ANY_COORDINATOR_REQUEST | _ALREADY_OUT)
"""LeaveGroup, or a heartbeat with epoch -1 or -2, for ourselves or on behalf of the holder of our instance id."""

DESCRIBE: Mapping[int, Reaction] = MappingProxyType(_ANY_COORDINATOR_REQUEST)
"""The group's members, or its session timeout. The member goes on without the answer where it is refused."""

METADATA: Mapping[int, Reaction] = MappingProxyType({Code.REBOOTSTRAP_REQUIRED: Reaction.REDISCOVER})
"""Names and numbers of topics: KIP-1102 sends a client back to its bootstrap servers; any other code is asked again later."""

REQUESTS: Mapping[type, Mapping[int, Reaction]] = MappingProxyType(
    {Heartbeat: HEARTBEAT, JoinGroup: JOIN, SyncGroup: SYNC, ClassicHeartbeat: CLASSIC_HEARTBEAT}
)
"""The table of each request about our own membership."""

FATAL_KINDS: Mapping[int, ProblemKind] = MappingProxyType(
    {
        Code.GROUP_AUTHORIZATION_FAILED: ProblemKind.GROUP_DENIED,
        Code.CLUSTER_AUTHORIZATION_FAILED: ProblemKind.CLUSTER_DENIED,
        Code.INVALID_REGULAR_EXPRESSION: ProblemKind.INVALID_REGEX,
        Code.INVALID_SESSION_TIMEOUT: ProblemKind.SESSION_TIMEOUT_REFUSED,
        Code.UNSUPPORTED_ASSIGNOR: ProblemKind.UNSUPPORTED_ASSIGNOR,
        Code.UNSUPPORTED_VERSION: ProblemKind.BROKER_TOO_OLD,
        Code.GROUP_ID_NOT_FOUND: ProblemKind.GROUP_TYPE,
        Code.GROUP_MAX_SIZE_REACHED: ProblemKind.GROUP_FULL,
    }
)
"""What the user's error says for a fatal code; codes that are not listed are `UNEXPECTED`."""

FATAL_FAILURES: Mapping[FailureKind, ProblemKind] = MappingProxyType(
    {FailureKind.AUTHENTICATION: ProblemKind.AUTHENTICATION, FailureKind.UNTRUSTED: ProblemKind.UNTRUSTED}
)
"""Failures that a retry cannot mend: a password or a certificate has to be changed first."""


# --- what to grant ---------------------------------------------------------------------------------------------------


_ON_THE_CLUSTER: Mapping[type, str] = {
    FindCoordinator: "DESCRIBE",
    DescribeGroup: "DESCRIBE",
    DescribeClassicGroup: "DESCRIBE",
    DescribeTopics: "DESCRIBE",
    ResolveTopics: "DESCRIBE",
    DescribeSessionTimeout: "DESCRIBE_CONFIGS",
}


def denied(member: Member, request: Request, code: int) -> str | None:
    """What is not granted, as a clause without its full stop; None if the code is about something else."""
    if code == Code.GROUP_AUTHORIZATION_FAILED:
        return _denied_group(member.config.group_id, "DESCRIBE" if isinstance(request, FindCoordinator) else "READ")
    if code == Code.TOPIC_AUTHORIZATION_FAILED:
        return _denied_among(member.subscription.topics if member.subscription else frozenset())
    if code == Code.CLUSTER_AUTHORIZATION_FAILED:
        operation = _ON_THE_CLUSTER.get(type(request), "CLUSTER_ACTION")
        return f"{operation} on the cluster is not granted, which {type(request).__name__} needs here"
    return None


def denied_offsets(operation: str, group_id: str, topics: Collection[str], code: int) -> str | None:
    """As `denied`, for offsets: a commit needs READ, a fetch DESCRIBE. `topics` are the topics with that code."""
    if code == Code.GROUP_AUTHORIZATION_FAILED:
        return _denied_group(group_id, operation)
    if code == Code.TOPIC_AUTHORIZATION_FAILED and topics:
        return denied_topics(topics, operation)
    return None


def denied_topics(topics: Collection[str], operation: str = "DESCRIBE") -> str:
    """The clause for topics each of which is denied."""
    which = "topic" if len(topics) == 1 else "topics"
    return f"{operation} on {which} {', '.join(sorted(topics))} is not granted"


def _denied_group(group_id: str, operation: str) -> str:
    return f"{operation} on group {group_id} is not granted"


def _denied_among(topics: Collection[str]) -> str:
    """A heartbeat is refused as a whole: the broker does not say which of several topics it is."""
    if len(topics) == 1:
        return denied_topics(topics)
    return f"DESCRIBE on one or more of the topics {', '.join(sorted(topics))} is not granted"
