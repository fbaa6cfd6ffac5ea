"""Requests about groups from outside: find, list, describe and delete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from membership_client.core.error_codes import Code
from membership_client.partitions import NOTHING, Partitions
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.groups import GroupType, consumer_state
from membership_client.testing.embedded.member_requests import metadata_of, told_partitions
from membership_client.testing.embedded.wire import Fields
from membership_client.testing.fake_classic import ClassicMember, FakeClassicGroup, JoinPhase, OpaqueJoin
from membership_client.testing.fake_group import FakeGroup
from membership_client.testing.fake_reconciler import Enrolled

_NO_OPERATIONS = -(2**31)
_GROUP_KEY, _TRANSACTION_KEY = 0, 1
_ERROR_VERSION = 6
"""From this version on, DescribeGroups has an error for unknown groups."""
_MEMBER_TYPE_CLASSIC, _MEMBER_TYPE_CONSUMER = 0, 1


def find_coordinator(cluster: Cluster, call: BrokerCall) -> None:
    key_type = call.get("key_type", _GROUP_KEY)
    keys = call.get("coordinator_keys")
    if keys is None:
        call.reply(_coordinator(cluster, key_type, call.request.key))
    else:
        call.reply({"coordinators": [_coordinator(cluster, key_type, key) for key in keys]})


def _coordinator(cluster: Cluster, key_type: int, key: str) -> Fields:
    if key_type not in {_GROUP_KEY, _TRANSACTION_KEY}:
        return {"key": key, "error_code": Code.INVALID_REQUEST, "node_id": -1, "host": "", "port": -1}
    node = cluster.coordinator
    return {"key": key, "node_id": node.node_id, "host": node.host, "port": node.port}


def list_groups(cluster: Cluster, call: BrokerCall) -> None:
    states, types = call.get("states_filter", ()), call.get("types_filter", ())
    told = [_listed(cluster, group_id) for group_id in sorted(cluster.groups.ids())]
    call.reply(
        {
            "groups": [
                each for each in told if _matches(each["group_state"], states) and _matches(each["group_type"], types)
            ]
        }
    )


def _matches(value: str, wanted: Iterable[str]) -> bool:
    lowered = {each.lower() for each in wanted}
    return not lowered or value.lower() in lowered


def _listed(cluster: Cluster, group_id: str) -> Fields:
    kind = cluster.groups.type_of(group_id) or GroupType.CLASSIC
    classic = cluster.groups.classic(group_id)
    protocol = "consumer" if kind is GroupType.CONSUMER else _protocol_type(classic)
    state = cluster.groups.state_of(group_id)
    return {"group_id": group_id, "protocol_type": protocol, "group_state": state, "group_type": kind.value}


def _protocol_type(group: FakeClassicGroup | None) -> str:
    said: Iterable[Any] = () if group is None else (member.said for member in group.members.values())
    return next((each.protocol_type for each in said if isinstance(each, OpaqueJoin)), "")


def describe_groups(cluster: Cluster, call: BrokerCall) -> None:
    call.reply({"groups": [_describe_classic(cluster, group_id, call.version) for group_id in call.request.groups]})


def _describe_classic(cluster: Cluster, group_id: str, version: int) -> Fields:
    if cluster.groups.type_of(group_id) is not GroupType.CLASSIC:
        missing = {"error_code": Code.GROUP_ID_NOT_FOUND, "error_message": f"Group {group_id} is not a classic group."}
        return {"group_id": group_id, "group_state": "Dead", **(missing if version >= _ERROR_VERSION else {})}
    group = cluster.groups.classic(group_id)
    if group is None:
        return {"group_id": group_id, "group_state": "Empty", "authorized_operations": _NO_OPERATIONS}
    return {
        "group_id": group_id,
        "group_state": group.phase.value,
        "protocol_type": _protocol_type(group),
        "protocol_data": group.strategy if group.phase is JoinPhase.STABLE else "",
        "members": [_classic_member(group, member) for member in group.members.values()],
        "authorized_operations": _NO_OPERATIONS,
    }


def _classic_member(group: FakeClassicGroup, member: ClassicMember) -> Fields:
    is_stable = group.phase is JoinPhase.STABLE
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": "/127.0.0.1",
        "member_metadata": metadata_of(member.said, group.strategy) if is_stable else b"",
        "member_assignment": member.opaque_share if is_stable else b"",
    }


def describe_consumer_groups(cluster: Cluster, call: BrokerCall) -> None:
    call.reply({"groups": [_describe_consumer(cluster, group_id) for group_id in call.request.group_ids]})


def _describe_consumer(cluster: Cluster, group_id: str) -> Fields:
    group = cluster.groups.consumer(group_id)
    if group is None:
        text = f"Group {group_id} is not a consumer group." if group_id in cluster.groups.ids() else None
        text = text or f"Group {group_id} not found."
        return {"group_id": group_id, "error_code": Code.GROUP_ID_NOT_FOUND, "error_message": text}
    return {
        "group_id": group_id,
        "group_state": consumer_state(group),
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": [_consumer_member(cluster, group, member) for member in group.members.values()],
        "authorized_operations": _NO_OPERATIONS,
    }


def _consumer_member(cluster: Cluster, group: FakeGroup, member: Enrolled) -> Fields:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": member.host,
        "subscribed_topic_names": tuple(sorted(member.topics)),
        "subscribed_topic_regex": member.regex or None,
        "assignment": _assignment(cluster, member.known_to_hold),
        "target_assignment": _assignment(cluster, group.targets.get(member.member_id, NOTHING)),
        "member_type": _MEMBER_TYPE_CLASSIC if member.classic else _MEMBER_TYPE_CONSUMER,
    }


def _assignment(cluster: Cluster, partitions: Partitions) -> Fields:
    """An assignment in an answer. Partitions of deleted topics are left out, as by a broker."""
    names = cluster.topics.known.names_of(partitions.topics)
    told = told_partitions(partitions.of_topics(frozenset(names)))
    return {"topic_partitions": [{**each, "topic_name": names[each["topic_id"]]} for each in told]}


def delete_groups(cluster: Cluster, call: BrokerCall) -> None:
    results = [{"group_id": each, "error_code": cluster.groups.delete(each)} for each in call.request.groups_names]
    call.reply({"results": results})
