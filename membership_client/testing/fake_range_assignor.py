"""The coordinator's range assignor: each member gets a range of each topic, in the order of instance ids and member ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from membership_client.partitions import NOTHING, Partitions
from membership_client.testing.fake_assignor import Subscriber


def assign_ranges(
    members: Mapping[str, Subscriber], counts: Mapping[UUID, int], *, alike: bool
) -> dict[str, Partitions]:
    """Targets for all members. With `alike`, the first member's subscription counts for all."""
    ordered = sorted(members, key=lambda member_id: _rank(member_id, members[member_id]))
    topics = {one: members[ordered[0] if alike else one].topics for one in ordered}
    shares: dict[str, dict[UUID, range]] = {member_id: {} for member_id in ordered}
    for topic in frozenset[UUID]().union(*topics.values()):
        subscribers = [member_id for member_id in ordered if topic in topics[member_id]]
        for member_id, share in _ranges(subscribers, counts[topic]):
            shares[member_id][topic] = share
    return {member_id: Partitions.of(share) if share else NOTHING for member_id, share in shares.items()}


def _rank(member_id: str, member: Subscriber) -> tuple[bool, str]:
    """Sorts static members first, so that one that comes back under another member id gets its range again."""
    return member.instance_id is None, member.instance_id or member_id


def _ranges(subscribers: Sequence[str], count: int) -> Iterator[tuple[str, range]]:
    least, extra = divmod(count, len(subscribers))
    start = 0
    for number, member_id in enumerate(subscribers):
        end = start + least + (number < extra)
        if start < end:
            yield member_id, range(start, end)
        start = end
