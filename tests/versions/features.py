"""What the table of Kafka versions in docs/versions.md is about: each function tries one feature and returns whether it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from membership_client import (
    BrokerTooOldError,
    Consumer,
    GroupProtocol,
    InstanceIdInUseError,
    LeaveMode,
    MemberState,
    TopicPartition,
)
from membership_client.admin import GroupAdmin, UnsupportedByBrokerError
from membership_client.testing import KafkaCluster
from tests.integration.classic import classic, read, wait_shared
from tests.integration.members import Group, WatchedMember, eventually, log_about
from tests.records import produce

QUICKLY: dict[str, Any] = {"heartbeat_interval_ms": 200}
"""For the classic protocol; in a group of KIP-848 the brokers decide."""


def _records(group: Group, _: KafkaCluster) -> bool:
    produce(group.bootstrap_servers, group.topic, partitions=6, records=6)
    config = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id, "auto.offset.reset": "earliest"}
    with Consumer(config) as consumer:
        consumer.subscribe([group.topic])
        read(consumer, 6)
    with GroupAdmin(group.bootstrap_servers) as admin:
        return sum(offset.offset for offset in admin.describe(group.id).committed.values()) == 6


def _classic(group: Group, _: KafkaCluster) -> bool:
    for strategy in ("range", "cooperative-sticky"):
        pair = [group.join(**classic(strategy)), group.join(**classic(strategy))]
        wait_shared(group, pair)
        for member in pair:
            member.close(LeaveMode.LEAVE)
    return True


def _kip_848(group: Group, _: KafkaCluster) -> bool:
    member = group.join(group_protocol="consumer")
    try:
        return member.wait(lambda now: now.owned == group.partitions(6)).protocol is GroupProtocol.CONSUMER
    except BrokerTooOldError:
        return False


def _settled_pair(group: Group) -> tuple[WatchedMember, WatchedMember]:
    """One static, one dynamic, with three partitions each."""
    pair = group.join("one", **QUICKLY), group.join(**QUICKLY)
    wait_shared(group, pair)
    return pair


def _static_restart(group: Group, _: KafkaCluster) -> bool:
    first, other = _settled_pair(group)
    owned, calls = first.assignment(), len(other.calls)
    first.close()
    second = group.join("one", **QUICKLY)
    eventually(lambda: second.assignment() == owned, "the same partitions")
    return len(other.calls) == calls


def _takeover(group: Group, _: KafkaCluster) -> bool:
    first, other = _settled_pair(group)
    owned, calls = first.assignment(), len(other.calls)
    second = group.join("one", group_instance_id_conflict="takeover", **QUICKLY)
    eventually(lambda: second.assignment() == owned, "the same partitions")
    eventually(lambda: first.snapshot.state is MemberState.FATAL, "the end of the first holder")
    return len(other.calls) == calls


def _refused_newcomer(group: Group, _: KafkaCluster) -> bool:
    """Where brokers refuse no second holder, the first one ends."""
    group.join("one", **QUICKLY).wait_stable()
    newcomer = group.join("one", group_instance_id_conflict="fail", **QUICKLY)
    try:
        newcomer.wait_stable()
    except InstanceIdInUseError:
        return True
    return False


def _patterns(group: Group, _: KafkaCluster) -> bool:
    member = group.member(group_protocol="consumer")
    member.subscribe_pattern(f"{group.id}-.*")
    try:
        return member.wait(lambda now: now.owned == group.partitions(6)).owned == group.partitions(6)
    except BrokerTooOldError:
        return False


def _reasons(group: Group, kafka: KafkaCluster) -> bool:
    member = group.join(**QUICKLY)
    member.wait(lambda now: now.owned == group.partitions(6))
    member.close(LeaveMode.LEAVE, reason="scaled down")
    told = log_about(kafka, group.id)
    eventually(lambda: member.snapshot.member_id in told(), "the member in the broker's log")
    return "scaled down" in told()


def _administration(group: Group, _: KafkaCluster) -> bool:
    produce(group.bootstrap_servers, group.topic, partitions=6, records=6)
    first = TopicPartition(group.topic, 0)
    member = group.join("one", **QUICKLY)
    eventually(lambda: member.assignment() == group.partitions(6), "all partitions")
    member.commit({first: 1})
    with GroupAdmin(group.bootstrap_servers) as admin:
        listed = {found.group_id for found in admin.list()}
        lag = admin.describe(group.id).lag[first]
        member.close(LeaveMode.REMAIN)
        removed = admin.remove_all(group.id, force=True)
    return group.id in listed and lag == 0 and [gone.error for gone in removed] == [None]


def _settings(group: Group, _: KafkaCluster) -> bool:
    with GroupAdmin(group.bootstrap_servers) as admin:
        try:
            return bool(admin.settings(group.id))
        except UnsupportedByBrokerError:
            return False


FEATURES: dict[str, Callable[[Group, KafkaCluster], bool]] = {
    "`Consumer` with its defaults: records read and committed": _records,
    "`group.protocol=classic`, by `range` and by `cooperative-sticky`": _classic,
    "`group.protocol=consumer` (KIP-848)": _kip_848,
    "a static member restarts, and no other member rebalances": _static_restart,
    "`group.instance.id.conflict=takeover` of a member that runs": _takeover,
    "`group.instance.id.conflict=fail` refuses the newcomer": _refused_newcomer,
    "`subscribe_pattern` matched by the broker": _patterns,
    "the reason of a leave is in the broker's log": _reasons,
    "`membership-client groups`: list, describe, lag, remove a member": _administration,
    "`membership-client groups config`: settings of a group": _settings,
}
