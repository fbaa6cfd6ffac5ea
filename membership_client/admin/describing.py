"""Lists the groups of a cluster, and describes a group as its coordinator does, with committed offsets, ends of partitions and lag."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from kio.schema.errors import ErrorCode

from membership_client.admin.asking import AgainError, Asker
from membership_client.admin.errors import (
    InvalidGroupError,
    NoAnswerError,
    UnsupportedByBrokerError,
    error_name,
    expect,
    refusal,
)
from membership_client.admin.views import GroupView, MemberView
from membership_client.core.events import (
    DescribeClassicGroup,
    DescribeGroup,
    FetchOffsets,
    GroupDescribed,
    MemberDescription,
    OffsetsFetched,
    Refused,
)
from membership_client.errors import GroupNotFoundError
from membership_client.net.admin_requests import (
    FetchAllOffsets,
    FindOffsets,
    GroupsListed,
    LeadersLocated,
    ListedGroup,
    ListGroups,
    Moment,
    OffsetsFound,
)
from membership_client.types import Node, Offset, TopicPartition

_OTHER_KIND = frozenset({ErrorCode.group_id_not_found, ErrorCode.unsupported_version})
"""Error codes with which coordinators answer ConsumerGroupDescribe for a classic group."""

_NO_EPOCH = -1


def describe(asker: Asker, group_id: str) -> GroupView:
    """The group and its members, without offsets."""
    if not group_id:
        raise InvalidGroupError("The group id is empty.")
    # The KIP-848 request is sent twice, because the group may move to KIP-848 between the first two requests.
    kinds = (_consumer_group, _classic_group, _consumer_group)
    described = next((found for ask in kinds if (found := ask(asker, group_id)) is not None), None)
    if described is None:
        raise GroupNotFoundError(f"There is no group {group_id}.")
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


def with_offsets(asker: Asker, view: GroupView) -> GroupView:
    """`view` with the coordinator, the committed offsets and the ends of the partitions."""
    committed = all_committed(asker, view.group_id)
    return replace(
        view,
        coordinator=asker.coordinator(view.group_id),
        committed=committed,
        ends=log_offsets(asker, committed.keys() | view.owners.keys(), Moment.LATEST).found,
    )


def all_committed(asker: Asker, group_id: str) -> dict[TopicPartition, Offset]:
    """All offsets that the coordinator holds for the group."""
    answer = asker.ask_coordinator(group_id, FetchAllOffsets(group_id=group_id))
    found = expect(OffsetsFetched, answer, group_id, "be asked for its offsets").offsets
    return {partition: offset for partition, offset in found.items() if offset is not None}


def committed(asker: Asker, group_id: str, partitions: frozenset[TopicPartition]) -> dict[TopicPartition, Offset]:
    """Committed offsets of these partitions, as their next owner would get them. Waits for open transactions.

    A broker's error for one partition is raised, because a denied offset must not look like a missing one.
    """
    request = FetchOffsets(group_id=group_id, member_id=None, epoch=-1, partitions=partitions)
    answer = asker.insist(lambda: _fetch_stable(asker, request))
    for partition, code in answer.codes.items():
        raise refusal(code, str(partition), group_id, "be asked for its offsets")
    return {partition: offset for partition, offset in answer.offsets.items() if offset is not None}


def _fetch_stable(asker: Asker, request: FetchOffsets) -> OffsetsFetched:
    answer = asker.ask_coordinator_once(request.group_id, request)
    fetched = expect(OffsetsFetched, answer, request.group_id, "be asked for its offsets")
    if open_ones := [p for p, code in fetched.codes.items() if code == ErrorCode.unstable_offset_commit]:
        raise AgainError(
            f"a transaction that commits offsets of {', '.join(map(str, sorted(open_ones)))} is still open."
        )
    return fetched


def _consumer_group(asker: Asker, group_id: str) -> GroupDescribed | None:
    """The group's description; None if it may be a classic group, or the brokers do not know KIP-848."""
    try:
        answer = asker.ask_coordinator(group_id, DescribeGroup(group_id=group_id))
    except UnsupportedByBrokerError:
        return None
    if isinstance(answer, Refused) and answer.code in _OTHER_KIND:
        return None
    return expect(GroupDescribed, answer, group_id, "be described")


def _classic_group(asker: Asker, group_id: str) -> GroupDescribed | None:
    """The group's description; None if there is no such classic group."""
    answer = asker.ask_coordinator(group_id, DescribeClassicGroup(group_id=group_id))
    described = expect(GroupDescribed, answer, group_id, "be described")
    return None if described.state == "Dead" else described


