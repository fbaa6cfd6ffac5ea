"""Errors: one class per outcome, who it is about, and what to do next."""

from __future__ import annotations

import pickle

import pytest

import membership_client
from membership_client import (
    ConfigError,
    ConnectionProblem,
    FatalError,
    ForkedMemberError,
    Holder,
    InstanceIdInUseError,
    ListenerError,
    MemberClosedError,
    MembershipError,
    NotKafkaError,
    WaitTimeoutError,
)
from membership_client.errors import Identity, Problem, ProblemKind, error_for, may_resubscribe

IDENTITY = Identity("orders", "member-1", "one", 7)


def all_errors() -> list[type[MembershipError]]:
    named = (getattr(membership_client, name) for name in membership_client.__all__)
    return [value for value in named if isinstance(value, type) and issubclass(value, MembershipError)]


@pytest.mark.parametrize("kind", list(ProblemKind))
def test_every_problem_has_an_error(kind: ProblemKind) -> None:
    """It carries who it is about as attributes, and its text has the detail, the advice and the identity."""
    error = error_for(Problem(kind=kind, detail="It went wrong.", epoch=3), IDENTITY)
    assert (error.group_id, error.member_id, error.instance_id, error.epoch) == ("orders", "member-1", "one", 3)
    assert str(error) == f"It went wrong. {error.advice} [group=orders member=member-1 instance=one epoch=3]"
    assert error.advice


def test_the_holder_is_in_the_text_and_an_attribute() -> None:
    """The log tells where the other process runs."""
    holder = Holder("member-2", "web", "/10.0.0.9")
    error = error_for(Problem(kind=ProblemKind.INSTANCE_ID_IN_USE, detail="It is held.", holder=holder), IDENTITY)
    assert isinstance(error, InstanceIdInUseError)
    assert error.holder == holder
    assert "The holder is member member-2 (client web, host /10.0.0.9)." in str(error)


def test_an_error_without_an_identity() -> None:
    """Configuration errors come before there is a member."""
    error = ConfigError("No.")
    assert (str(error), error.group_id, error.holder) == ("No.", None, None)


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (ConfigError, ValueError),
        (ListenerError, TypeError),
        (WaitTimeoutError, TimeoutError),
        (ForkedMemberError, MemberClosedError),
        (NotKafkaError, ConnectionProblem),
    ],
)
def test_errors_are_what_python_programmers_expect(error: type[Exception], also: type[Exception]) -> None:
    """The built-in classes catch them too."""
    assert issubclass(error, also)


@pytest.mark.parametrize("error", all_errors())
def test_errors_survive_a_trip_to_another_process(error: type[MembershipError]) -> None:
    """Spark and multiprocessing pickle them."""
    original = error("It went wrong.", IDENTITY, Holder("member-2", "", ""))
    copy = pickle.loads(pickle.dumps(original))
    assert (type(copy), str(copy), copy.holder) == (error, str(original), original.holder)


def test_only_fatal_errors_can_forbid_a_new_subscription() -> None:
    """Three outcomes are for good: another process is us now, the configuration can never work, or the thread is gone."""
    forbidding = {kind for kind in ProblemKind if not may_resubscribe(Problem(kind=kind, detail=""))}
    assert forbidding == {
        ProblemKind.FENCED_INSTANCE_ID,
        ProblemKind.UNSUPPORTED_ASSIGNOR,
        ProblemKind.SESSION_TIMEOUT_REFUSED,
        ProblemKind.CRASHED,
    }
    assert all(isinstance(error_for(Problem(kind=k, detail=""), IDENTITY), FatalError) for k in forbidding)
