"""Random groups, small enough to be understood when one fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from membership_client.core.assignors.registry import Assignor
from membership_client.subscriptions import NO_GENERATION, MemberSubscription, TopicLayout
from membership_client.types import TopicPartition

TOPICS = ("a", "b", "c", "d")
RACKS = ("r1", "r2", "r3")
GONE = "gone"
_CLAIMED = [TopicPartition(topic, number) for topic in (*TOPICS, GONE) for number in range(9)]

T = TypeVar("T")
Shares = Mapping[str, frozenset[TopicPartition]]

patient = settings(deadline=None, max_examples=100)
"""No limit of time, because the time of an example depends on the machine."""


@dataclass(frozen=True)
class Group:
    members: tuple[MemberSubscription, ...]
    topics: Mapping[str, TopicLayout]

    def plan(self, assignor: Assignor) -> dict[str, frozenset[TopicPartition]]:
        """The shares as sets, because their order has no meaning."""
        plan = assignor.assign(self.members, self.topics)
        assert all(len(share) == len(set(share)) for share in plan.values())
        return {member_id: frozenset(share) for member_id, share in plan.items()}

    def holding(self, plan: Shares, generation: int) -> Group:
        """The members after that plan; members that are not in it hold nothing."""
        members = [
            replace(m, owned=plan[m.member_id], generation=generation) if m.member_id in plan else m
            for m in self.members
        ]
        return Group(tuple(members), self.topics)

    def renamed(self, prefix: str) -> Group:
        """The same group, in the same order, with topics of other names."""
        members = [
            replace(
                m,
                topics=frozenset(prefix + topic for topic in m.topics),
                owned=frozenset(TopicPartition(prefix + topic, number) for topic, number in m.owned),
            )
            for m in self.members
        ]
        return Group(tuple(members), {prefix + topic: layout for topic, layout in self.topics.items()})

    def subscribed(self) -> set[TopicPartition]:
        """Every partition that must have an owner."""
        wanted = {topic for member in self.members for topic in member.topics}
        return {TopicPartition(topic, n) for topic in wanted & self.topics.keys() for n in range(self.count(topic))}

    def count(self, topic: str) -> int:
        return self.topics[topic].partitions


def groups(**wishes: bool | int | None) -> st.SearchStrategy[Group]:
    """A random group from one drawn seed, because a hundred small draws per group take too long on a busy machine."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_group(Random(seed), **wishes))  # type: ignore[arg-type]


def random_group(
    random: Random,
    *,
    static: bool = True,
    racks: bool = False,
    equal: bool | None = None,
    held: bool = False,
    at_least: int = 1,
) -> Group:
    """`equal`: all want the same, or not if False; either if None. `held`: they claim partitions, truthfully or not."""
    topics = {topic: _layout(random, racks=racks) for topic in sorted(_some(random, TOPICS, at_least=1))}
    common = _some(random, (*TOPICS, GONE), at_least=1) if equal or (equal is None and random.random() < 0.5) else None
    numbers = random.sample(range(10_000), random.randint(at_least, 6))
    members = [
        MemberSubscription(
            member_id=f"m{number}",
            instance_id=f"i{number * 7 % 10_000}" if static and random.random() < 0.5 else None,
            topics=common or _some(random, (*TOPICS, GONE), at_least=1),
            rack=random.choice([None, "", *RACKS]) if racks else None,
            owned=_some(random, _CLAIMED, at_most=6) if held else frozenset(),
            generation=random.randint(-1, 3) if held else NO_GENERATION,
        )
        for number in numbers
    ]
    return Group(tuple(members), topics)


def _layout(random: Random, *, racks: bool) -> TopicLayout:
    count = random.choice([0, 3, 3, *range(1, 8)])
    if not racks or random.random() < 0.2:
        return TopicLayout(count)
    return TopicLayout(count, tuple(_some(random, RACKS) for _ in range(count)))


def _some(random: Random, choices: Sequence[T], at_least: int = 0, at_most: int | None = None) -> frozenset[T]:
    return frozenset(random.sample(choices, random.randint(at_least, at_most or len(choices))))


def unnamed(plan: Shares, prefix: str) -> Shares:
    """A plan for a group whose topics were renamed, with the names of before."""
    return {
        member_id: frozenset(TopicPartition(topic.removeprefix(prefix), number) for topic, number in share)
        for member_id, share in plan.items()
    }


def loads(plan: Shares) -> Sequence[int]:
    return sorted(map(len, plan.values()))
