"""The assignors `sticky` and `cooperative-sticky`: as even as subscriptions allow, and as much as possible stays where it was.

What members held is in their subscriptions. `sticky` is eager: everything was given back before the join, so partitions may go
to new owners at once. In a cooperative group members keep what they hold while they join. The plan leaves out the partitions
that are to move, so their owners give them up and join again; the next plan, in which no member claims them, assigns them.
Two rounds are enough.

Where all members want the same topics, quotas are known beforehand, so one pass is enough. Every member gets the low quota, and
some get one partition more until none is left over. A member that holds more than its quota gives up the rest. Free partitions
then go in rounds to members below their quota, first to members in one of their racks. Other groups: sticky_general.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter

from membership_client.core.assignors.members import FormerOwners, GroupRacks, Plan, in_order, missing_from, settle
from membership_client.core.assignors.sticky_general import share_generally
from membership_client.subscriptions import MemberSubscription, TopicLayout
from membership_client.types import TopicPartition


def assign_sticky(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """Guarantees what Java's StickyAssignor does, racks included; the same plan where the guarantees allow only one.

    One difference: static members take their turns first, where Java sorts by member id. So a restart of static members
    changes nothing, even if they no longer know what they held.
    """
    members = in_order(subscriptions)
    shares = share_out(members, topics, settle(members))
    return {member.member_id: share for member, share in zip(members, shares, strict=True)}


def share_out(
    members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout], claims: FormerOwners
) -> list[list[TopicPartition]]:
    """Shares by place."""
    subscribed = {member.topics for member in members}
    wanted = frozenset().union(*subscribed)
    existing = {topic: topics[topic] for topic in sorted(wanted & topics.keys()) if topics[topic].partitions}
    if not existing:
        return [[] for _ in members]
    share = share_equally if len(subscribed) == 1 else share_generally
    return share(members, existing, claims)


def assign_cooperative(subscriptions: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout]) -> Plan:
    """As `assign_sticky`, without the partitions that another member still holds."""
    members = in_order(subscriptions)
    claims = settle(members)
    shares = share_out(members, topics, claims)
    if claims.taken or claims.disputed:
        shares = [_granted(place, share, claims) for place, share in enumerate(shares)]
    return {member.member_id: share for member, share in zip(members, shares, strict=True)}


def _granted(place: int, share: list[TopicPartition], claims: FormerOwners) -> list[TopicPartition]:
    """The part of a member's share that it holds already or that has no owner. Both claimants first give back a disputed one."""
    if share == claims.held[place]:
        return share
    owner_of, disputed = claims.owner.get, claims.disputed
    return [p for p in share if owner_of(p, place) == place and p not in disputed]


# --- members that want the same topics -------------------------------------------------------------------------------


_by_number = itemgetter(1, 0)


def share_equally(
    members: Sequence[MemberSubscription], topics: Mapping[str, TopicLayout], claims: FormerOwners
) -> list[list[TopicPartition]]:
    """Shares by place. They differ by one partition at most, and no held partition moves without need."""
    racks = GroupRacks.of(members, topics)
    held, free = _kept_and_free(topics, claims, racks)
    total = sum(layout.partitions for layout in topics.values())
    quotas = Quotas(held, *divmod(total, len(members)))
    if given_up := list(_trim(quotas)):
        # Free partitions are handed out in order of topic and number.
        free = sorted(free + given_up)
    if racks is not None:
        free = fill_near(quotas, free, racks)
    quotas.fill(free)
    return held


def _kept_and_free(
    topics: Mapping[str, TopicLayout], claims: FormerOwners, racks: GroupRacks | None
) -> tuple[list[list[TopicPartition]], list[TopicPartition]]:
    """What members held, by place, without partitions that no longer exist or are in other racks; and the rest, in order."""
    free = missing_from(claims.taken, topics)
    if racks is None and len(claims.taken) + len(free) == sum(layout.partitions for layout in topics.values()):
        # Every owned partition exists. A look at each of them would take a third of the plan's time.
        return [*map(list, claims.held)], free
    count_of = {topic: layout.partitions for topic, layout in topics.items()}.get
    kept = [[p for p in share if 0 <= p[1] < count_of(p[0], 0)] for share in claims.held]
    if racks is not None:
        kept = [[p for p in share if racks.near(place, p)] for place, share in enumerate(kept)]
    return kept, missing_from(frozenset(chain.from_iterable(kept)), topics)


