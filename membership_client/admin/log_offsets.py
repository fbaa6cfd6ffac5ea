"""Start and end offsets of partitions, and their offsets at a time, from the partitions' leaders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kio.schema.errors import ErrorCode

from membership_client.admin.asking import AgainError, Asker
from membership_client.admin.errors import NoAnswerError, error_name, expect
from membership_client.net.admin_requests import FindOffsets, LeadersLocated, OffsetsFound
from membership_client.types import Node, TopicPartition


@dataclass(slots=True)
class LogOffsets:
    """Offsets that were found; error codes of refused partitions; reasons for partitions without an answer in time."""

    found: dict[TopicPartition, int] = field(default_factory=dict)
    codes: dict[TopicPartition, int] = field(default_factory=dict)
    untold: dict[TopicPartition, str] = field(default_factory=dict)

    @property
    def missing(self) -> dict[TopicPartition, str]:
        """The reason for each partition whose offset was not found."""
        return {partition: error_name(code) for partition, code in self.codes.items()} | self.untold


def log_offsets(asker: Asker, partitions: Iterable[TopicPartition], at: int) -> LogOffsets:
    """Offsets at a Moment or a time in milliseconds; -1 if no record is as late as that. Follows leaders that move."""
    wanted, result = frozenset(partitions), LogOffsets()
    try:
        if wanted:
            asker.insist(lambda: _ask_leaders(asker, wanted - result.found.keys() - result.codes.keys(), at, result))
    except NoAnswerError as silence:
        left = wanted - result.found.keys() - result.codes.keys()
        result.untold.update(dict.fromkeys(left, silence.detail))
    return result


def _ask_leaders(asker: Asker, wanted: frozenset[TopicPartition], at: int, result: LogOffsets) -> None:
    """Add the answers to `result`. AgainError if a partition may have an answer later."""
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
