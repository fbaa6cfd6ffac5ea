"""Our errors as confluent-kafka's: whoever catches KafkaException catches them, whoever knows ours sees them whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from confluent_kafka import KafkaError, KafkaException

from membership_client import errors
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
        errors.InvalidRegexError: KafkaError.INVALID_REGULAR_EXPRESSION,
        errors.UnsupportedAssignorError: KafkaError.UNSUPPORTED_ASSIGNOR,
        errors.GroupTypeError: KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        errors.BrokerTooOldError: KafkaError.UNSUPPORTED_VERSION,
    }
)


def as_kafka_error(error: MembershipError, code: int | None = None) -> KafkaError:
    known = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), KafkaError._FAIL)
    return KafkaError(known if code is None else code, str(error), isinstance(error, FatalError))


def as_kafka_exception(error: MembershipError, code: int | None = None) -> MembershipError:
    """The same error, of the same type, that is a KafkaException too; with another code where confluent-kafka has one."""
    if isinstance(error, KafkaException):
        return error
    both = _both(type(error)).__new__(_both(type(error)))
    both.__dict__.update(error.__dict__)
    both.args = (as_kafka_error(error, code),)
    return both


def refusal(detail: str) -> MembershipError:
    """For an argument that cannot be one."""
    return as_kafka_exception(errors.ConfigError(detail))


_MADE: dict[type[MembershipError], type[MembershipError]] = {}


def _both(kind: type[MembershipError]) -> type[MembershipError]:
    if kind not in _MADE:
        # A closed confluent_kafka.Consumer raises RuntimeError, and programs end their loops by it.
        also = (RuntimeError,) if issubclass(kind, errors.MemberClosedError) else ()
        _MADE[kind] = type(kind.__name__, (kind, KafkaException, *also), {"__module__": kind.__module__})
    return _MADE[kind]


@contextlib.contextmanager
def as_kafka_exceptions() -> Iterator[None]:
    """What membership raises inside leaves as both."""
    try:
        yield
    except MembershipError as error:
        raise as_kafka_exception(error) from error.__cause__
