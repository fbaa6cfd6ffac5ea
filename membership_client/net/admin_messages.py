"""Requests of administrators as kio's messages, and the meaning of their answers, in every version of brokers."""

from __future__ import annotations

from typing import Any

from membership_client.core import events
from membership_client.core.error_codes import Code
from membership_client.net import admin_requests as admin
from membership_client.net.classic_messages import said
from membership_client.net.messages import by_topic, fill, incomplete, offsets_of, partitions_of, refused
from membership_client.types import Node, TopicPartition

_GROUP_CONFIG_SOURCE = 8
_SET, _DELETE = 0, 1
_NO_REPLICA = -1
_NOT_REPORTED = -(2**31)

# --- ListGroups ------------------------------------------------------------------------------------------------------


def list_groups(_request: admin.ListGroups, wire: Any) -> Any:
    return wire.ListGroupsRequest()


def groups_listed(_request: admin.ListGroups, answer: Any) -> events.Response:
    return refused(answer) if answer.error_code else admin.GroupsListed(tuple(map(_listed, answer.groups)))


def _listed(group: Any) -> admin.ListedGroup:
    return admin.ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type,
        state=getattr(group, "group_state", ""),
        type=getattr(group, "group_type", ""),
    )


# --- Metadata --------------------------------------------------------------------------------------------------------


def locate_leaders(request: admin.LocateLeaders, wire: Any) -> Any:
    return fill(
        wire.MetadataRequest,
        topics=tuple(fill(wire.MetadataRequestTopic, name=name, topic_id=None) for name in sorted(request.topics)),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def leaders_located(_request: admin.LocateLeaders, answer: Any) -> events.Response:
    brokers = {b.node_id: Node(host=b.host, port=b.port, node_id=b.node_id) for b in answer.brokers}
    known = [
        (TopicPartition(topic.name, part.partition_index), brokers.get(part.leader_id))
        for topic in answer.topics
        if not topic.error_code and topic.name is not None
        for part in topic.partitions
    ]
    return admin.LeadersLocated(
        brokers=brokers,
        leaders={partition: leader for partition, leader in known if leader is not None},
        unled=frozenset(partition for partition, leader in known if leader is None),
        denied=_denied_topics(answer),
    )


def _denied_topics(answer: Any) -> frozenset[str]:
    return frozenset(topic.name for topic in answer.topics if topic.error_code == Code.TOPIC_AUTHORIZATION_FAILED)


# --- ListOffsets -----------------------------------------------------------------------------------------------------


def find_offsets(request: admin.FindOffsets, wire: Any) -> Any:
    topics = (
        wire.ListOffsetsTopic(
            name=topic,
            partitions=tuple(
                wire.ListOffsetsPartition(partition_index=p.partition, timestamp=request.at) for p in partitions
            ),
        )
        for topic, partitions in by_topic(sorted(request.partitions)).items()
    )
    return fill(wire.ListOffsetsRequest, replica_id=_NO_REPLICA, isolation_level=0, topics=tuple(topics))


def offsets_found(_request: admin.FindOffsets, answer: Any) -> events.Response:
    parts = dict(partitions_of(answer.topics))
    return admin.OffsetsFound(
        offsets={p: part.offset for p, part in parts.items() if not part.error_code},
        codes={p: int(part.error_code) for p, part in parts.items() if part.error_code},
    )


# --- OffsetFetch and OffsetDelete ------------------------------------------------------------------------------------


def fetch_all_offsets(request: admin.FetchAllOffsets, wire: Any) -> Any:
    if not hasattr(wire, "OffsetFetchRequestGroup"):
        return fill(wire.OffsetFetchRequest, group_id=request.group_id, topics=None, require_stable=False)
    group = fill(wire.OffsetFetchRequestGroup, group_id=request.group_id, topics=None, member_id=None, member_epoch=-1)
    return wire.OffsetFetchRequest(groups=(group,), require_stable=False)


def all_offsets_fetched(request: admin.FetchAllOffsets, answer: Any) -> events.Response:
    return offsets_of(request.group_id, answer, {})


def forget_offsets(request: admin.ForgetOffsets, wire: Any) -> Any:
    topics = (
        wire.OffsetDeleteRequestTopic(
            name=topic,
            partitions=tuple(wire.OffsetDeleteRequestPartition(partition_index=p.partition) for p in partitions),
        )
        for topic, partitions in by_topic(sorted(request.partitions)).items()
    )
    return wire.OffsetDeleteRequest(group_id=request.group_id, topics=tuple(topics))


def offsets_forgotten(_request: admin.ForgetOffsets, answer: Any) -> events.Response:
    if answer.error_code:
        return refused(answer)
    return events.OffsetsCommitted({p: int(part.error_code) for p, part in partitions_of(answer.topics)})


# --- LeaveGroup ------------------------------------------------------------------------------------------------------


def remove_members(request: admin.RemoveMembers, wire: Any) -> Any:
    reason = said(request.reason)
    members = (
        fill(wire.MemberIdentity, member_id=m.member_id, group_instance_id=m.instance_id, reason=reason)
        for m in request.members
    )
    return wire.LeaveGroupRequest(group_id=request.group_id, members=tuple(members))


def members_removed(_request: admin.RemoveMembers, answer: Any) -> events.Response:
    if answer.error_code:
        return refused(answer)
    return admin.MembersRemoved({_leaver(member): int(member.error_code) for member in answer.members})


def _leaver(member: Any) -> admin.Leaver:
    return admin.Leaver(member.member_id, member.group_instance_id)


# --- DescribeConfigs and IncrementalAlterConfigs ---------------------------------------------------------------------


def describe_configs(request: admin.DescribeConfigs, wire: Any) -> Any:
    resource = wire.DescribeConfigsResource(
        resource_type=int(request.resource), resource_name=request.name, configuration_keys=request.keys
    )
    return fill(wire.DescribeConfigsRequest, resources=(resource,), include_synonyms=True)


def configs_described(request: admin.DescribeConfigs, answer: Any) -> events.Response:
    for result in answer.results:
        if result.error_code:
            return refused(result)
        return admin.ConfigsDescribed(tuple(map(_entry, result.configs)))
    return incomplete(f"the answer does not describe {request.name}")


def _entry(entry: Any) -> admin.ConfigEntry:
    """Synonyms are in order of precedence: the first that is not the group's own is the default."""
    inherited = [synonym.value for synonym in entry.synonyms if synonym.source != _GROUP_CONFIG_SOURCE]
    return admin.ConfigEntry(
        name=entry.name,
        value=entry.value,
        is_own=entry.config_source == _GROUP_CONFIG_SOURCE,
        default=inherited[0] if inherited else None,
    )


def alter_group_configs(request: admin.AlterGroupConfigs, wire: Any) -> Any:
    configs = (
        wire.AlterableConfig(name=name, config_operation=_DELETE if value is None else _SET, value=value)
        for name, value in request.values.items()
    )
    resource = wire.AlterConfigsResource(
        resource_type=int(admin.Resource.GROUP), resource_name=request.group_id, configs=tuple(configs)
    )
    return wire.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)


