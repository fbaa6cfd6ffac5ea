"""Administers a cluster for tests: topics, group settings, and the coordinator's view of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from kio.schema.consumer_group_describe.v1 import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4 import FindCoordinatorRequest, FindCoordinatorResponse
from kio.schema.leave_group.v5 import LeaveGroupRequest, LeaveGroupResponse
from kio.schema.leave_group.v5.request import MemberIdentity
from kio.schema.metadata.v9 import MetadataRequest, MetadataResponse
from kio.schema.metadata.v9.request import MetadataRequestTopic
from kio.schema.types import GroupId, TopicName
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from membership_client.testing.described import GroupDescription, from_wire
from membership_client.testing.wire import Address, ask, parse_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from kio.schema.find_coordinator.v4.response import Coordinator
    from kio.static.protocol import RequestPayload, ResponsePayload

    Answer = TypeVar("Answer", bound=ResponsePayload)

_TIMEOUT_S = 30


class NotYetError(RuntimeError):
    """The cluster is not in the wanted state yet. A later attempt may succeed."""


_patiently = retry(
    retry=retry_if_exception_type((OSError, NotYetError)),
    stop=stop_after_delay(_TIMEOUT_S),
    wait=wait_fixed(0.05),
    reraise=True,
)


class ClusterAdmin:
    """Administers a plaintext cluster for a test. Changes of topics return when all live brokers know of them."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._addresses = parse_addresses(bootstrap_servers)
        self._client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def create_topic(self, name: str, partitions: int = 1, replication: int = 1) -> None:
        """Creates the topic and waits until every partition has a leader."""
        _finish(self._client.create_topics([NewTopic(name, partitions, replication)]))
        self._await_partitions(name, partitions)

    def add_partitions(self, name: str, total: int) -> None:
        """Grows the topic to `total` partitions and waits until each has a leader."""
        _finish(self._client.create_partitions([NewPartitions(name, total)]))
        self._await_partitions(name, total)

    def delete_topic(self, name: str) -> None:
        """Deletes the topic and waits until no broker knows it."""
        _finish(self._client.delete_topics([name]))
        self._await_partitions(name, 0)

    def set_group_config(self, group: str, **settings: str | int) -> None:
        """Sets group-level configuration: `consumer_session_timeout_ms=3000` is `consumer.session.timeout.ms`."""
        entries = [
            ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
        _finish(self._client.incremental_alter_configs([resource]))

    def group_epoch(self, group: str) -> int:
        """The group's epoch, which rises with every change of members, subscriptions or partitions."""
        return self.describe(group).epoch

    def remove_member(self, group: str, member_id: str, instance_id: str | None = None) -> None:
        """Remove a member from outside, as an administrator would; in both protocols."""
        leaver = MemberIdentity(member_id=member_id, group_instance_id=instance_id, reason="removed by the test")
        request = LeaveGroupRequest(group_id=GroupId(group), members=(leaver,))
        (found,) = self._find_coordinators([group])
        answer = ask((found.host, found.port), request, LeaveGroupResponse)
        for code in (answer.error_code, *(member.error_code for member in answer.members)):
            _check(code, f"member {member_id or instance_id} of group {group!r} cannot be removed")

    @_patiently
    def describe(self, group: str) -> GroupDescription:
        """The coordinator's view of a KIP-848 group; LookupError if it knows no such group."""
        request = ConsumerGroupDescribeRequest(group_ids=(GroupId(group),), include_authorized_operations=False)
        (found,) = self._find_coordinators([group])
        answer = ask((found.host, found.port), request, ConsumerGroupDescribeResponse).groups[0]
        _check(answer.error_code, f"group {group!r} cannot be described: {answer.error_message}")
        return from_wire(answer)

    def coordinator(self, group: str) -> int:
        """The number, in `KafkaCluster`, of the broker that coordinates the group."""
        return self.coordinators([group])[group]

    @_patiently
    def coordinators(self, groups: Sequence[str]) -> dict[str, int]:
        """The coordinators of many groups, with one request. The groups need not exist."""
        return {found.key: found.node_id for found in self._find_coordinators(groups)}

    def _find_coordinators(self, groups: Sequence[str]) -> Sequence[Coordinator]:
        request = FindCoordinatorRequest(coordinator_keys=tuple(groups))
        coordinators = self._ask_live_brokers(request, FindCoordinatorResponse)[0].coordinators
        for found in coordinators:
            _check(found.error_code, f"the coordinator of group {found.key!r} cannot be found: {found.error_message}")
        return coordinators

    @_patiently
    def _await_partitions(self, topic: str, count: int) -> None:
        request = MetadataRequest(
            topics=(MetadataRequestTopic(name=TopicName(topic)),),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        for answer in self._ask_live_brokers(request, MetadataResponse):
            led = sum(partition.leader_id >= 0 for partition in answer.topics[0].partitions)
            if led != count:
                raise NotYetError(
                    f"{led} partitions of topic {topic!r} have a leader, not {count}; see the broker's log"
                )

    def _ask_live_brokers(self, request: RequestPayload, answer_type: type[Answer]) -> list[Answer]:
        answers = [answer for address in self._addresses if (answer := _ask_if_alive(address, request, answer_type))]
        if not answers:
            raise NotYetError("no broker answers; is the cluster running?")
        return answers


def _ask_if_alive(address: Address, request: RequestPayload, answer_type: type[Answer]) -> Answer | None:
    try:
        return ask(address, request, answer_type, timeout_s=3)
    except OSError:
        return None


def _check(code: ErrorCode, failure: str) -> None:
    if code is ErrorCode.group_id_not_found:
        raise LookupError(failure)
    if code is not ErrorCode.none:
        raise (NotYetError if code.retriable else RuntimeError)(f"{failure} ({code.name})")


def _finish(futures: Mapping[Any, Future[Any]]) -> None:
    for future in futures.values():
        future.result(_TIMEOUT_S)