def _trim(quotas: Quotas) -> Iterable[TopicPartition]:
    """Cut every member down to what it may keep: the low partition numbers, of all topics alike."""
    for place, share in enumerate(quotas.shares):
        keep = quotas.admit(place)
        if len(share) > keep:
            share.sort(key=_by_number)
            yield from share[keep:]
            del share[keep:]


class Quotas:
    """Which members may still take how many: every member gets `low` partitions, and `extra` of the members one more.

    First `admit` each place in order, then take partitions out of the pool for `lacking` and `level`.
    """

    def __init__(self, shares: Sequence[list[TopicPartition]], low: int, extra: int) -> None:
        self.shares = shares
        self.low = low
        self._extra = extra
        self.lacking: list[int] = []
        """Members with less than the low quota."""
        self.level: list[int] = []
        """Members with exactly the low quota, which may get one of the extra partitions."""

    def admit(self, place: int) -> int:
        """Take in a member with its share; returns how many of its partitions it may keep."""
        held = len(self.shares[place])
        if held < self.low:
            self.lacking.append(place)
            return held
        if held > self.low and self._extra:
            self.spend_extra()
            return self.low + 1
        if self._extra:
            self.level.append(place)
        return self.low

    def spend_extra(self) -> None:
        """A member got one partition more than the low quota. After the last of these no member at that quota may grow."""
        self._extra -= 1
        if not self._extra:
            self.level.clear()

    def reach_level(self, place: int) -> None:
        """Note that a member that had less has exactly the low quota now."""
        if self._extra:
            self.level.append(place)

    def fill(self, pool: Iterable[TopicPartition]) -> None:
        """Give the rest in rounds to members below the low quota, then one each to the others. None is left over."""
        queue = iter(pool)
        while self.lacking:
            # The same members take part in these rounds, so they are handed out at once.
            rounds = self.low - max(len(self.shares[place]) for place in self.lacking)
            given = list(islice(queue, rounds * len(self.lacking)))
            for turn, place in enumerate(self.lacking):
                self.shares[place] += given[turn :: len(self.lacking)]
            self.level += [place for place in self.lacking if len(self.shares[place]) == self.low]
            self.lacking = [place for place in self.lacking if len(self.shares[place]) < self.low]
        for place, partition in zip(self.level, queue, strict=False):
            self.shares[place].append(partition)


def fill_near(quotas: Quotas, pool: Iterable[TopicPartition], racks: GroupRacks) -> list[TopicPartition]:
    """Give partitions in turn to near members below the low quota, then to near members at it; returns the rest.

    Partitions with few members near them choose first.
    """
    members_in = Counter(rack for rack in racks.of_member if rack)
    rest: list[TopicPartition] = []
    turn = 0
    for partition in sorted(pool, key=lambda p: sum(members_in[rack] for rack in racks.of_partition(p))):
        at = _next_near(quotas.lacking, turn, partition, racks)
        if at is not None:
            turn = _give_lacking(quotas, at, partition)
        elif (at := _next_near(quotas.level, 0, partition, racks)) is not None:
            quotas.shares[quotas.level.pop(at)].append(partition)
            quotas.spend_extra()
        else:
            rest.append(partition)
    return rest


def _give_lacking(quotas: Quotas, at: int, partition: TopicPartition) -> int:
    """Give the partition to the member at this index, which is below the low quota; returns the index of the next turn."""
    place = quotas.lacking[at]
    quotas.shares[place].append(partition)
    if len(quotas.shares[place]) < quotas.low:
        return (at + 1) % len(quotas.lacking)
    # The next member moves up to this index.
    del quotas.lacking[at]
    quotas.reach_level(place)
    return at % len(quotas.lacking) if quotas.lacking else 0


def _next_near(places: Sequence[int], turn: int, partition: TopicPartition, racks: GroupRacks) -> int | None:
    """The index of the next member, from that turn on, in one of the partition's racks; None if there is none."""
    wanted, of_member = racks.of_partition(partition), racks.of_member
    for span in (range(turn, len(places)), range(turn)):
        for at in span:
            if of_member[places[at]] in wanted:
                return at
    return None
