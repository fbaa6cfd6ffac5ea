"""Names of spans, metrics and their attributes, by OpenTelemetry's messaging conventions or else `membership.*`."""

from __future__ import annotations

from membership_client.core.member import Member
from membership_client.runtime.local_name import local_name
from membership_client.types import Cause, CauseKind, TopicPartition

SCOPE = "membership_client"

# --- attributes ------------------------------------------------------------------------------------------------------

SYSTEM = "messaging.system"
GROUP = "messaging.consumer.group.name"
CLIENT_ID = "messaging.client.id"
TOPIC = "messaging.destination.name"
PARTITION = "messaging.destination.partition.id"
HOST = "host.name"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
ERROR_TYPE = "error.type"
THREAD = "thread.name"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_STACK = "exception.stacktrace"

MEMBER_ID = "membership.member.id"
INSTANCE_ID = "membership.instance.id"
MEMBER_NAME = "membership.member.name"
STATE = "membership.state"
CAUSE_KIND = "membership.cause.kind"
CAUSE_DETAIL = "membership.cause.detail"
OUTCOME = "membership.outcome"
PHASE = "membership.phase"
BUDGET = "membership.budget"
POLL_STATE = "membership.poll.state"
EPOCH_BEFORE = "membership.epoch.before"
EPOCH_AFTER = "membership.epoch.after"
CALLBACK_KIND = "membership.callback.kind"
CALLBACK_RETURNED = "membership.callback.returned"
CALLBACK_WAITED = "membership.callback.waited"
PARTITIONS = "membership.partitions"
PARTITIONS_MOVED = "membership.partitions.{kind}"

# --- spans and their events ------------------------------------------------------------------------------------------

REBALANCE_SPAN = "membership.rebalance"
PHASE_SPAN = "membership.{phase}"
CALLBACK_SPAN = "membership.callback.{kind}"
CAUSE_EVENT = "membership.cause"
EXCEPTION_EVENT = "exception"

# --- metrics ---------------------------------------------------------------------------------------------------------

REBALANCE_DURATION = "membership.rebalance.duration"
REBALANCE_FAILURES = "membership.rebalance.failures"
REBALANCE_AGE = "membership.rebalance.age"
PHASE_DURATION = "membership.phase.duration"
CALLBACK_DURATION = "membership.callback.duration"
HEARTBEAT_DURATION = "membership.heartbeat.duration"
HEARTBEAT_AGE = "membership.heartbeat.age"
POLL_AGE = "membership.poll.age"
POLL_TIME = "membership.poll.time"
FENCES = "membership.fences"
WARNINGS = "membership.budget.warnings"
MOVED = "membership.partitions.moved"
ASSIGNED = "membership.partitions.assigned"
MEMBERS = "membership.members"
PARTITION_LAG = "membership.partition.lag"
PARTITION_TIME_LAG = "membership.partition.time_lag"
PARTITION_OWNER = "membership.partition.owner"
LAG_MAX = "membership.lag.max"
TIME_LAG_MAX = "membership.time_lag.max"
OPERATION_DURATION = "messaging.client.operation.duration"


# --- labels ----------------------------------------------------------------------------------------------------------


Labels = dict[str, str]


def metric_labels(member: Member) -> Labels:
    """Labels of a member's metrics. Each new value is a new time series, so member and instance id are there only on request."""
    labels = {SYSTEM: "kafka", GROUP: member.config.group_id}
    return labels | _member_labels(member) if member.config.telemetry_member_id_label else labels


def partition_labels(partition: TopicPartition) -> Labels:
    return {TOPIC: partition.topic, PARTITION: str(partition.partition)}


def owner_labels(member: Member, host: str) -> Labels:
    """Where a member runs. In Kubernetes the name of the host is that of the pod."""
    config = member.config
    instance = {} if config.group_instance_id is None else {INSTANCE_ID: config.group_instance_id}
    return {CLIENT_ID: config.client_id, HOST: host, **instance}


def span_labels(member: Member) -> Labels:
    return {
        SYSTEM: "kafka",
        GROUP: member.config.group_id,
        CLIENT_ID: member.config.client_id,
        **_member_labels(member),
    }


def cause_labels(cause: Cause) -> Labels:
    # The detail of a failed callback quotes the exception, whose message may quote a record.
    told = "a callback raised" if cause.kind is CauseKind.CALLBACK_FAILED else cause.detail
    return {CAUSE_KIND: kind_label(cause.kind), CAUSE_DETAIL: told}


def kind_label(kind: CauseKind) -> str:
    return kind.name.lower()


def _member_labels(member: Member) -> Labels:
    instance = member.config.group_instance_id
    who = {MEMBER_ID: member.member_id, MEMBER_NAME: local_name(member)}
    return who if instance is None else {**who, INSTANCE_ID: instance}
