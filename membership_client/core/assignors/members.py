"""The members of a group in the order that all assignors share: their topics, their racks, and what they held before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import chain, repeat
from operator import itemgetter

from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition
from membership_client.values import dataclass

Plan = dict[str, list[TopicPartition]]

# As TopicPartition(topic, number), in a third of the time: large groups have tens of thousands.
_new_partition: Callable[[tuple[str, int]], TopicPartition] = partial(tuple.__new__, TopicPartition)


def in_order(subscriptions: Iterable[MemberSubscription]) -> list[MemberSubscription]:
    """Static members by instance id, then the others by member id. Assignors know members by their place in this list."""
    return sorted(subscriptions, key=lambda subscription: subscription.rank)


def partitions_of(topic: str, layout: TopicLayout) -> tuple[TopicPartition, ...]:
    """All partitions of the topic, in order."""
    count = layout.partitions
    return _known_partitions(topic, count) if count <= _MOST_KEPT else _new_partitions(topic, count)


def _new_partitions(topic: str, count: int) -> tuple[TopicPartition, ...]:
    return tuple(map(_new_partition, zip(repeat(topic), range(count), strict=False)))


_MOST_KEPT = 256
_known_partitions = lru_cache(maxsize=1024)(_new_partitions)
"""A leader plans again in every rebalance, mostly for the same topics.

