"""Equal shares that follow racks: free partitions go first to members in one of their racks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from membership_client.core.assignors.quotas import Quotas
from membership_client.core.assignors.racks import Neighbourhood
from membership_client.types import TopicPartition


def fill_near(quotas: Quotas, pool: Iterable[TopicPartition], racks: Neighbourhood) -> list[TopicPartition]:
    """Go round among members below the low quota, then among those at it; what finds no member near is returned.

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
    """Whose turn is next?"""
    place = quotas.lacking[at]
    quotas.shares[place].append(partition)
    if len(quotas.shares[place]) < quotas.low:
        return (at + 1) % len(quotas.lacking)
    # Who came after now stands here.
    del quotas.lacking[at]
    quotas.reach_level(place)
    return at % len(quotas.lacking) if quotas.lacking else 0


def _next_near(places: Sequence[int], turn: int, partition: TopicPartition, racks: Neighbourhood) -> int | None:
    """Where in the round, from that turn on, stands a member in one of the partition's racks?"""
    wanted, of_member = racks.of_partition(partition), racks.of_member
    for span in (range(turn, len(places)), range(turn)):
        for at in span:
            if of_member[places[at]] in wanted:
                return at
    return None
