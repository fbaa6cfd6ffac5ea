"""What can go wrong in administration, as types that say what to do next.

    MembershipError
    ├── GroupNotFoundError, ConfigError   as everywhere
    ├── ConnectionProblem
    │   └── NoAnswerError            the cluster did not answer in time
    ├── GroupAuthorizationError
    │   └── NotAuthorizedError       no access to the group, a topic of it, or its settings
    └── AdminError
        ├── UnsupportedByBrokerError the brokers are too old for this
        ├── InvalidGroupError        no group id, or not a group of consumers
        ├── GroupNotEmptyError       offsets cannot be changed while it has members
        ├── UnknownMemberError       the group has no such member
        ├── MemberAliveError         the member to be removed looks alive, or may be
        ├── OffsetsNotChangedError   not all offsets were changed; says which were
        └── SettingRefusedError      (also a ValueError) a group setting that the brokers do not take

Brokers answer with codes; `expect` and `refusal` make errors of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from kio.schema.errors import ErrorCode

from membership_client.core.events import Refused, Response
from membership_client.errors import ConnectionProblem, GroupAuthorizationError, GroupNotFoundError, MembershipError
from membership_client.types import TopicPartition

T = TypeVar("T")


class AdminError(MembershipError):
    """A broker said no, or what was asked for would do harm."""


class NoAnswerError(ConnectionProblem):
    advice = "Check the address, the brokers, and how they want to be spoken to (TLS, SASL)."


class NotAuthorizedError(GroupAuthorizationError):
    advice = (
        "To look at a group takes DESCRIBE on it and on its topics; to remove members READ on it; to change offsets READ on "
        "both, and DELETE on the group to forget them; its settings take DESCRIBE_CONFIGS and ALTER_CONFIGS."
    )


class UnsupportedByBrokerError(AdminError):
    pass


class InvalidGroupError(AdminError):
    advice = "Only groups of consumers can be administered here."


class GroupNotEmptyError(AdminError):
    advice = (
        "Stop its members first: a live one would go on from where it is, and brokers refuse it. "
        "A static member that has stopped stays in the group until it is removed, or its session ends."
    )


class UnknownMemberError(AdminError):
    pass


class MemberAliveError(AdminError):
    advice = "Stop it, or force its removal: it then loses its partitions, and joins again if it lives."


class OffsetsNotChangedError(AdminError):
    """`changed` has what was committed before or in spite of the error, `refused` why the others were not."""

    def __init__(
        self, detail: str, changed: Mapping[TopicPartition, int | None], refused: Mapping[TopicPartition, str]
    ) -> None:
        self.changed = changed
        self.refused = refused
        super().__init__(detail)


class SettingRefusedError(AdminError, ValueError):
    pass


DENIED = frozenset(
    {
        ErrorCode.group_authorization_failed,
        ErrorCode.topic_authorization_failed,
        ErrorCode.cluster_authorization_failed,
    }
)


def error_name(code: int) -> str:
    """Kafka's name for a code, or its number where we know none."""
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"error code {code}"


def expect(kind: type[T], response: Response, group_id: str | None, wish: str) -> T:
    """The answer, if it is of that kind; otherwise the error that a refusal stands for.

    `wish` is what the group, or without one the cluster, "cannot" do, as in "be described".
    """
    if isinstance(response, kind):
        return response
    code, message = (response.code, response.message) if isinstance(response, Refused) else (-1, None)
    raise refusal(code, message, group_id, wish)


def raise_if_denied(codes: Mapping[T, int], group_id: str | None, wish: str) -> None:
    """NotAuthorizedError if these are the codes of topics or partitions of which access was denied to every one."""
    if codes and DENIED.issuperset(codes.values()):
        raise refusal(next(iter(codes.values())), f"of {', '.join(sorted(map(str, codes)))}", group_id, wish)


def refusal(code: int, message: str | None, group_id: str | None, wish: str) -> MembershipError:
    """The error for a code that a broker answered with."""
    who = "The cluster" if group_id is None else f"Group {group_id}"
    what = f"{who} cannot {wish}: {error_name(code)}{f' ({message})' if message else ''}."
    if code == ErrorCode.group_id_not_found:
        return GroupNotFoundError(f"There is no group {group_id}.")
    if code in DENIED:
        return NotAuthorizedError(f"Access is denied. {what}")
    if code in {ErrorCode.invalid_group_id, ErrorCode.inconsistent_group_protocol}:
        return InvalidGroupError(what)
    if code == ErrorCode.unsupported_version:
        return UnsupportedByBrokerError(what)
    if code == ErrorCode.non_empty_group:
        return GroupNotEmptyError(what)
    return AdminError(what)
