"""Our errors as confluent-kafka's."""

from __future__ import annotations

import inspect

import pytest
from confluent_kafka import KafkaError, KafkaException

from membership_client import (
    ConfigError,
    FencedInstanceIdError,
    GroupAuthorizationError,
    MembershipError,
    NotOwnedError,
    OffsetAccessError,
    OffsetError,
    SessionTimeoutRefusedError,
    errors,
)
from membership_client.consumer.kafka_errors import as_kafka_exception, as_kafka_exceptions
from membership_client.errors import Identity

WHO = Identity(group_id="shop", member_id="m1", instance_id="till-1", epoch=7)


@pytest.mark.parametrize(
    ("error", "code", "fatal"),
    [
        (NotOwnedError("Not owned any more: t-1.", WHO), KafkaError._ASSIGNMENT_LOST, False),
        (OffsetError("Given up.", WHO), KafkaError._FAIL, False),
        (GroupAuthorizationError("Denied.", WHO), KafkaError.GROUP_AUTHORIZATION_FAILED, True),
        (SessionTimeoutRefusedError("Too short.", WHO), KafkaError.INVALID_SESSION_TIMEOUT, True),
        (ConfigError("No such topic list."), KafkaError._INVALID_ARG, False),
        (FencedInstanceIdError("Taken.", WHO), KafkaError.FENCED_INSTANCE_ID, True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_both_kinds_at_once(error: MembershipError, code: int, fatal: bool) -> None:
    """Old handlers find a KafkaError with its code, new ones find the type, the identity and the advice."""
    both = as_kafka_exception(error)
    assert isinstance(both, type(error))
    assert isinstance(both, KafkaException)
    assert both.args[0].code() == code
    assert both.args[0].fatal() is fatal
    assert (both.group_id, both.epoch) == (error.group_id, error.epoch)
    assert str(both) == str(error)


@pytest.mark.parametrize("kind", [OffsetError, OffsetAccessError])
def test_what_the_coordinator_answered_is_the_code(kind: type[OffsetError]) -> None:
    """Where the type says less than that: a commit may be denied, or its metadata too long."""
    error = kind("Denied.", WHO)
    error.broker_code = KafkaError.GROUP_AUTHORIZATION_FAILED
    assert as_kafka_exception(error).args[0].name() == "GROUP_AUTHORIZATION_FAILED"


def test_every_error_of_membership_has_a_code_of_its_own() -> None:
    """But those of a coordinator's answer, and of our own bugs."""
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, MembershipError)]
    vague = {kind.__name__ for kind in kinds if code_of(kind) == KafkaError._FAIL}
    expected = {"MembershipError", "FatalError", "OffsetError", "OffsetAccessError", "MembershipThreadError"}
    assert vague == expected


def code_of(kind: type[MembershipError]) -> int:
    about = as_kafka_exception(kind("Trouble.", WHO)).args[0]
    return int(about.code()) if isinstance(about, KafkaError) else KafkaError._STATE


def test_what_is_both_already_stays_as_it_is() -> None:
    """An error may pass several of our methods on its way out."""
    both = as_kafka_exception(NotOwnedError("Gone.", WHO))
    assert as_kafka_exception(both) is both


def test_other_errors_pass_unchanged() -> None:
    """Above all what the application's own callback raised."""
    with pytest.raises(ZeroDivisionError), as_kafka_exceptions():
        1 / 0  # noqa: B018 - it is the raising that counts
