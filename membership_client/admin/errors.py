"""The errors of administration.

    MembershipError
    ├── GroupNotFoundError, ConfigError   as everywhere
    ├── ConnectionProblem
    │   └── NoAnswerError
    ├── GroupAuthorizationError
    │   └── NotAuthorizedError
    └── AdminError
        ├── UnsupportedByBrokerError
        ├── InvalidGroupError
        ├── GroupNotEmptyError
        ├── UnknownMemberError
        ├── MemberAliveError
        ├── OffsetsNotChangedError
        └── SettingRefusedError  (also a ValueError)

Brokers answer with error codes; `expect` and `refusal` turn them into these errors.
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
    """A broker refused the request, or the request would do harm."""


class NoAnswerError(ConnectionProblem):
    """The cluster did not answer in time."""

    advice = "Check the address, the brokers, and the security settings (TLS, SASL)."


class NotAuthorizedError(GroupAuthorizationError):
    """The user may not access the group, its topics or its settings."""

    advice = (
        "Describing a group needs DESCRIBE on the group and its topics; removing members needs READ on the group; changing "
        "offsets needs READ on both, and forgetting them DELETE on the group; settings need DESCRIBE_CONFIGS and ALTER_CONFIGS."
    )


class UnsupportedByBrokerError(AdminError):
    """The brokers are too old for the request."""


class InvalidGroupError(AdminError):
    """The group id is empty, or the group is not a group of consumers."""

    advice = "Only groups of consumers can be administered here."


class GroupNotEmptyError(AdminError):
    """The group has members, so its offsets cannot be changed."""

    advice = (
        "Stop its members first: a live member would go on from its own position, and brokers refuse the change. "
        "A static member that has stopped stays in the group until it is removed, or its session ends."
    )


class UnknownMemberError(AdminError):
    """The group has no such member."""


class MemberAliveError(AdminError):
    """The member to remove looks alive, or may be alive."""

    advice = "Stop the member, or force its removal: it then loses its partitions, and joins again if it is alive."


class OffsetsNotChangedError(AdminError):
    """Not all offsets were changed. `changed` has the changed offsets, `refused` a reason for each of the others."""

    def __init__(
        self, detail: str, changed: Mapping[TopicPartition, int | None], refused: Mapping[TopicPartition, str]
    ) -> None:
        self.changed = changed
        self.refused = refused
        super().__init__(detail)


class SettingRefusedError(AdminError, ValueError):
    """The brokers refuse a value for a setting of a group."""


DENIED = frozenset(
    {
        ErrorCode.group_authorization_failed,
        ErrorCode.topic_authorization_failed,
        ErrorCode.cluster_authorization_failed,
    }
)


def error_name(code: int) -> str:
    """Kafka's name for an error code; its number if the code is unknown."""
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"error code {code}"


def expect(kind: type[T], response: Response, group_id: str | None, wish: str) -> T:
    """The answer if it is of that kind; otherwise raises the error for the refusal.

    `wish` ends the sentence "Group g cannot ..." or "The cluster cannot ...", for example "be described".
    """
    if isinstance(response, kind):
        return response
    code, message = (response.code, response.message) if isinstance(response, Refused) else (-1, None)
    raise refusal(code, message, group_id, wish)


def raise_if_denied(codes: Mapping[T, int], group_id: str | None, wish: str) -> None:
    """NotAuthorizedError if access was denied to every topic or partition in `codes`."""
    if codes and DENIED.issuperset(codes.values()):
        raise refusal(next(iter(codes.values())), f"of {', '.join(sorted(map(str, codes)))}", group_id, wish)


def refusal(code: int, message: str | None, group_id: str | None, wish: str) -> MembershipError:
    """The error for a broker's error code."""
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
