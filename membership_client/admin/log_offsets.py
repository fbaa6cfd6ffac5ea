"""Where partitions begin and end, and where they were at some time: asked of the brokers that lead them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kio.schema.errors import ErrorCode

from membership_client.admin.asking import AgainError, Asker
from membership_client.admin.errors import NoAnswerError, error_name, expect
from membership_client.net.admin_requests import FindOffsets, OffsetsFound
from membership_client.types import Node, TopicPartition


@dataclass(slots=True)
class LogOffsets:
    """What was found; `missing` says why the others were not."""

    found: dict[TopicPartition, int] = field(default_factory=dict)
    missing: dict[TopicPartition, str] = field(default_factory=dict)


def log_offsets(asker: Asker, partitions: Iterable[TopicPartition], at: int) -> LogOffsets:
    """By a Moment or a time in milliseconds; -1 where no record is that late. Leaders that move are followed."""
    wanted, result = frozenset(partitions), LogOffsets()
    try:
        if wanted:
            asker.insist(lambda: _ask_leaders(asker, wanted - result.found.keys() - result.missing.keys(), at, result))
    except NoAnswerError as silence:
        left = wanted - result.found.keys() - result.missing.keys()
        result.missing.update(dict.fromkeys(left, silence.detail))
    return result


def _ask_leaders(asker: Asker, wanted: frozenset[TopicPartition], at: int, result: LogOffsets) -> None:
    """Adds what is told to the result; AgainError if something may be told later."""
    cluster = asker.leaders(frozenset(partition.topic for partition in wanted))
    unknown = wanted - cluster.leaders.keys() - cluster.unled
    result.missing.update(dict.fromkeys(unknown, error_name(ErrorCode.unknown_topic_or_partition)))
    moving = dict.fromkeys(wanted & cluster.unled, "no leader")
    for leader, theirs in _by_leader({p: n for p, n in cluster.leaders.items() if p in wanted}).items():
        answer = asker.ask_once(FindOffsets(at=at, partitions=frozenset(theirs)), leader)
        told = expect(OffsetsFound, answer, None, "be asked for offsets")
        result.found.update(told.offsets)
        for partition, code in told.codes.items():
            (moving if _is_passing(code) else result.missing)[partition] = error_name(code)
    if moving:
        raise AgainError(", ".join(f"{partition}: {why}" for partition, why in sorted(moving.items())) + ".")


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
