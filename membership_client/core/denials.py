"""What a broker does not allow, as the operation and the resource that somebody has to grant."""

from __future__ import annotations

from collections.abc import Collection

from membership_client.core.error_codes import Code
from membership_client.core.events import FindCoordinator, Request
from membership_client.core.member import Member


def denied(member: Member, request: Request, code: int) -> str | None:
    """A sentence without its end, or None if the code is about something else."""
    if code == Code.GROUP_AUTHORIZATION_FAILED:
        operation = "DESCRIBE" if isinstance(request, FindCoordinator) else "READ"
        return f"{operation} on group {member.config.group_id} is not granted"
    if code == Code.TOPIC_AUTHORIZATION_FAILED:
        return denied_topics(member.subscription.topics if member.subscription else ())
    if code == Code.CLUSTER_AUTHORIZATION_FAILED:
        return f"What {type(request).__name__} needs on the cluster is not granted"
    return None


def denied_topics(topics: Collection[str]) -> str:
    """The same of topics; brokers do not say which of several it is."""
    names = ", ".join(sorted(topics))
    which = f"topic {names}" if len(topics) == 1 else f"one or more of the topics {names}"
    return f"DESCRIBE on {which} is not granted"
