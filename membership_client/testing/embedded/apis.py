"""The requests that an embedded broker knows, their versions, and the functions that answer them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from membership_client.core.error_codes import Code
from membership_client.testing.embedded import (
    group_requests,
    member_requests,
    offset_requests,
    record_requests,
    topic_requests,
    transaction_requests,
)
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.wire import Fields

Handler = Callable[[Cluster, BrokerCall], None]


@dataclass(frozen=True, slots=True)
class Api:
    key: int
    name: str
    first: int
    last: int
    handle: Handler
    needs_coordinator: bool = False
    """Whether only the broker that coordinates groups and transactions answers it."""


def api_versions(_cluster: Cluster, call: BrokerCall) -> None:
    call.reply(told_versions(0))


def told_versions(code: int) -> Fields:
    """The answer to ApiVersions. `code` is UNSUPPORTED_VERSION for a client that asked in a newer version."""
    told = [{"api_key": api.key, "min_version": api.first, "max_version": api.last} for api in APIS.values()]
    return {"error_code": code, "api_keys": told}


API_VERSIONS = 18
UNSUPPORTED_VERSION = int(Code.UNSUPPORTED_VERSION)

_ALL = (
    Api(0, "Produce", 3, 13, record_requests.produce),
    Api(1, "Fetch", 4, 17, record_requests.fetch),
    Api(2, "ListOffsets", 1, 10, record_requests.list_offsets),
    Api(3, "Metadata", 0, 13, topic_requests.metadata),
    Api(8, "OffsetCommit", 2, 10, offset_requests.commit, needs_coordinator=True),
    Api(9, "OffsetFetch", 1, 10, offset_requests.fetch, needs_coordinator=True),
    Api(10, "FindCoordinator", 0, 6, group_requests.find_coordinator),
    Api(11, "JoinGroup", 0, 9, member_requests.join_group, needs_coordinator=True),
    Api(12, "Heartbeat", 0, 4, member_requests.heartbeat, needs_coordinator=True),
    Api(13, "LeaveGroup", 0, 5, member_requests.leave_group, needs_coordinator=True),
    Api(14, "SyncGroup", 0, 5, member_requests.sync_group, needs_coordinator=True),
    Api(15, "DescribeGroups", 0, 6, group_requests.describe_groups, needs_coordinator=True),
    Api(16, "ListGroups", 0, 5, group_requests.list_groups),
    Api(API_VERSIONS, "ApiVersions", 0, 4, api_versions),
    Api(19, "CreateTopics", 2, 7, topic_requests.create_topics),
    Api(20, "DeleteTopics", 1, 6, topic_requests.delete_topics),
    Api(21, "DeleteRecords", 0, 2, record_requests.delete_records),
    Api(22, "InitProducerId", 0, 5, transaction_requests.init_producer_id),
    Api(23, "OffsetForLeaderEpoch", 2, 4, record_requests.offset_for_leader_epoch),
    # Later versions are for brokers, or for producers with transaction version 2.
    Api(24, "AddPartitionsToTxn", 0, 3, transaction_requests.add_partitions, needs_coordinator=True),
    Api(25, "AddOffsetsToTxn", 0, 4, transaction_requests.add_offsets, needs_coordinator=True),
    Api(26, "EndTxn", 0, 4, transaction_requests.end, needs_coordinator=True),
    Api(28, "TxnOffsetCommit", 0, 4, offset_requests.commit_in_transaction, needs_coordinator=True),
    Api(32, "DescribeConfigs", 1, 4, topic_requests.describe_configs),
    Api(37, "CreatePartitions", 0, 3, topic_requests.create_partitions),
    Api(42, "DeleteGroups", 0, 2, group_requests.delete_groups, needs_coordinator=True),
    Api(44, "IncrementalAlterConfigs", 0, 1, topic_requests.incremental_alter_configs),
    Api(47, "OffsetDelete", 0, 0, offset_requests.delete, needs_coordinator=True),
    Api(60, "DescribeCluster", 0, 2, topic_requests.describe_cluster),
    Api(68, "ConsumerGroupHeartbeat", 0, 1, member_requests.consumer_heartbeat, needs_coordinator=True),
    Api(69, "ConsumerGroupDescribe", 0, 1, group_requests.describe_consumer_groups, needs_coordinator=True),
)

APIS: Mapping[int, Api] = {api.key: api for api in _ALL}
API_NAMES: frozenset[str] = frozenset(api.name for api in _ALL)