Making 50,000 partitions takes 10 ms, and has Python's collector look at all objects of the process, which takes longer.
"""


def missing_from(taken: frozenset[TopicPartition], topics: Mapping[str, TopicLayout]) -> list[TopicPartition]:
    """All other partitions of the topics, in order of topic and number."""
    names = sorted(topics)
    if not taken:
        return [*chain.from_iterable(partitions_of(topic, topics[topic]) for topic in names)]
    return [*chain.from_iterable(sorted(_set_of(topic, topics[topic]) - taken) for topic in names)]


def _set_of(topic: str, layout: TopicLayout) -> frozenset[TopicPartition]:
    """All partitions of the topic. A set knows the hashes of its members, which take most of the time of a comparison."""
    count = layout.partitions
    return _known_sets(topic, count) if count <= _MOST_KEPT else frozenset(_new_partitions(topic, count))


@lru_cache(maxsize=1024)
def _known_sets(topic: str, count: int) -> frozenset[TopicPartition]:
    return frozenset(_known_partitions(topic, count))


def subscribers(members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> dict[str, Sequence[int]]:
    """The places of the members that want each topic, in ascending order, for topics that exist and that a member wants.

    Members with equal subscriptions are looked at once, and topics with the same subscribers share one list: in most
    groups there is one subscription, however many members.
    """
    groups = _by_subscription(members)
    existing = frozenset(topic for topic, layout in topics.items() if layout.partitions)
    wanted: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        for topic in group & existing:
            wanted.setdefault(topic, []).append(number)
    places = list(groups.values())
    joined: dict[tuple[int, ...], Sequence[int]] = {}
    found: dict[str, Sequence[int]] = {}
    for topic, numbers in wanted.items():
        key = tuple(numbers)
        if key not in joined:
            joined[key] = sorted(chain.from_iterable(places[number] for number in numbers))
        found[topic] = joined[key]
    return found


def _by_subscription(members: Sequence[MemberSubscription]) -> Mapping[frozenset[str], list[int]]:
    """The places of members that want exactly these topics."""
    groups: dict[frozenset[str], list[int]] = {}
    for place, member in enumerate(members):
        groups.setdefault(member.topics, []).append(place)
    return groups


# --- racks -----------------------------------------------------------------------------------------------------------


_NOWHERE: frozenset[str] = frozenset()


def worth_matching(member_racks: Collection[str], partition_racks: Collection[frozenset[str]]) -> bool:
    """Could a choice of members by rack change anything?

    False if no member is in a rack that has replicas, or if every partition has a replica in each of those racks.
    """
    everywhere = _NOWHERE.union(*partition_racks)
    return not everywhere.isdisjoint(member_racks) and any(racks != everywhere for racks in partition_racks)


def near(rack: str | None, racks: Collection[str]) -> bool:
    """Is one of the partition's replicas, which are in `racks`, in the member's rack? True for a member without a rack."""
    return not rack or rack in racks


@dataclass(frozen=True, slots=True)
class GroupRacks:
    """The racks of a group whose racks are worth matching."""

    of_member: Sequence[str | None]
    """The rack of each member, by place; None for a member without a rack."""
    topics: Mapping[str, TopicLayout]

    @classmethod
    def of(cls, members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> GroupRacks | None:
        """None where racks make no difference: no member has one, or all partitions have replicas in all racks."""
        racks = [member.rack or None for member in members]
        told = {rack for rack in racks if rack}
        if not told:
            return None
        replicas = [
            layout.racks[number] if layout.racks else _NOWHERE
            for layout in topics.values()
            for number in range(layout.partitions)
        ]
        return cls(racks, topics) if worth_matching(told, replicas) else None

    def of_partition(self, partition: TopicPartition) -> frozenset[str]:
        racks = self.topics[partition.topic].racks
        return racks[partition.partition] if racks else _NOWHERE

    def near(self, place: int, partition: TopicPartition) -> bool:
        return near(self.of_member[place], self.of_partition(partition))


# --- what members held before ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FormerOwners:
    """Which member held which partition before, from what members say. Members are named by their place.

    Some of the partitions may not exist any more.
    """

    held: Sequence[Sequence[TopicPartition]]
    """By place, each list in order: partitions that only this member claims in the latest generation in which any member claims them."""
    taken: frozenset[TopicPartition]
    """The partitions of all these lists."""
    disputed: frozenset[TopicPartition] = frozenset()
    """Partitions that two members claim in that generation: neither claim counts."""

    @cached_property
    def owner(self) -> Mapping[TopicPartition, int]:
        """The place of the member that held each partition. Computed on first use, because many plans need none."""
        owner: dict[TopicPartition, int] = {}
        for place, partitions in enumerate(self.held):
            owner.update(zip(partitions, repeat(place), strict=False))
        return owner


def settle(members: Sequence[MemberSubscription]) -> FormerOwners:
    """The former owners. Claims of the latest generation count: a member with an earlier one has not heard of its loss."""
    # In order, because the order of a set differs from process to process, and a trace must replay in any.
    held = [_sorted(member.owned) for member in members]
    taken = _NOTHING.union(*(member.owned for member in members))
    if len(taken) == sum(map(len, held)):
        return FormerOwners(held, taken)
    return _settle_disputes(members, held)


_NOTHING: frozenset[TopicPartition] = frozenset()
_topic, _number = itemgetter(0), itemgetter(1)


def _sorted(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """In order of topic and number. Two sorts by one field take two thirds of the time of one that compares tuples."""
    return sorted(sorted(partitions, key=_number), key=_topic)


def _settle_disputes(
    members: Sequence[MemberSubscription], claimed: Sequence[Sequence[TopicPartition]]
) -> FormerOwners:
    claimants: dict[TopicPartition, list[int]] = {}
    for place, partitions in enumerate(claimed):
        for partition in partitions:
            claimants.setdefault(partition, []).append(place)
    owner: dict[TopicPartition, int] = {}
    disputed = set()
    for partition, places in claimants.items():
        *earlier, latest = sorted(places, key=lambda place: members[place].generation)
        if earlier and members[earlier[-1]].generation == members[latest].generation:
            disputed.add(partition)
        else:
            owner[partition] = latest
    held = [[p for p in partitions if owner.get(p) == place] for place, partitions in enumerate(claimed)]
    return FormerOwners(held, frozenset(owner), frozenset(disputed))


def earlier_owners(members: Sequence[MemberSubscription]) -> dict[TopicPartition, int]:
    """Which member held a partition before the group's latest generation, by the latest such claim."""
    newest = max(member.generation for member in members)
    late = [place for place, member in enumerate(members) if member.generation < newest]
    late.sort(key=lambda place: members[place].generation)
    return {partition: place for place in late for partition in members[place].owned}
