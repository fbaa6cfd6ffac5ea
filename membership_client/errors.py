"""The errors of membership, as types whose texts say what to do next.

    MembershipError
    ├── ConfigError  (also a ValueError)
    ├── ListenerError  (also a TypeError)
    ├── MemberClosedError
    │   └── ForkedMemberError
    ├── WaitTimeoutError  (also a TimeoutError)
    ├── CallbackFailedError
    ├── ConnectionProblem
    │   └── NotKafkaError
    ├── UnreadableAssignmentError
    ├── TopicAuthorizationError
    ├── UnknownTopicError
    ├── GroupNotFoundError
    ├── OffsetError
    │   ├── NotOwnedError
    │   │   └── TopicGoneError
    │   ├── OffsetAccessError
    │   └── OffsetTimeoutError  (also a TimeoutError)
    └── FatalError
        ├── FencedInstanceIdError
        ├── InstanceIdInUseError
        ├── GroupFullError
        ├── GroupAuthorizationError
        ├── ClusterAuthorizationError
        ├── AuthenticationError
        ├── CertificateError
        ├── InvalidRegexError
        ├── UnsupportedAssignorError
        ├── NoCommonStrategyError
        ├── AssignorFailedError
        ├── SessionTimeoutRefusedError
        ├── GroupTypeError
        ├── BrokerTooOldError
        ├── UnexpectedBrokerError
        └── MembershipThreadError

A `Problem` is the same as a value: the pure core records problems, and the modules around it raise errors made of them.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import ClassVar

from membership_client.types import Holder
from membership_client.values import dataclass


class ProblemKind(enum.Enum):
    UNREACHABLE = "unreachable"
    NOT_KAFKA = "not kafka"
    REJECTED = "rejected"
    CALLBACK_FAILED = "callback failed"
    TOPIC_DENIED = "topic denied"
    UNKNOWN_TOPIC = "unknown topic"
    WAITING_FOR_INSTANCE_ID = "waiting for instance id"
    WAITING_FOR_ROOM = "waiting for room"
    FENCED_INSTANCE_ID = "fenced instance id"
    INSTANCE_ID_IN_USE = "instance id in use"
    GROUP_FULL = "group full"
    GROUP_DENIED = "group denied"
    CLUSTER_DENIED = "cluster denied"
    AUTHENTICATION = "authentication"
    UNTRUSTED = "untrusted"
    INVALID_REGEX = "invalid regex"
    UNSUPPORTED_ASSIGNOR = "unsupported assignor"
    NO_COMMON_STRATEGY = "no common strategy"
    ASSIGNOR_FAILED = "assignor failed"
    UNREADABLE_ASSIGNMENT = "unreadable assignment"
    SESSION_TIMEOUT_REFUSED = "session timeout refused"
    GROUP_TYPE = "group type"
    BROKER_TOO_OLD = "broker too old"
    UNEXPECTED = "unexpected"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, as a value. `number` tells repeated problems of one member apart."""

    kind: ProblemKind
    detail: str
    number: int = 0
    epoch: int | None = None
    """The member's epoch when it happened."""
    holder: Holder | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """The group and the member that an error is about."""

    group_id: str
    member_id: str
    instance_id: str | None
    epoch: int


class MembershipError(Exception):
    """The base class of all errors. It names the group and the member; its text says what to do next."""

    advice: ClassVar[str] = ""

    def __init__(self, detail: str, identity: Identity | None = None, holder: Holder | None = None) -> None:
        self.detail = detail
        self.group_id = identity.group_id if identity else None
        self.member_id = identity.member_id if identity else None
        self.instance_id = identity.instance_id if identity else None
        self.epoch = identity.epoch if identity else None
        self.holder = holder
        super().__init__(detail, identity, holder)

    def __str__(self) -> str:
        return " ".join(part for part in (self.detail, self._held_by(), self.advice, self._about()) if part)

    def _held_by(self) -> str:
        return f"The holder is {self.holder}." if self.holder else ""

    def _about(self) -> str:
        if self.group_id is None:
            return ""
        instance = f" instance={self.instance_id}" if self.instance_id else ""
        return f"[group={self.group_id} member={self.member_id}{instance} epoch={self.epoch}]"


class ConfigError(MembershipError, ValueError):
    """A key, a value or an argument cannot work. Nothing was started, sent or changed."""


class ListenerError(MembershipError, TypeError):
    """A callback could never be called: it is no function, or its parameters do not fit."""


