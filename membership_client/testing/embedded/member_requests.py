"""Requests of members: heartbeats, joins, syncs and leaves of both protocols."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace
from typing import Any

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    ClassicHeartbeat,
    GroupJoined,
    GroupSynced,
    Heartbeat,
    HeartbeatAccepted,
    JoinGroup,
    LeaveGroup,
    MemberIdGiven,
    Refused,
    Response,
)
from membership_client.partitions import Partitions
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.groups import GroupType
from membership_client.testing.embedded.opaque_blobs import OpaqueBlobs
from membership_client.testing.embedded.wire import Fields
from membership_client.testing.fake_classic import OpaqueJoin, OpaqueSync

_ID_REQUIRED_VERSION = 4
"""From this version on, the answer to a JoinGroup without a member id is a member id, with which it must be sent again."""
_OWN_ID_VERSION = 1
"""From this version on, members choose their own ids (KIP-1082)."""


# --- the consumer protocol -------------------------------------------------------------------------------------------


def consumer_heartbeat(cluster: Cluster, call: BrokerCall) -> None:
    groups = cluster.groups
    heartbeat = _heartbeat(call)
    fence = groups.take_fence(heartbeat.group_id, heartbeat.member_id) if heartbeat.epoch > 0 else 0
    if fence:
        call.reply({"error_code": fence, "error_message": "The member was fenced by the test."})
    elif heartbeat.epoch == 0 and not groups.become(heartbeat.group_id, GroupType.CONSUMER):
        text = f"Group {heartbeat.group_id} is not a consumer group."
        call.reply({"error_code": Code.GROUP_ID_NOT_FOUND, "error_message": text})
    else:
        reply = lambda answer: call.reply(_heartbeat_answer(heartbeat, answer))  # noqa: E731 - short, and used once
        groups.ask(heartbeat.group_id, heartbeat, call.now, call.client, reply)


def _heartbeat(call: BrokerCall) -> Heartbeat:
    request = call.request
    timeout_s = request.rebalance_timeout.total_seconds()
    gives_id = call.version < _OWN_ID_VERSION and not request.member_id and request.member_epoch == 0
    return Heartbeat(
        group_id=request.group_id,
        member_id=str(uuid.uuid4()) if gives_id else request.member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_s=timeout_s if timeout_s >= 0 else None,
        topics=request.subscribed_topic_names,
        regex=call.get("subscribed_topic_regex"),
        assignor=request.server_assignor,
        owned=_owned(request.topic_partitions),
    )


def _owned(topics: Any) -> Partitions | None:
    return None if topics is None else Partitions.of({topic.topic_id: topic.partitions for topic in topics})


def _heartbeat_answer(heartbeat: Heartbeat, answer: Response) -> Fields:
    if isinstance(answer, Refused):
        return refused(answer)
    assert isinstance(answer, HeartbeatAccepted)
    return {
        "member_id": heartbeat.member_id,
        "member_epoch": answer.epoch,
        "heartbeat_interval": dt.timedelta(seconds=answer.interval_s),
        "assignment": None if answer.assignment is None else {"topic_partitions": told_partitions(answer.assignment)},
    }


def told_partitions(partitions: Partitions) -> list[Fields]:
    return [{"topic_id": topic, "partitions": tuple(sorted(numbers))} for topic, numbers in partitions.by_topic.items()]


def refused(answer: Response) -> Fields:
    """The fields for a refusal. They also fit an answer to success that has no other fields."""
    if isinstance(answer, Refused):
        return {"error_code": answer.code, "error_message": answer.message}
    return {}


# --- the classic protocol --------------------------------------------------------------------------------------------


def join_group(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    join = _join(call)
    refusal = _join_refusal(cluster, join)
    if refusal:
        call.reply({"error_code": refusal, "member_id": request.member_id})
        return

    def answer(response: Response) -> None:
        if isinstance(response, MemberIdGiven) and call.version < _ID_REQUIRED_VERSION:
            named = replace(join, member_id=response.member_id)
            cluster.groups.ask(named.group_id, named, call.now, call.client, answer)
        else:
            call.reply(_join_answer(cluster, join, response))

    cluster.groups.ask(join.group_id, join, call.now, call.client, answer)


def _join(call: BrokerCall) -> OpaqueJoin:
    request = call.request
    session_timeout_s = request.session_timeout.total_seconds()
    return OpaqueJoin(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=call.get("group_instance_id"),
        session_timeout_s=session_timeout_s,
        rebalance_timeout_s=request.rebalance_timeout.total_seconds() if call.version else session_timeout_s,
        strategies=tuple(each.name for each in request.protocols),
        topics=frozenset(),
        reason=call.get("reason") or "not provided",
        protocol_type=request.protocol_type,
        metadata=tuple((each.name, each.metadata) for each in request.protocols),
    )


def _join_refusal(cluster: Cluster, join: OpaqueJoin) -> int:
    """The error code of a join that is refused before the group is asked; 0 for none."""
    settings = cluster.settings
    shortest, longest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if not join.group_id:
        return Code.INVALID_GROUP_ID
    if not shortest <= join.session_timeout_s * 1000 <= longest:
        return Code.INVALID_SESSION_TIMEOUT
    if not join.strategies or not join.protocol_type or not cluster.groups.become(join.group_id, GroupType.CLASSIC):
        return Code.INCONSISTENT_GROUP_PROTOCOL
    group = cluster.groups.classic(join.group_id)
    others = () if group is None else group.members.values()
    if any(isinstance(each.said, OpaqueJoin) and each.said.protocol_type != join.protocol_type for each in others):
        return Code.INCONSISTENT_GROUP_PROTOCOL
    return cluster.groups.take_fence(join.group_id, join.member_id) and Code.UNKNOWN_MEMBER_ID


def _join_answer(cluster: Cluster, join: OpaqueJoin, response: Response) -> Fields:
    match response:
        case Refused():
            return {"error_code": response.code, "member_id": join.member_id, "generation_id": -1}
        case MemberIdGiven():
            return {"error_code": Code.MEMBER_ID_REQUIRED, "member_id": response.member_id, "generation_id": -1}
    assert isinstance(response, GroupJoined)
    return {
        "generation_id": response.generation,
        "protocol_type": join.protocol_type,
        "protocol_name": response.strategy,
        "leader": response.leader_id,
        "skip_assignment": response.skip_assignment,
        "member_id": response.member_id,
        "members": _told_members(cluster, join.group_id, response),
    }


def _told_members(cluster: Cluster, group_id: str, joined: GroupJoined) -> list[Fields]:
    group = cluster.groups.classic(group_id)
    if group is None or not joined.leads:
        return []
    return [
        {
            "member_id": member.member_id,
            "group_instance_id": member.instance_id,
            "metadata": metadata_of(member.said, joined.strategy),
        }
        for member in group.members.values()
    ]


def metadata_of(said: JoinGroup, strategy: str) -> bytes:
    return dict(said.metadata).get(strategy, b"") if isinstance(said, OpaqueJoin) else b""


def sync_group(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    sync = OpaqueSync(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=call.get("group_instance_id"),
        generation=request.generation_id,
        strategy=call.get("protocol_name") or "",
        shares={each.member_id: each.assignment for each in request.assignments},
    )
    fence = cluster.groups.take_fence(sync.group_id, sync.member_id)
    if fence:
        call.reply({"error_code": Code.UNKNOWN_MEMBER_ID})
        return
    reply = lambda answer: call.reply(_sync_answer(cluster, sync, answer))  # noqa: E731 - short, and used once
    cluster.groups.ask(sync.group_id, sync, call.now, call.client, reply)


def _sync_answer(cluster: Cluster, sync: OpaqueSync, answer: Response) -> Fields:
    if isinstance(answer, Refused):
        return refused(answer)
    group = cluster.groups.classic(sync.group_id)
    if group is None:
        assert isinstance(answer, GroupSynced)
        share = OpaqueBlobs().written(answer.share)
        return {"protocol_type": "consumer", "protocol_name": sync.strategy, "assignment": share}
    member = group.members[sync.member_id]
    protocol_type = member.said.protocol_type if isinstance(member.said, OpaqueJoin) else None
    return {"protocol_type": protocol_type, "protocol_name": group.strategy, "assignment": member.opaque_share}


def heartbeat(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    fence = cluster.groups.take_fence(request.group_id, request.member_id)
    if fence:
        call.reply({"error_code": fence})
        return
    asked = ClassicHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=call.get("group_instance_id"),
        generation=request.generation_id,
    )
    reply = lambda answer: call.reply(refused(answer))  # noqa: E731 - short, and used once
    cluster.groups.ask(asked.group_id, asked, call.now, call.client, reply)


# --- leaving ---------------------------------------------------------------------------------------------------------


def leave_group(cluster: Cluster, call: BrokerCall) -> None:
    """Answer LeaveGroup, in groups of both protocols. A request that names several members is from an administrator."""
    members = call.get("members")
    if members is None:
        call.reply(_leave(cluster, call, call.request.member_id, None, None))
        return
    answers = [
        _leave(cluster, call, each.member_id, each.group_instance_id, getattr(each, "reason", None)) for each in members
    ]
    call.reply({"members": answers})


def _leave(cluster: Cluster, call: BrokerCall, member_id: str, instance_id: str | None, reason: str | None) -> Fields:
    answers: list[Response] = []
    leave = LeaveGroup(
        group_id=call.request.group_id, member_id=member_id, instance_id=instance_id, reason=reason or "not provided"
    )
    cluster.groups.ask(leave.group_id, leave, call.now, call.client, answers.append)
    return {"member_id": member_id, "group_instance_id": instance_id, **refused(answers[0])}