def configs_altered(_request: admin.AlterGroupConfigs, answer: Any) -> events.Response:
    return next((refused(result) for result in answer.responses if result.error_code), admin.ConfigsAltered())


# --- ApiVersions -----------------------------------------------------------------------------------------------------


def describe_broker(_request: admin.DescribeBroker, wire: Any) -> Any:
    return wire.ApiVersionsRequest(client_software_name="membership-client", client_software_version="admin")


def broker_described(_request: admin.DescribeBroker, answer: Any) -> events.Response:
    if answer.error_code:
        return events.Refused(int(answer.error_code))
    return admin.BrokerDescribed(
        features={feature.name: feature.max_version_level for feature in answer.finalized_features},
        apis={api.api_key: (api.min_version, api.max_version) for api in answer.api_keys},
    )


# --- what a user may do ----------------------------------------------------------------------------------------------


def describe_topic_rights(request: admin.DescribeTopicRights, wire: Any) -> Any:
    names = None if request.topics is None else sorted(request.topics)
    return fill(
        wire.MetadataRequest,
        topics=None
        if names is None
        else tuple(fill(wire.MetadataRequestTopic, name=name, topic_id=None) for name in names),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=True,
    )


def topic_rights_described(_request: admin.DescribeTopicRights, answer: Any) -> events.Response:
    return admin.TopicRightsDescribed(
        topics={
            topic.name: admin.TopicRights(len(topic.partitions), _operations(topic.topic_authorized_operations))
            for topic in answer.topics
            if not topic.error_code and topic.name is not None
        },
        denied=_denied_topics(answer),
    )


def describe_group_rights(request: admin.DescribeGroupRights, wire: Any) -> Any:
    return wire.DescribeGroupsRequest(groups=(request.group_id,), include_authorized_operations=True)


def group_rights_described(request: admin.DescribeGroupRights, answer: Any) -> events.Response:
    group = next((group for group in answer.groups if group.group_id == request.group_id), None)
    if group is None:
        return incomplete(f"the answer does not describe group {request.group_id}")
    return refused(group) if group.error_code else admin.GroupRightsDescribed(_operations(group.authorized_operations))


def _operations(bits: int) -> frozenset[admin.Operation] | None:
    known = (operation for operation in admin.Operation if bits >> operation & 1)
    return None if bits == _NOT_REPORTED else frozenset(known)