class MemberClosedError(MembershipError):
    """A member or consumer was used after `close()`."""

    advice = "Create a new GroupMember or Consumer."


class ForkedMemberError(MemberClosedError):
    """A member or consumer was used in a forked child, but the parent process had made it."""

    advice = "Members do not survive a fork: create the GroupMember or Consumer in the child process."


class WaitTimeoutError(MembershipError, TimeoutError):
    """`wait_until()` gave up. The member goes on."""


class CallbackFailedError(MembershipError):
    """The application's callback raised. The log has the traceback."""

    advice = "A failed assign is tried again; partitions of a failed revoke are given up all the same."


class ConnectionProblem(MembershipError):  # noqa: N818 - the name says that the member goes on
    """There is no coordinator at the moment, or it cannot be reached. The member keeps trying."""

    advice = "The member keeps trying; check bootstrap.servers and the brokers if this lasts."


class NotKafkaError(ConnectionProblem):
    """The server that answers on that port is no Kafka broker."""

    advice = "Check the port in bootstrap.servers; the member keeps trying."


class UnreadableAssignmentError(MembershipError):
    """The assignment that the leader of a classic group wrote cannot be read. The leader's next assignment ends this."""

    advice = "Check the leader's client and its assignor. This member owns nothing until the leader sends another assignment."


class TopicAuthorizationError(MembershipError):
    """There is no access to a topic. The member recovers when access is granted."""

    advice = "Grant DESCRIBE and READ on the topics; the member recovers by itself."


class UnknownTopicError(MembershipError):
    """A subscribed topic does not exist. The member recovers when the topic is created."""

    advice = "Correct the name, or create the topic: the member notices it within some seconds."


class GroupNotFoundError(MembershipError, LookupError):
    """No coordinator knows the group."""

    advice = "Check its name; a group exists once a member has joined or offsets were committed."


class OffsetError(MembershipError):
    """Offsets could not be committed or read."""

    advice = "What was committed before stays committed."
    broker_code: int | None = None
    """What the coordinator answered, by Kafka's number; None if it answered nothing."""


class NotOwnedError(OffsetError):
    """The partition belongs to another member by now."""

    advice = "Drop the work on these partitions: their new owner repeats it from the last commit that was accepted."


class TopicGoneError(NotOwnedError):
    """The topic was deleted, and maybe created anew."""

    advice = "Nothing was committed for it: a new topic of that name is read from its own beginning."


class OffsetAccessError(OffsetError):
    """There is no access to the group, or to a topic of the commit."""

    advice = "Grant the operation, then commit or ask again."


class OffsetTimeoutError(OffsetError, TimeoutError):
    """Offsets were not committed or read in time. Another attempt may succeed."""

    advice = "Ask again; an open transaction or a missing coordinator can delay the answer for a long time."


class FatalError(MembershipError):
    """The member has ended. `may_resubscribe` says whether subscribe() on the same member can start over."""

    may_resubscribe: ClassVar[bool] = True


class FencedInstanceIdError(FatalError):
    """Another process took the member's `group.instance.id`."""

    advice = "Another process took over this group.instance.id: stop this one, or give each process its own id."
    may_resubscribe = False


class InstanceIdInUseError(FatalError):
    """Another process holds the member's `group.instance.id` and did not release it."""

    advice = (
        "Stop the other process or give this one its own group.instance.id; if the holder is dead, "
        "wait for its session to expire, or set group.instance.id.conflict=takeover."
    )


class GroupFullError(FatalError):
    """The group is at its size limit."""

    advice = (
        "Raise group.consumer.max.size (classic: group.max.size) on the brokers, run fewer members, "
        "or set retry_when_full_s to wait for room."
    )


class GroupAuthorizationError(FatalError):
    """There is no access to the group."""

    advice = "Grant READ on the group, then subscribe() again."


class ClusterAuthorizationError(FatalError):
    """There is no access to the cluster."""

    advice = "Grant the operation on the cluster, then subscribe() again."


class AuthenticationError(FatalError):
    """The broker does not accept the user name, password, token or certificate."""

    advice = "Check security.protocol, sasl.* or ssl.certificate.* and what the broker knows, then subscribe() again."


class CertificateError(FatalError):
    """The broker's certificate is not trusted."""

    advice = (
        "Nothing was sent to that broker, because it may be another server. Check the dates and host names of its "
        "certificate, and ssl.ca.location."
    )


