"""Errors that are of this library's type and a KafkaException with confluent-kafka's code at the same time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from confluent_kafka import KafkaError, KafkaException

from membership_client import errors
from membership_client.core.error_codes import Code
from membership_client.errors import FatalError, MembershipError

_CODES: Mapping[type[MembershipError], int] = MappingProxyType(
    {
        errors.ConfigError: KafkaError._INVALID_ARG,
        errors.ListenerError: KafkaError._INVALID_ARG,
        errors.MemberClosedError: KafkaError._STATE,
        errors.CallbackFailedError: KafkaError._APPLICATION,
        errors.ConnectionProblem: KafkaError._TRANSPORT,
        errors.TopicAuthorizationError: KafkaError.TOPIC_AUTHORIZATION_FAILED,
        errors.UnknownTopicError: KafkaError.UNKNOWN_TOPIC_OR_PART,
        errors.NotOwnedError: KafkaError._ASSIGNMENT_LOST,
        errors.TopicGoneError: KafkaError.UNKNOWN_TOPIC_ID,
        errors.OffsetTimeoutError: KafkaError._TIMED_OUT,
        errors.FencedInstanceIdError: KafkaError.FENCED_INSTANCE_ID,
        errors.InstanceIdInUseError: KafkaError.UNRELEASED_INSTANCE_ID,
        errors.GroupFullError: KafkaError.GROUP_MAX_SIZE_REACHED,
        errors.GroupAuthorizationError: KafkaError.GROUP_AUTHORIZATION_FAILED,
        errors.ClusterAuthorizationError: KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        errors.AuthenticationError: KafkaError._AUTHENTICATION,
        errors.CertificateError: KafkaError._SSL,
        errors.InvalidRegexError: Code.INVALID_REGULAR_EXPRESSION,  # confluent-kafka 2.13 and 2.14 have no name for it
        errors.UnsupportedAssignorError: KafkaError.UNSUPPORTED_ASSIGNOR,
        errors.GroupTypeError: KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        errors.BrokerTooOldError: KafkaError.UNSUPPORTED_VERSION,
        errors.WaitTimeoutError: KafkaError._TIMED_OUT,
        errors.GroupNotFoundError: KafkaError.GROUP_ID_NOT_FOUND,
        errors.UnreadableAssignmentError: KafkaError._BAD_MSG,
        errors.NoCommonStrategyError: KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        errors.AssignorFailedError: KafkaError._APPLICATION,
        errors.SessionTimeoutRefusedError: KafkaError.INVALID_SESSION_TIMEOUT,
        errors.UnexpectedBrokerError: KafkaError.UNKNOWN,
    }
)


def as_kafka_error(error: MembershipError, code: int | None = None) -> KafkaError:
    known = _code_of(error) if code is None else code
    return KafkaError(known, str(error), isinstance(error, FatalError))


def _code_of(error: MembershipError) -> int:
    """The code for the error's type; without one, the code that a broker answered, such as GROUP_AUTHORIZATION_FAILED."""
    known = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), None)
    if known is None and isinstance(error, errors.OffsetError):
        known = error.broker_code
    return KafkaError._FAIL if known is None else known


def as_kafka_exception(
    error: MembershipError, code: int | None = None, also: tuple[type[Exception], ...] = ()
) -> MembershipError:
    """The same error, of the same type, as a KafkaException, too; `code` replaces the code of its type."""
    if isinstance(error, KafkaException | RuntimeError):
        return error
    closed = isinstance(error, errors.MemberClosedError)
    # A closed confluent_kafka.Consumer raises RuntimeError, which `except KafkaException` must not catch: a loop that goes
    # on after errors would go on for ever.
    kind = _both(type(error), (RuntimeError,) if closed else (KafkaException, *also))
    both = kind.__new__(kind)
    both.__dict__.update(error.__dict__)
    both.args = (_closed_text(error) if closed else as_kafka_error(error, code),)
    return both


_CLOSED = "Consumer closed"
"""The text of confluent-kafka's error, which programs compare."""


def closed_error() -> MembershipError:
    """The error that every method of a closed Consumer raises."""
    return as_kafka_exception(errors.MemberClosedError(f"{_CLOSED}."))


def _closed_text(error: MembershipError) -> str:
    return error.detail if isinstance(error, errors.ForkedMemberError) else _CLOSED


def refusal(detail: str, *also: type[Exception]) -> MembershipError:
    """The error for a wrong argument; `also` is the type that confluent-kafka raises for it."""
    return as_kafka_exception(errors.ConfigError(detail), also=also)


_MADE: dict[tuple[type[MembershipError], tuple[type[Exception], ...]], type[MembershipError]] = {}


def _both(kind: type[MembershipError], also: tuple[type[Exception], ...]) -> type[MembershipError]:
    if (kind, also) not in _MADE:
        _MADE[kind, also] = type(kind.__name__, (kind, *also), {"__module__": kind.__module__})
    return _MADE[kind, also]


@contextlib.contextmanager
def as_kafka_exceptions() -> Iterator[None]:
    """A MembershipError that leaves the block is a KafkaException, too."""
    try:
        yield
    except MembershipError as error:
        raise as_kafka_exception(error) from error.__cause__
