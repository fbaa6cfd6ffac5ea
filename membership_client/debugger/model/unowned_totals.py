"""How long each partition had no owner, all times together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from membership_client.debugger.model.deaths import just_ends
from membership_client.debugger.model.memberships import LOST, Ending
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.unowned import Void, voids_of
from membership_client.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Vacancy:
    """By times of day of two machines, if it went from one to another."""

    partition: TopicPartition
    total_s: float
    longest_s: float
    times: int


def vacancies_of(group: Group) -> list[Vacancy]:
    """Of each partition that had none for a while after it had one; the longest first."""
    found: dict[TopicPartition, list[float]] = defaultdict(list)
    for void in voids_of(group):
        if _counts(group, void):
            found[void.partition].append(void.lasted_s)
    vacancies = [Vacancy(partition, sum(each), max(each), len(each)) for partition, each in found.items()]
    return sorted(vacancies, key=lambda vacancy: (-vacancy.total_s, vacancy.partition))


def _counts(group: Group, void: Void) -> bool:
    """Somebody took it later, or its owner was lost. What was given up in peace may be with a member without a trace."""
    lost = void.ending in LOST or (void.ending is Ending.OPEN and just_ends(group, void.before))
    return void.after is not None or lost