def _member(member: MemberDescription) -> MemberView:
    return MemberView(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.host,
        # -2 is the epoch of a static member that has left temporarily.
        epoch=None if member.epoch == _NO_EPOCH else member.epoch,
        current=member.current,
        target=member.target,
        topics=member.topics,
        regex=member.regex,
        is_classic=member.is_classic,
        has_assignor_data=member.has_assignor_data,
    )


# --- the list of groups ----------------------------------------------------------------------------------------------


_CONSUMERS = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary:
    """One group of a list, without its members."""

    group_id: str
    protocol: str
    """`consumer` (KIP-848) or `classic`; empty if the broker does not report it (before Kafka 3.7)."""
    state: str
    """Empty if the broker does not report it (before Kafka 2.6)."""


def list_groups(
    asker: Asker, *, states: Collection[str] = (), protocols: Collection[str] = (), prefix: str = ""
) -> tuple[GroupSummary, ...]:
    """Groups of consumers, sorted by name. They are filtered here, because old brokers cannot filter, and spell states differently."""
    wanted_states, wanted_protocols = ({name.lower() for name in names} for names in (states, protocols))
    found = {group.group_id: _summary(group) for group in _all(asker) if group.protocol_type in {_CONSUMERS, ""}}
    return tuple(
        group
        for _, group in sorted(found.items())
        if group.group_id.startswith(prefix)
        and (not wanted_states or group.state.lower() in wanted_states)
        and (not wanted_protocols or group.protocol in wanted_protocols)
    )


def _all(asker: Asker) -> list[ListedGroup]:
    brokers = asker.leaders().brokers.values()
    answers = [
        expect(GroupsListed, asker.ask(ListGroups(), broker), None, "be asked for its groups") for broker in brokers
    ]
    return [group for answer in answers for group in answer.groups]


def _summary(group: ListedGroup) -> GroupSummary:
    return GroupSummary(group_id=group.group_id, protocol=group.type.lower(), state=group.state)


# --- offsets of the logs, from the leaders of partitions -------------------------------------------------------------


@dataclass(slots=True)
class LogOffsets:
    """The offsets that were found, the error codes of refused partitions, and reasons for partitions without an answer in time."""

    found: dict[TopicPartition, int] = field(default_factory=dict)
    codes: dict[TopicPartition, int] = field(default_factory=dict)
    untold: dict[TopicPartition, str] = field(default_factory=dict)

    @property
    def missing(self) -> dict[TopicPartition, str]:
        """The partitions whose offset was not found, each with the reason."""
        return {partition: error_name(code) for partition, code in self.codes.items()} | self.untold


def log_offsets(asker: Asker, partitions: Iterable[TopicPartition], at: int) -> LogOffsets:
    """Offsets at a Moment or a time in milliseconds; -1 if all records are older. Asks again if leaders move."""
    wanted, result = frozenset(partitions), LogOffsets()
    try:
        if wanted:
            asker.insist(lambda: _ask_leaders(asker, wanted - result.found.keys() - result.codes.keys(), at, result))
    except NoAnswerError as silence:
        left = wanted - result.found.keys() - result.codes.keys()
        result.untold.update(dict.fromkeys(left, silence.detail))
    return result


def _ask_leaders(asker: Asker, wanted: frozenset[TopicPartition], at: int, result: LogOffsets) -> None:
    """Add the answers to `result`. AgainError if a leader may answer for a partition later."""
    cluster = asker.leaders(frozenset(partition.topic for partition in wanted))
    result.codes.update({p: _why(p, cluster) for p in wanted - cluster.leaders.keys() - cluster.unled})
    moving = dict.fromkeys(wanted & cluster.unled, "no leader")
    for leader, theirs in _by_leader({p: n for p, n in cluster.leaders.items() if p in wanted}).items():
        answer = asker.ask_once(FindOffsets(at=at, partitions=frozenset(theirs)), leader)
        told = expect(OffsetsFound, answer, None, "be asked for offsets")
        result.found.update(told.offsets)
        moving |= {partition: error_name(code) for partition, code in told.codes.items() if _is_passing(code)}
        result.codes.update({partition: code for partition, code in told.codes.items() if not _is_passing(code)})
    if moving:
        raise AgainError(", ".join(f"{partition}: {why}" for partition, why in sorted(moving.items())) + ".")


def _why(partition: TopicPartition, cluster: LeadersLocated) -> int:
    is_denied = partition.topic in cluster.denied
    return ErrorCode.topic_authorization_failed if is_denied else ErrorCode.unknown_topic_or_partition


def _by_leader(leaders: Mapping[TopicPartition, Node]) -> dict[Node, set[TopicPartition]]:
    theirs: dict[Node, set[TopicPartition]] = {}
    for partition, leader in leaders.items():
        theirs.setdefault(leader, set()).add(partition)
    return theirs


def _is_passing(code: int) -> bool:
    try:
        return ErrorCode(code).retriable
    except ValueError:
        return False