class InvalidRegexError(FatalError):
    """The broker cannot read the pattern."""

    advice = "Write the pattern in RE2/J syntax, which has no look-around and no back references, then subscribe again."


class UnsupportedAssignorError(FatalError):
    """The broker has no such assignor."""

    advice = "Set group.remote.assignor to one the brokers offer, or leave it unset."
    may_resubscribe = False


class NoCommonStrategyError(FatalError):
    """No assignment strategy is common to all members of the classic group."""

    advice = "Set partition.assignment.strategy to one that every member of the group has, or use another group.id."


class AssignorFailedError(FatalError):
    """The assignor raised while this member led the classic group."""

    advice = "Correct the assignor, or set partition.assignment.strategy to another one."


class SessionTimeoutRefusedError(FatalError):
    """The brokers do not allow such a `session.timeout.ms` in a classic group."""

    advice = (
        "Keep session.timeout.ms between the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms."
    )
    may_resubscribe = False


class GroupTypeError(FatalError):
    """The group is of another kind."""

    advice = "Use another group.id, set group.protocol to what the group speaks, or have the group migrated first."


class BrokerTooOldError(FatalError):
    """The broker lacks the protocol, or a part of it that this library needs."""

    advice = (
        "Use brokers of Kafka 4.0 or later with the consumer protocol (group.version) enabled, or group.protocol=auto."
    )


class UnexpectedBrokerError(FatalError):
    """The broker gave an answer for which there is no rule."""

    advice = "A healthy broker does not answer this: please report it with the broker's version."


class MembershipThreadError(FatalError):
    """The membership thread ended by a bug."""

    advice = (
        "This is a bug of membership-client: please report it with the traceback that is in the log. Close this member; "
        "the coordinator gives its partitions to others when its session has ended. A new member can join at once."
    )
    may_resubscribe = False


_ERRORS: dict[ProblemKind, type[MembershipError]] = {
    ProblemKind.UNREACHABLE: ConnectionProblem,
    ProblemKind.NOT_KAFKA: NotKafkaError,
    ProblemKind.REJECTED: ConnectionProblem,
    ProblemKind.CALLBACK_FAILED: CallbackFailedError,
    ProblemKind.TOPIC_DENIED: TopicAuthorizationError,
    ProblemKind.UNKNOWN_TOPIC: UnknownTopicError,
    ProblemKind.WAITING_FOR_INSTANCE_ID: InstanceIdInUseError,
    ProblemKind.WAITING_FOR_ROOM: GroupFullError,
    ProblemKind.FENCED_INSTANCE_ID: FencedInstanceIdError,
    ProblemKind.INSTANCE_ID_IN_USE: InstanceIdInUseError,
    ProblemKind.GROUP_FULL: GroupFullError,
    ProblemKind.GROUP_DENIED: GroupAuthorizationError,
    ProblemKind.CLUSTER_DENIED: ClusterAuthorizationError,
    ProblemKind.AUTHENTICATION: AuthenticationError,
    ProblemKind.UNTRUSTED: CertificateError,
    ProblemKind.INVALID_REGEX: InvalidRegexError,
    ProblemKind.UNSUPPORTED_ASSIGNOR: UnsupportedAssignorError,
    ProblemKind.NO_COMMON_STRATEGY: NoCommonStrategyError,
    ProblemKind.ASSIGNOR_FAILED: AssignorFailedError,
    ProblemKind.UNREADABLE_ASSIGNMENT: UnreadableAssignmentError,
    ProblemKind.SESSION_TIMEOUT_REFUSED: SessionTimeoutRefusedError,
    ProblemKind.GROUP_TYPE: GroupTypeError,
    ProblemKind.BROKER_TOO_OLD: BrokerTooOldError,
    ProblemKind.UNEXPECTED: UnexpectedBrokerError,
    ProblemKind.CRASHED: MembershipThreadError,
}


def error_for(problem: Problem, identity: Identity) -> MembershipError:
    """The error to show a user for a problem the core recorded."""
    epoch = identity.epoch if problem.epoch is None else problem.epoch
    return _ERRORS[problem.kind](problem.detail, replace(identity, epoch=epoch), problem.holder)


def may_resubscribe(problem: Problem) -> bool:
    """May a new subscription leave FATAL after this problem?"""
    error = _ERRORS[problem.kind]
    return not issubclass(error, FatalError) or error.may_resubscribe
