"""Kafka consumers that stay in their group while the application works, and tell why the group rebalances."""

import typing

from membership_client.client import GroupMember
from membership_client.config import MemberConfig
from membership_client.core.assignors.registry import register_assignor
from membership_client.core.events import Budget, CallbackKind, CallbackReturned, RunCallback
from membership_client.core.machine import Step
from membership_client.errors import (
    AssignorFailedError,
    AuthenticationError,
    BrokerTooOldError,
    CallbackFailedError,
    CertificateError,
    ClusterAuthorizationError,
    ConfigError,
    ConnectionProblem,
    FatalError,
    FencedInstanceIdError,
    ForkedMemberError,
    GroupAuthorizationError,
    GroupFullError,
    GroupNotFoundError,
    GroupTypeError,
    InstanceIdInUseError,
    InvalidRegexError,
    ListenerError,
    MemberClosedError,
    MembershipError,
    MembershipThreadError,
    NoCommonStrategyError,
    NotKafkaError,
    NotOwnedError,
    OffsetAccessError,
    OffsetError,
    OffsetTimeoutError,
    SessionTimeoutRefusedError,
    TopicAuthorizationError,
    TopicGoneError,
    UnexpectedBrokerError,
    UnknownTopicError,
    UnreadableAssignmentError,
    UnsupportedAssignorError,
    WaitTimeoutError,
)
from membership_client.rebalance_report import RebalanceCallback, RebalanceReport, RebalanceTrigger
from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.listener import CallbackContext, CallbackRunner, RebalanceListener
from membership_client.security import Security
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import (
    Cause,
    CauseKind,
    CloseReport,
    CloseStep,
    Delay,
    GroupProtocol,
    Health,
    Holder,
    LeaveMode,
    MemberState,
    Node,
    Offset,
    PartitionProgress,
    Progress,
    Share,
    Snapshot,
    TopicPartition,
)

if typing.TYPE_CHECKING:
    from membership_client.consumer import Consumer

__all__ = [
    "AssignorFailedError",
    "AuthenticationError",
    "BrokerTooOldError",
    "Budget",
    "BudgetWarning",
    "CallbackContext",
    "CallbackFailedError",
    "CallbackKind",
    "CallbackReturned",
    "CallbackRunner",
    "Cause",
    "CauseKind",
    "CertificateError",
    "CloseReport",
    "CloseStep",
    "ClusterAuthorizationError",
    "ConfigError",
    "ConnectionProblem",
    "Consumer",
    "Delay",
    "FatalError",
    "FencedInstanceIdError",
    "ForkedMemberError",
    "GroupAuthorizationError",
    "GroupFullError",
    "GroupMember",
    "GroupNotFoundError",
    "GroupProtocol",
    "GroupTypeError",
    "Health",
    "Holder",
    "InstanceIdInUseError",
    "InvalidRegexError",
    "LeaveMode",
    "ListenerError",
    "MemberClosedError",
    "MemberConfig",
    "MemberState",
    "MemberSubscription",
    "MembershipError",
    "MembershipThreadError",
    "NoCommonStrategyError",
    "Node",
    "NotKafkaError",
    "NotOwnedError",
    "Offset",
    "OffsetAccessError",
    "OffsetError",
    "OffsetTimeoutError",
    "PartitionProgress",
    "Progress",
    "RebalanceCallback",
    "RebalanceListener",
    "RebalanceReport",
    "RebalanceTrigger",
    "RunCallback",
    "Security",
    "SessionTimeoutRefusedError",
    "Share",
    "Snapshot",
    "Step",
    "TopicAuthorizationError",
    "TopicGoneError",
    "TopicLayout",
    "TopicPartition",
    "UnexpectedBrokerError",
    "UnknownTopicError",
    "UnreadableAssignmentError",
    "UnsupportedAssignorError",
    "WaitTimeoutError",
    "register_assignor",
]


def __getattr__(name: str) -> typing.Any:
    """Load Consumer when it is first used: a program with another fetcher does not need librdkafka in memory."""
    if name != "Consumer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from membership_client.consumer import Consumer  # noqa: PLC0415 - loads librdkafka

    return Consumer
