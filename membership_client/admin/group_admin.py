"""GroupAdmin: ask a cluster about its groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Self

from membership_client.admin.asking import Asker
from membership_client.admin.lag import lag_of
from membership_client.admin.views import GroupView, MemberView
from membership_client.core.error_codes import Code, code_name
from membership_client.core.events import (
    DescribeClassicGroup,
    DescribedMember,
    DescribeGroup,
    FetchOffsets,
    GroupDescribed,
    OffsetsFetched,
    Refused,
    Response,
)
from membership_client.errors import GroupAuthorizationError, GroupNotFoundError, MembershipError
from membership_client.types import Offset, TopicPartition

_OTHER_KIND = frozenset({Code.GROUP_ID_NOT_FOUND, Code.UNSUPPORTED_VERSION})
"""What a coordinator says when asked about a classic group as if it were one of KIP-848."""


class GroupAdmin:
    """Over connections of its own; belongs to one thread. Groups of both protocols."""

    def __init__(
        self, bootstrap_servers: str, *, client_id: str = "membership-client-admin", timeout_s: float = 10.0
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._asker = Asker(bootstrap_servers, client_id=client_id, timeout_s=timeout_s)

    def describe(self, group_id: str, *, lag: bool = True) -> GroupView:
        """As its coordinator sees it. GroupNotFoundError, GroupAuthorizationError, or ConnectionProblem in time."""
        described = self._asker.ask_coordinator(group_id, DescribeGroup(group_id=group_id))
        if isinstance(described, Refused) and described.code in _OTHER_KIND:
            return self._with_lag(self._describe_classic(group_id), wanted=lag)
        return self._with_lag(_view(group_id, _described(described, group_id)), wanted=lag)

    def _describe_classic(self, group_id: str) -> GroupView:
        answer = self._asker.ask_coordinator(group_id, DescribeClassicGroup(group_id=group_id))
        described = _described(answer, group_id)
        if described.state == "Dead":
            raise GroupNotFoundError(f"There is no group {group_id}.")
        return _view(group_id, described)

    def _with_lag(self, view: GroupView, *, wanted: bool) -> GroupView:
        partitions = frozenset[TopicPartition]().union(*(member.current for member in view.members))
        if not wanted or not partitions:
            return view
        return replace(view, lag=lag_of(self._bootstrap_servers, self.committed(view.group_id, partitions)))

    def committed(self, group_id: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Offset]:
        """What the group has committed of these; those of which it has not are missing."""
        wanted = frozenset(TopicPartition(*partition) for partition in partitions)
        request = FetchOffsets(group_id=group_id, member_id=None, epoch=-1, partitions=wanted)
        answer = self._asker.ask_coordinator(group_id, request)
        found = answer.offsets if isinstance(answer, OffsetsFetched) else {}
        return {partition: offset for partition, offset in found.items() if offset is not None}

    def close(self) -> None:
        self._asker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _described(response: Response, group_id: str) -> GroupDescribed:
    if isinstance(response, GroupDescribed):
        return response
    code = response.code if isinstance(response, Refused) else Code.UNKNOWN_SERVER_ERROR
    if code == Code.GROUP_AUTHORIZATION_FAILED:
        raise GroupAuthorizationError(f"Access to group {group_id} is denied.")
    if code == Code.GROUP_ID_NOT_FOUND:
        raise GroupNotFoundError(f"There is no group {group_id}.")
    raise MembershipError(f"Group {group_id} cannot be described: {code_name(code)}.")


def _view(group_id: str, described: GroupDescribed) -> GroupView:
    is_classic = described.epoch < 0
    return GroupView(
        group_id=group_id,
        protocol="classic" if is_classic else "consumer",
        state=described.state,
        epoch=None if is_classic else described.epoch,
        assignment_epoch=None if is_classic else described.assignment_epoch,
        assignor=described.assignor,
        members=tuple(sorted(map(_member, described.members), key=lambda member: member.name)),
    )


def _member(member: DescribedMember) -> MemberView:
    return MemberView(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.host,
        epoch=None if member.epoch < 0 else member.epoch,
        current=member.current,
        target=member.target,
    )
