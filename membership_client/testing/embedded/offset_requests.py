"""OffsetCommit, OffsetFetch, OffsetDelete, and TxnOffsetCommit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from membership_client.core.error_codes import Code
from membership_client.testing.embedded.call import BrokerCall
from membership_client.testing.embedded.cluster import Cluster
from membership_client.testing.embedded.codes import BrokerCode
from membership_client.testing.embedded.groups import GroupType
from membership_client.testing.embedded.offsets import Committed
from membership_client.testing.embedded.wire import Fields
from membership_client.testing.fake_classic import JoinPhase, OpaqueJoin
from membership_client.testing.fake_topics import FakeTopic
from membership_client.types import TopicPartition

_EPOCH_VERSION = 9
"""From this version on, requests may have KIP-848 epochs, and answers KIP-848 error codes."""
_TOPIC_ID_VERSION = 10
_MANY_GROUPS_VERSION = 8
_NO_OFFSET = Committed(-1, -1, "")

Refusal = Callable[[FakeTopic | None, int], int]
"""The error code of a partition, or 0."""


# --- commits ---------------------------------------------------------------------------------------------------------


def commit(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    epoch, member_id = request.generation_id_or_member_epoch, request.member_id
    code = _check_member(cluster, call, epoch, member_id, is_transactional=False)
    by_id = call.version >= _TOPIC_ID_VERSION
    if code == Code.STALE_MEMBER_EPOCH:
        accepted, answers = _sort_out(cluster, request.topics, _of_older_epoch(cluster, call), by_id=by_id)
    else:
        accepted, answers = _sort_out(cluster, request.topics, lambda *_: code, by_id=by_id)
    cluster.offsets.commit(request.group_id, accepted)
    call.reply({"topics": answers})


def commit_in_transaction(cluster: Cluster, call: BrokerCall) -> None:
    """Answer TxnOffsetCommit: the offsets are committed with the transaction."""
    request = call.request
    code = cluster.transactions.check(request.transactional_id, request.producer_id, request.producer_epoch)
    if code == BrokerCode.PRODUCER_FENCED:
        code = BrokerCode.INVALID_PRODUCER_EPOCH
    transaction = cluster.transactions.find(request.transactional_id)
    if not code and (transaction is None or request.group_id not in transaction.groups):
        code = BrokerCode.INVALID_TXN_STATE
    epoch, member_id = call.get("generation_id", -1), call.get("member_id", "")
    code = code or _check_member(cluster, call, epoch, member_id, is_transactional=True)
    accepted, answers = _sort_out(cluster, request.topics, lambda *_: code, by_id=False)
    if not code:
        cluster.offsets.commit_later(request.group_id, request.producer_id, accepted)
    call.reply({"topics": answers})


def _of_older_epoch(cluster: Cluster, call: BrokerCall) -> Refusal:
    """Refusals for a commit with an older epoch (KIP-1251): it may have only partitions that the member has held since then."""
    request = call.request
    group = cluster.groups.consumer(request.group_id)
    assert group is not None
    member = group.members[request.member_id]
    epoch = request.generation_id_or_member_epoch

    def refusal(topic: FakeTopic | None, number: int) -> int:
        since = None if topic is None else member.held_since(topic.topic_id, number)
        held = since is not None and since <= epoch < member.epoch
        return 0 if held else Code.STALE_MEMBER_EPOCH

    return refusal


def _sort_out(
    cluster: Cluster, topics: Iterable[Any], refusal: Refusal, *, by_id: bool
) -> tuple[Mapping[TopicPartition, Committed], list[Fields]]:
    """The offsets that can be committed, and the answer for all. `refusal` has the error codes of the others."""
    accepted: dict[TopicPartition, Committed] = {}
    answers: list[Fields] = []
    for wanted in topics:
        topic = cluster.topics.find_by_id(wanted.topic_id) if by_id else cluster.topics.find(wanted.name)
        partitions = []
        for each in wanted.partitions:
            error = refusal(topic, each.partition_index) or _offset_error(cluster, topic, each, by_id=by_id)
            if not error and topic is not None:
                epoch = getattr(each, "committed_leader_epoch", -1)
                committed = Committed(each.committed_offset, epoch, each.committed_metadata or "")
                accepted[TopicPartition(topic.name, each.partition_index)] = committed
            partitions.append({"partition_index": each.partition_index, "error_code": error})
        answers.append({**_naming(wanted), "partitions": partitions})
    return accepted, answers


def _naming(wanted: Any) -> Fields:
    return {name: getattr(wanted, name) for name in ("name", "topic_id") if hasattr(wanted, name)}


def _offset_error(cluster: Cluster, topic: FakeTopic | None, wanted: Any, *, by_id: bool) -> int:
    if topic is None:
        return Code.UNKNOWN_TOPIC_ID if by_id else Code.UNKNOWN_TOPIC_OR_PARTITION
    if not 0 <= wanted.partition_index < topic.partitions:
        return Code.UNKNOWN_TOPIC_OR_PARTITION
    too_large = len((wanted.committed_metadata or "").encode()) > cluster.settings.offset_metadata_max_bytes
    return Code.OFFSET_METADATA_TOO_LARGE if too_large else 0


# --- who may commit? -------------------------------------------------------------------------------------------------


def _check_member(cluster: Cluster, call: BrokerCall, epoch: int, member_id: str, *, is_transactional: bool) -> int:
    group_id, instance_id = call.request.group_id, call.get("group_instance_id")
    if not group_id:
        return Code.INVALID_GROUP_ID
    kind = cluster.groups.type_of(group_id)
    if is_transactional and epoch < 0 and not member_id and instance_id is None:
        return 0
    if kind is GroupType.CONSUMER:
        return _check_consumer(
            cluster, group_id, member_id, epoch, can_tell=is_transactional or call.version >= _EPOCH_VERSION
        )
    if cluster.groups.classic(group_id) is not None:
        return _check_classic(cluster, group_id, member_id, instance_id, epoch, is_transactional=is_transactional)
    if epoch < 0:
        return 0
    return Code.GROUP_ID_NOT_FOUND if call.version >= _EPOCH_VERSION else Code.ILLEGAL_GENERATION


def _check_consumer(cluster: Cluster, group_id: str, member_id: str, epoch: int, *, can_tell: bool) -> int:
    group = cluster.groups.consumer(group_id)
    assert group is not None
    if epoch < 0 and not group.members:
        return 0
    member = group.members.get(member_id)
    if member is None:
        return Code.UNKNOWN_MEMBER_ID
    if member.epoch == epoch:
        return 0
    return Code.STALE_MEMBER_EPOCH if can_tell and member.classic is None else Code.ILLEGAL_GENERATION


def _check_classic(
    cluster: Cluster, group_id: str, member_id: str, instance_id: str | None, epoch: int, *, is_transactional: bool
) -> int:
    group = cluster.groups.classic(group_id)
    assert group is not None
    if epoch < 0 and not group.members:
        return 0
    holder = next((m for m in group.members.values() if instance_id and m.instance_id == instance_id), None)
    if holder is not None and holder.member_id != member_id:
        return Code.FENCED_INSTANCE_ID
    if member_id not in group.members:
        return Code.UNKNOWN_MEMBER_ID
    if epoch != group.generation:
        return Code.ILLEGAL_GENERATION
    completing = group.phase is JoinPhase.COMPLETING and not is_transactional
    return Code.REBALANCE_IN_PROGRESS if completing else 0


# --- what was committed ----------------------------------------------------------------------------------------------


def fetch(cluster: Cluster, call: BrokerCall) -> None:
    request = call.request
    stable = call.get("require_stable", False)
    if call.version < _MANY_GROUPS_VERSION:
        answer = _fetch_group(cluster, call, request, stable)
        call.reply(answer)
    else:
        call.reply({"groups": [_fetch_group(cluster, call, group, stable) for group in request.groups]})


def _fetch_group(cluster: Cluster, call: BrokerCall, wanted: Any, stable: bool) -> Fields:
    group_id = wanted.group_id
    code = _check_reader(cluster, wanted)
    if code:
        return {"group_id": group_id, "error_code": code}
    if wanted.topics is None:
        topics = _all_topics(cluster, group_id, stable)
    else:
        by_id = call.version >= _TOPIC_ID_VERSION
        topics = [_fetch_topic(cluster, group_id, each, stable, by_id=by_id) for each in wanted.topics]
    return {"group_id": group_id, "topics": topics}


def _check_reader(cluster: Cluster, wanted: Any) -> int:
    member_id, epoch = getattr(wanted, "member_id", None), getattr(wanted, "member_epoch", -1)
    if member_id is None and epoch < 0:
        return 0
    if cluster.groups.type_of(wanted.group_id) is None:
        return Code.GROUP_ID_NOT_FOUND
    group = cluster.groups.consumer(wanted.group_id)
    if group is None:
        return 0
    member = group.members.get(member_id or "")
    if member is None:
        return Code.UNKNOWN_MEMBER_ID
    return 0 if member.epoch == epoch else Code.STALE_MEMBER_EPOCH


def _all_topics(cluster: Cluster, group_id: str, stable: bool) -> list[Fields]:
    numbers: dict[str, list[int]] = {}
    for topic, number in sorted(cluster.offsets.of(group_id)):
        numbers.setdefault(topic, []).append(number)
    return [_told_topic(cluster, group_id, name, each, stable) for name, each in numbers.items()]


def _fetch_topic(cluster: Cluster, group_id: str, wanted: Any, stable: bool, *, by_id: bool) -> Fields:
    if not by_id:
        return _told_topic(cluster, group_id, wanted.name, wanted.partition_indexes, stable)
    topic = cluster.topics.find_by_id(wanted.topic_id)
    if topic is not None:
        return _told_topic(cluster, group_id, topic.name, wanted.partition_indexes, stable)
    unknown = {"error_code": Code.UNKNOWN_TOPIC_ID, "committed_offset": -1, "metadata": ""}
    partitions = [{"partition_index": number, **unknown} for number in wanted.partition_indexes]
    return {"topic_id": wanted.topic_id, "partitions": partitions}


def _told_topic(cluster: Cluster, group_id: str, name: str, numbers: Iterable[int], stable: bool) -> Fields:
    topic = cluster.topics.find(name)
    committed = cluster.offsets.of(group_id)
    partitions = []
    for number in numbers:
        partition = TopicPartition(name, number)
        unstable = stable and cluster.offsets.is_unstable(group_id, partition)
        found = _NO_OFFSET if unstable else committed.get(partition, _NO_OFFSET)
        partitions.append(
            {
                "partition_index": number,
                "committed_offset": found.offset,
                "committed_leader_epoch": found.leader_epoch,
                "metadata": found.metadata,
                "error_code": Code.UNSTABLE_OFFSET_COMMIT if unstable else 0,
            }
        )
    return {"name": name, "topic_id": None if topic is None else topic.topic_id, "partitions": partitions}


# --- deleting --------------------------------------------------------------------------------------------------------


def delete(cluster: Cluster, call: BrokerCall) -> None:
    group_id = call.request.group_id
    if cluster.groups.type_of(group_id) is None:
        call.reply({"error_code": Code.GROUP_ID_NOT_FOUND})
        return
    used = _subscribed_topics(cluster, group_id)
    if used is None:
        call.reply({"error_code": BrokerCode.NON_EMPTY_GROUP})
        return
    topics = []
    for wanted in call.request.topics:
        code = BrokerCode.GROUP_SUBSCRIBED_TO_TOPIC if wanted.name in used else 0
        for each in wanted.partitions if not code else ():
            cluster.offsets.forget(group_id, TopicPartition(wanted.name, each.partition_index))
        partitions = [{"partition_index": each.partition_index, "error_code": code} for each in wanted.partitions]
        topics.append({"name": wanted.name, "partitions": partitions})
    call.reply({"topics": topics})


def _subscribed_topics(cluster: Cluster, group_id: str) -> frozenset[str] | None:
    """The topics to which members subscribe; None if the members' protocol does not tell them to brokers."""
    consumer, classic = cluster.groups.consumer(group_id), cluster.groups.classic(group_id)
    if consumer is not None:
        return frozenset[str]().union(*map(consumer.topic_names, consumer.members.values()))
    if classic is None or not classic.members:
        return frozenset()
    topics: set[str] = set()
    for member in classic.members.values():
        if not isinstance(member.said, OpaqueJoin) or member.said.protocol_type != "consumer":
            return None
        topics |= _topics_in(member.said)
    return frozenset(topics)


def _topics_in(said: OpaqueJoin) -> frozenset[str]:
    from membership_client.net.consumer_blobs import SubscriptionReader  # noqa: PLC0415 - it loads kio

    name, blob = said.metadata[0]
    return SubscriptionReader(name).read(said.member_id, said.instance_id, blob).topics
