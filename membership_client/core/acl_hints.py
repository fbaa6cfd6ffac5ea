"""What a broker does not allow, as the operation and the resource that an operator has to grant."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    DescribeClassicGroup,
    DescribeGroup,
    DescribeSessionTimeout,
    DescribeTopics,
    FindCoordinator,
    Request,
    ResolveTopics,
)
from membership_client.core.member import Member

_ON_THE_CLUSTER: Mapping[type, str] = {
    FindCoordinator: "DESCRIBE",
    DescribeGroup: "DESCRIBE",
    DescribeClassicGroup: "DESCRIBE",
    DescribeTopics: "DESCRIBE",
    ResolveTopics: "DESCRIBE",
    DescribeSessionTimeout: "DESCRIBE_CONFIGS",
}


def denied(member: Member, request: Request, code: int) -> str | None:
    """A clause without its full stop, or None if the code is about something else."""
    if code == Code.GROUP_AUTHORIZATION_FAILED:
        return _denied_group(member.config.group_id, "DESCRIBE" if isinstance(request, FindCoordinator) else "READ")
    if code == Code.TOPIC_AUTHORIZATION_FAILED:
        return _denied_among(member.subscription.topics if member.subscription else frozenset())
    if code == Code.CLUSTER_AUTHORIZATION_FAILED:
        operation = _ON_THE_CLUSTER.get(type(request), "CLUSTER_ACTION")
        return f"{operation} on the cluster is not granted, which {type(request).__name__} needs here"
    return None


def denied_offsets(operation: str, group_id: str, topics: Collection[str], code: int) -> str | None:
    """As `denied`, of offsets: to commit takes READ, to look DESCRIBE. `topics` are those that the code came with."""
    if code == Code.GROUP_AUTHORIZATION_FAILED:
        return _denied_group(group_id, operation)
    if code == Code.TOPIC_AUTHORIZATION_FAILED and topics:
        return denied_topics(topics, operation)
    return None


def denied_topics(topics: Collection[str], operation: str = "DESCRIBE") -> str:
    """Each of these is denied."""
    which = "topic" if len(topics) == 1 else "topics"
    return f"{operation} on {which} {', '.join(sorted(topics))} is not granted"


def _denied_group(group_id: str, operation: str) -> str:
    return f"{operation} on group {group_id} is not granted"


def _denied_among(topics: Collection[str]) -> str:
    """A heartbeat is refused as a whole: the broker does not say which of several topics it is."""
    if len(topics) == 1:
        return denied_topics(topics)
    return f"DESCRIBE on one or more of the topics {', '.join(sorted(topics))} is not granted"
