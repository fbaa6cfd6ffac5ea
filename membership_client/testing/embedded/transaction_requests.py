"""InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.wire import Fields
from membership_client.types import TopicPartition

_FENCED_VERSION = 2
"""From this version on, the answer to a fenced producer is PRODUCER_FENCED."""
_INIT_FENCED_VERSION = 4


def init_producer_id(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    transactional_id = request.transactional_id
    if transactional_id is None:
        call.reply({"producer_id": cluster.transactions.new_producer_id(), "producer_epoch": 0})
        return
    code = _init_error(cluster, call)
    if code:
        call.reply({"error_code": code, "producer_id": -1, "producer_epoch": -1})
        return
    timeout_s = request.transaction_timeout.total_seconds()
    begun = cluster.transactions.begin_session(transactional_id, timeout_s)
    call.reply({"producer_id": begun.producer_id, "producer_epoch": begun.epoch})


def _init_error(cluster: Cluster, call: BrokerCall) -> int:
    request = call.request
    if not request.transactional_id:
        return Code.INVALID_REQUEST
    code = cluster.coordinator_error(call.node_id, call.now)
    if code:
        return code
    timeout_ms = request.transaction_timeout.total_seconds() * 1000
    if not 0 < timeout_ms <= cluster.settings.transaction_max_timeout_ms:
        return BrokerCode.INVALID_TRANSACTION_TIMEOUT
    known = cluster.transactions.find(request.transactional_id)
    producer_id = call.get("producer_id", -1)
    if producer_id == -1 or known is None or (producer_id, request.producer_epoch) == (known.producer_id, known.epoch):
        return 0
    is_new = call.version >= _INIT_FENCED_VERSION
    return BrokerCode.PRODUCER_FENCED if is_new else BrokerCode.INVALID_PRODUCER_EPOCH


def _check(cluster: Cluster, call: BrokerCall, transactional_id: str, producer_id: int, epoch: int) -> int:
    code = cluster.transactions.check(transactional_id, producer_id, epoch)
    is_old = code == BrokerCode.PRODUCER_FENCED and call.version < _FENCED_VERSION
    return BrokerCode.INVALID_PRODUCER_EPOCH if is_old else code


def add_partitions(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    transactional_id = request.v3_and_below_transactional_id
    code = _check(
        cluster, call, transactional_id, request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
    )
    wanted = {
        TopicPartition(topic.name, number) for topic in request.v3_and_below_topics for number in topic.partitions
    }
    unknown = {each for each in wanted if not _exists(cluster, each)}
    if not code and not unknown:
        cluster.transactions.add(transactional_id, call.now, partitions=wanted, groups=set())
    codes = {
        each: code or (Code.UNKNOWN_TOPIC_OR_PARTITION if each in unknown else _not_attempted(unknown))
        for each in wanted
    }
    call.reply({"results_by_topic_v3_and_below": _results(request.v3_and_below_topics, codes)})


def _exists(cluster: Cluster, partition: TopicPartition) -> bool:
    topic = cluster.topics.find(partition.topic)
    return topic is not None and 0 <= partition.partition < topic.partitions


def _not_attempted(unknown: set[TopicPartition]) -> int:
    """The error code of the other partitions if one cannot be added: then none is added."""
    return BrokerCode.OPERATION_NOT_ATTEMPTED if unknown else 0


def _results(topics: Iterable[Any], codes: dict[TopicPartition, int]) -> list[Fields]:
    return [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": number, "partition_error_code": codes[TopicPartition(topic.name, number)]}
                for number in topic.partitions
            ],
        }
        for topic in topics
    ]


def add_offsets(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    code = _check(cluster, call, request.transactional_id, request.producer_id, request.producer_epoch)
    if not code:
        cluster.transactions.add(request.transactional_id, call.now, partitions=set(), groups={request.group_id})
    call.reply({"error_code": code})


def end(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    code = _check(cluster, call, request.transactional_id, request.producer_id, request.producer_epoch)
    if not code:
        code = cluster.transactions.end(request.transactional_id, committed=request.committed)
    call.reply({"error_code": code})
