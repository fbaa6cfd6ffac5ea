"""Produce, Fetch, ListOffsets and other requests about records."""

from __future__ import annotations

from typing import Any

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.fetching import HeldFetch
from membership_client.testing.embedded.log import Appended, PartitionLog
from membership_client.testing.embedded.records import CorruptRecordsError, split
from membership_client.testing.embedded.wire import Fields
from membership_client.testing.fake_topics import FakeTopic
from membership_client.types import TopicPartition

LEADER_EPOCH = 0
"""The leader epoch of all partitions, because leaders never change."""
_LATEST, _NEWEST, _LATEST_TIERED = -1, -3, -5
_EARLIEST = frozenset({-2, -4})
"""Timestamps that ask for the first offset: of all records, and of records that are not in tiered storage."""
_READ_COMMITTED = 1
_IMPLICIT_VERSION = 12
"""From this version on, a transactional write adds its partition to the transaction."""
_TOPIC_ID_VERSION = 13


def produce(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    topics = [_produce_topic(cluster, call, topic) for topic in request.topic_data]
    cluster.topics.make_room(sum(len(p.records or b"") for topic in request.topic_data for p in topic.partition_data))
    call.reply(None if request.acks == 0 else {"responses": topics})


def _produce_topic(cluster: Cluster, call: BrokerCall, wanted: Any) -> Fields:
    by_id = call.version >= _TOPIC_ID_VERSION
    topic = cluster.topics.find_by_id(wanted.topic_id) if by_id else cluster.topics.find(wanted.name)
    answers = [_produce_partition(cluster, call, topic, each) for each in wanted.partition_data]
    return {
        "name": getattr(wanted, "name", ""),
        "topic_id": getattr(wanted, "topic_id", None),
        "partition_responses": answers,
    }


def _produce_partition(cluster: Cluster, call: BrokerCall, topic: FakeTopic | None, wanted: Any) -> Fields:
    log, code = cluster.find_log(topic, wanted.index, call.node_id)
    if topic is None and call.version >= _TOPIC_ID_VERSION:
        code = Code.UNKNOWN_TOPIC_ID
    if log is None or topic is None:
        return {"index": wanted.index, "error_code": code, "base_offset": -1}
    code = _check_size(cluster, wanted) or _check_transaction(cluster, call, topic.name, wanted)
    done = Appended(code) if code else log.append(wanted.records)
    return {
        "index": wanted.index,
        "error_code": done.code,
        "base_offset": done.offset,
        "log_start_offset": log.start if not done.code else -1,
    }


def _check_size(cluster: Cluster, wanted: Any) -> int:
    too_large = len(wanted.records or b"") > cluster.settings.message_max_bytes
    return BrokerCode.MESSAGE_TOO_LARGE if too_large else 0


def _check_transaction(cluster: Cluster, call: BrokerCall, topic: str, wanted: Any) -> int:
    """The error code of a transactional batch whose transaction does not include the partition; 0 for none."""
    transactional_id = call.request.transactional_id
    if transactional_id is None:
        return 0
    try:
        batch = split(wanted.records or b"")[0]
    except (CorruptRecordsError, IndexError):
        return BrokerCode.CORRUPT_MESSAGE
    code = cluster.transactions.check(transactional_id, batch.producer_id, batch.producer_epoch)
    if code:
        return BrokerCode.INVALID_PRODUCER_EPOCH if code == BrokerCode.PRODUCER_FENCED else code
    partition = TopicPartition(topic, wanted.index)
    if call.version >= _IMPLICIT_VERSION:
        cluster.transactions.add(transactional_id, call.now, partitions={partition}, groups=set())
    return 0 if cluster.transactions.includes(batch.producer_id, partition) else BrokerCode.INVALID_TXN_STATE


def fetch(cluster: Cluster, call: BrokerCall) -> None:
    HeldFetch(cluster, call).begin()


def list_offsets(cluster: Cluster, call: BrokerCall) -> None:
    committed = call.get("isolation_level", 0) == _READ_COMMITTED
    topics = [
        {
            "name": wanted.name,
            "partitions": [_list_partition(cluster, call, wanted.name, each, committed) for each in wanted.partitions],
        }
        for wanted in call.request.topics
    ]
    call.reply({"topics": topics})


def _list_partition(cluster: Cluster, call: BrokerCall, name: str, wanted: Any, committed: bool) -> Fields:
    log, code = cluster.find_log(cluster.topics.find(name), wanted.partition_index, call.node_id)
    offset, timestamp = (-1, -1) if log is None else _offset_of(log, wanted.timestamp, committed)
    return {
        "partition_index": wanted.partition_index,
        "error_code": code,
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": LEADER_EPOCH if offset >= 0 else -1,
    }


def _offset_of(log: PartitionLog, timestamp: int, committed: bool) -> tuple[int, int]:
    if timestamp == _LATEST:
        return log.stable_end if committed else log.end, -1
    if timestamp in _EARLIEST:
        return log.start, -1
    if timestamp == _LATEST_TIERED:
        return -1, -1
    return (log.newest() if timestamp == _NEWEST else log.first_since(timestamp)) or (-1, -1)


def offset_for_leader_epoch(cluster: Cluster, call: BrokerCall) -> None:
    topics = [
        {
            "topic": wanted.topic,
            "partitions": [_end_of_epoch(cluster, call, wanted.topic, each) for each in wanted.partitions],
        }
        for wanted in call.request.topics
    ]
    call.reply({"topics": topics})


def _end_of_epoch(cluster: Cluster, call: BrokerCall, name: str, wanted: Any) -> Fields:
    log, code = cluster.find_log(cluster.topics.find(name), wanted.partition, call.node_id)
    is_known = log is not None and wanted.leader_epoch == LEADER_EPOCH
    return {
        "partition": wanted.partition,
        "error_code": code,
        "leader_epoch": LEADER_EPOCH if is_known else -1,
        "end_offset": log.end if log is not None and is_known else -1,
    }


def delete_records(cluster: Cluster, call: BrokerCall) -> None:
    topics = [
        {
            "name": wanted.name,
            "partitions": [_delete_partition(cluster, call, wanted.name, each) for each in wanted.partitions],
        }
        for wanted in call.request.topics
    ]
    call.reply({"topics": topics})


def _delete_partition(cluster: Cluster, call: BrokerCall, name: str, wanted: Any) -> Fields:
    log, code = cluster.find_log(cluster.topics.find(name), wanted.partition_index, call.node_id)
    if log is not None:
        before = log.end if wanted.offset == -1 else wanted.offset
        if log.start <= before <= log.end:
            log.delete_before(before)
        else:
            code = BrokerCode.OFFSET_OUT_OF_RANGE
    low = -1 if log is None or code else log.start
    return {"partition_index": wanted.partition_index, "error_code": code, "low_watermark": low}
