"""Metadata, and requests that create, change and describe topics and settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.settings import GROUP_SETTINGS
from membership_client.testing.embedded.topics import TopicRefusedError
from membership_client.testing.embedded.wire import Fields
from membership_client.testing.fake_topics import FakeTopic

_NO_OPERATIONS = -(2**31)
"""The value of a field for authorized operations that are not reported."""
_TOPIC, _BROKER, _GROUP = 2, 4, 32
_OF_TOPIC, _OF_BROKER, _BY_DEFAULT, _OF_GROUP = 1, 4, 5, 8
"""Codes for the source of a setting's value."""
_DELETE = 1
"""The operation that restores a setting's default."""

_TOPIC_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
}
"""Settings that DescribeConfigs returns although they have no effect here."""


# --- Metadata --------------------------------------------------------------------------------------------------------


def metadata(cluster: Cluster, call: BrokerCall) -> None:
    wanted = call.request.topics
    # Version 0 asks for all topics with an empty list; later versions with null.
    if wanted is None or (call.version == 0 and not wanted):
        topics = [_told_topic(cluster, topic) for topic in cluster.topics.known]
    else:
        creates = call.get("allow_auto_topic_creation", True) and cluster.settings.auto_create_topics_enable
        topics = [_wanted_topic(cluster, each, creates) for each in wanted]
    call.reply(
        {
            "brokers": _brokers(cluster, "node_id"),
            "cluster_id": cluster.cluster_id,
            "controller_id": cluster.nodes[0].node_id,
            "topics": topics,
            "cluster_authorized_operations": _NO_OPERATIONS,
        }
    )


def _brokers(cluster: Cluster, id_name: str) -> list[Fields]:
    return [
        {id_name: node.node_id, "host": node.host, "port": node.port, "rack": cluster.racks.get(node.node_id)}
        for node in cluster.nodes
    ]


def _wanted_topic(cluster: Cluster, wanted: Any, creates: bool) -> Fields:
    topic_id: UUID | None = getattr(wanted, "topic_id", None)
    if wanted.name is None:
        found = cluster.topics.find_by_id(topic_id)
        missing: Fields = {"error_code": Code.UNKNOWN_TOPIC_ID, "topic_id": topic_id, "name": None}
        return missing if found is None else _told_topic(cluster, found)
    try:
        cluster.topics.check_name(wanted.name)
        if creates and cluster.topics.find(wanted.name) is None:
            cluster.topics.create(wanted.name, cluster.settings.num_partitions)
    except TopicRefusedError as error:
        return {"error_code": error.code, "name": wanted.name}
    found = cluster.topics.find(wanted.name)
    if found is None:
        return {"error_code": Code.UNKNOWN_TOPIC_OR_PARTITION, "name": wanted.name}
    return _told_topic(cluster, found)


def _told_topic(cluster: Cluster, topic: FakeTopic) -> Fields:
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "partitions": [_told_partition(cluster, number) for number in range(topic.partitions)],
        "topic_authorized_operations": _NO_OPERATIONS,
    }


def _told_partition(cluster: Cluster, number: int) -> Fields:
    leader = cluster.leader(number).node_id
    return {
        "partition_index": number,
        "leader_id": leader,
        "leader_epoch": 0,
        "replica_nodes": (leader,),
        "isr_nodes": (leader,),
    }


def describe_cluster(cluster: Cluster, call: BrokerCall) -> None:
    call.reply(
        {
            "endpoint_type": 1,
            "cluster_id": cluster.cluster_id,
            "controller_id": cluster.nodes[0].node_id,
            "brokers": _brokers(cluster, "broker_id"),
            "cluster_authorized_operations": _NO_OPERATIONS,
        }
    )


# --- topics ----------------------------------------------------------------------------------------------------------


def create_topics(cluster: Cluster, call: BrokerCall) -> None:
    only_check = call.request.validate_only
    call.reply({"topics": [_create(cluster, wanted, only_check) for wanted in call.request.topics]})


def _create(cluster: Cluster, wanted: Any, only_check: bool) -> Fields:
    count = len(wanted.assignments) or wanted.num_partitions
    partitions = cluster.settings.num_partitions if count == -1 else count
    try:
        _check_replicas(cluster, wanted.replication_factor)
        cluster.topics.create(wanted.name, partitions, only_check=only_check)
    except TopicRefusedError as error:
        return {"name": wanted.name, "error_code": error.code, "error_message": error.message}
    settings = {each.name: each.value for each in wanted.configs if each.value is not None}
    topic = cluster.topics.find(wanted.name)
    if topic is not None:
        cluster.topics.settings[wanted.name] = settings
    return {
        "name": wanted.name,
        "topic_id": None if topic is None else topic.topic_id,
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": [_told_setting(*each) for each in _of_topic(settings)],
    }


def _check_replicas(cluster: Cluster, wanted: int) -> None:
    if wanted > len(cluster.nodes):
        raise TopicRefusedError(
            BrokerCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {wanted} time(s): the cluster has {len(cluster.nodes)} broker(s).",
        )


def create_partitions(cluster: Cluster, call: BrokerCall) -> None:
    only_check = call.request.validate_only
    call.reply({"results": [_grow(cluster, wanted, only_check) for wanted in call.request.topics]})


def _grow(cluster: Cluster, wanted: Any, only_check: bool) -> Fields:
    try:
        cluster.topics.grow(wanted.name, wanted.count, only_check=only_check)
    except TopicRefusedError as error:
        return {"name": wanted.name, "error_code": error.code, "error_message": error.message}
    return {"name": wanted.name}


def delete_topics(cluster: Cluster, call: BrokerCall) -> None:
    by_name = [(name, None) for name in call.get("topic_names", ())]
    wanted = by_name + [(each.name, each.topic_id) for each in call.get("topics", ())]
    call.reply({"responses": [_delete(cluster, name, topic_id) for name, topic_id in wanted]})


def _delete(cluster: Cluster, name: str | None, topic_id: UUID | None) -> Fields:
    topic = cluster.topics.find_by_id(topic_id) if name is None else cluster.topics.find(name)
    if topic is None:
        code = Code.UNKNOWN_TOPIC_ID if name is None else Code.UNKNOWN_TOPIC_OR_PARTITION
        return {"name": name, "topic_id": topic_id, "error_code": code}
    cluster.delete_topic(topic.name)
    return {"name": topic.name, "topic_id": topic.topic_id}


# --- settings --------------------------------------------------------------------------------------------------------


def describe_configs(cluster: Cluster, call: BrokerCall) -> None:
    call.reply({"results": [_describe_settings(cluster, wanted) for wanted in call.request.resources]})


def _describe_settings(cluster: Cluster, wanted: Any) -> Fields:
    named = {"resource_type": wanted.resource_type, "resource_name": wanted.resource_name}
    found = _settings_of(cluster, wanted.resource_type, wanted.resource_name)
    if found is None:
        return {**named, "error_code": _unknown(wanted.resource_type), "error_message": "There is no such resource."}
    keys = wanted.configuration_keys
    return {**named, "configs": [_told_setting(*each) for each in found if keys is None or each[0] in keys]}


def _unknown(resource_type: int) -> int:
    return Code.UNKNOWN_TOPIC_OR_PARTITION if resource_type == _TOPIC else Code.INVALID_REQUEST


def _settings_of(cluster: Cluster, resource_type: int, name: str) -> list[tuple[str, str, int]] | None:
    """Name, value and source of each setting; None if there is no such resource."""
    if resource_type == _TOPIC and cluster.topics.find(name) is not None:
        return _of_topic(cluster.topics.settings.get(name, {}))
    if resource_type == _BROKER:
        return [(key, value, _OF_BROKER) for key, value in cluster.settings.as_texts().items()]
    return _of_group(cluster, name) if resource_type == _GROUP else None


def _of_group(cluster: Cluster, group_id: str) -> list[tuple[str, str, int]]:
    own = cluster.groups.settings.get(group_id, {})
    values = dataclasses.asdict(cluster.groups.settings_of(group_id))
    return [
        (key, str(values[field]), _OF_GROUP if key in own else _BY_DEFAULT) for key, field in GROUP_SETTINGS.items()
    ]


def _of_topic(own: Mapping[str, str]) -> list[tuple[str, str, int]]:
    return [
        (key, value, _OF_TOPIC if key in own else _BY_DEFAULT) for key, value in ({**_TOPIC_DEFAULTS, **own}).items()
    ]


def _told_setting(name: str, value: str, source: int) -> Fields:
    return {"name": name, "value": value, "config_source": source, "config_type": 2}


def incremental_alter_configs(cluster: Cluster, call: BrokerCall) -> None:
    only_check = call.request.validate_only
    call.reply({"responses": [_alter(cluster, wanted, only_check) for wanted in call.request.resources]})


def _alter(cluster: Cluster, wanted: Any, only_check: bool) -> Fields:
    named = {"resource_type": wanted.resource_type, "resource_name": wanted.resource_name}
    name = wanted.resource_name
    if wanted.resource_type == _GROUP:
        settings = cluster.groups.settings
        wrong = next((each for each in wanted.configs if not _is_group_setting(each)), None)
    elif wanted.resource_type == _TOPIC and cluster.topics.find(name) is not None:
        settings, wrong = cluster.topics.settings, None
    else:
        return {**named, "error_code": _unknown(wanted.resource_type), "error_message": "It cannot be altered here."}
    if wrong is not None:
        text = f"Invalid value {wrong.value} for configuration {wrong.name}"
        return {**named, "error_code": BrokerCode.INVALID_CONFIG, "error_message": text}
    if not only_check:
        changed = dict(settings.get(name, {}))
        for each in wanted.configs:
            changed.pop(each.name, None)
            if each.config_operation != _DELETE and each.value is not None:
                changed[each.name] = each.value
        settings[name] = changed
    return named


def _is_group_setting(each: Any) -> bool:
    return each.name in GROUP_SETTINGS and (each.config_operation == _DELETE or (each.value or "").isdigit())
