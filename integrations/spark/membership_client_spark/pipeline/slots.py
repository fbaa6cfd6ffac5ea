"""The static members of a pipeline's slots, all in the driver: no member is lost with an executor."""

from __future__ import annotations

import logging
import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from membership_client import (
    FencedInstanceIdError,
    GroupMember,
    LeaveMode,
    MemberState,
    NotOwnedError,
    Offset,
    Share,
    Snapshot,
    TopicPartition,
)
from membership_client_spark.incarnation import Incarnation, slot_instance_id
from membership_client_spark.pipeline.held import Held, Holding
from membership_client_spark.pipeline.ranges import OffsetRange
from membership_client_spark.slot_member import Config, admin_of, check_newest, new_driver_epoch, slot_config

logger = logging.getLogger("membership_client_spark")

Ownership = Mapping[TopicPartition, int | None]
"""The number of an ownership of each partition, as its member counts them."""

_COMMIT_S = 10.0
"""How long the commit of one slot is tried before the pipeline checks its members again."""


class Slots:
    """Belongs to the pipeline's thread; `snapshots` may be called on any."""

    def __init__(self, config: Config, topics: Sequence[str], name: str, held: Held) -> None:
        self._config = config
        self._topics = list(topics)
        self._name = name
        self._held = held
        self._who = Incarnation(0, 0)
        self._members: tuple[GroupMember, ...] = ()

    def open(self) -> None:
        """Takes an epoch that makes this the newest driver in the group."""
        # Two drivers may start in the same millisecond; then the random number decides which is the newer one.
        self._who = Incarnation(new_driver_epoch(self._config), secrets.randbelow(10**9))

    def scale(self, count: int, reason: str | None = None) -> None:
        """Starts missing slots. Surplus slots leave for good, so that the others get their partitions at once."""
        staying, leaving = self._members[:count], self._members[count:]
        if len(staying) < count:
            self.check_newest()
        self._members = staying + tuple(self._join(slot) for slot in range(len(staying), count))
        for member in leaving:
            member.close(LeaveMode.LEAVE, reason=reason or "scaled down")

    def close(self, reason: str | None) -> None:
        """All leave temporarily: a driver that starts within the session timeout gets the same partitions."""
        for member in self._members:
            member.close(reason=reason)

    def snapshots(self) -> list[Snapshot]:
        return [member.snapshot for member in self._members]

    def check(self) -> None:
        """Raises the error of a member that has ended. A slot that an older driver took is taken back instead."""
        for slot, member in enumerate(self._members):
            error = member.error
            if member.snapshot.state is not MemberState.FATAL or error is None:
                continue
            if not isinstance(error, FencedInstanceIdError):
                raise error
            self.check_newest(slot)
            logger.warning("[%s] slot %s is taken back from an older driver", self._config["group.id"], slot)
            member.close()
            self._members = (*self._members[:slot], self._join(slot), *self._members[slot + 1 :])

    def check_newest(self, slot: int = 0) -> None:
        """SupersededError if a newer driver has the slot. Asks the coordinator."""
        check_newest(self._config, slot_instance_id(self._name, slot), self._who)

    def are_settled(self) -> bool:
        """Whether each member owns its target, as far as it can know."""
        return all(
            one.state is MemberState.STABLE and one.share is not Share.PENDING and one.owned == one.target
            for one in self.snapshots()
        )

    def others(self) -> frozenset[TopicPartition]:
        """The partitions that other members of the group own or are assigned."""
        ours = {slot_instance_id(self._name, slot) for slot in range(len(self._members))}
        with admin_of(self._config) as admin:
            members = admin.describe(self._config["group.id"], lag=False).members
        return frozenset().union(*(one.target | one.current for one in members if one.instance_id not in ours))

    def committed(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, Offset | None]:
        return self._members[0].committed(places)

    def last_committed(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, Offset]:
        """As `committed`, without a member; a partition without an offset is missing."""
        with admin_of(self._config) as admin:
            return admin.committed(self._config["group.id"], places)

    def commit(
        self, ranges: Iterable[OffsetRange], holdings: Mapping[TopicPartition, Holding], epoch: int
    ) -> frozenset[TopicPartition]:
        """Each slot commits the partitions that it has held since they were planned. Returns those that were committed."""
        offsets: dict[int, dict[TopicPartition, Offset]] = defaultdict(dict)
        # The ownership of all slots is read first: while one commits, which may take seconds, another may lose partitions and
        # get them back. For partitions that are still held as planned after that, it is the ownership of the plan.
        ownership = self._ownership(holdings)
        still = self._held.still(holdings)
        for piece in ranges:
            place = TopicPartition(piece.topic, piece.partition)
            if place in still:
                offsets[holdings[place].slot][place] = Offset(piece.end, metadata=epoch_note(epoch))
        return frozenset().union(*(self._commit(slot, wanted, ownership) for slot, wanted in offsets.items()))

    def _ownership(self, holdings: Mapping[TopicPartition, Holding]) -> Ownership:
        """The ownership at this moment; each slot counts its own."""
        found: dict[TopicPartition, int | None] = {}
        for slot, member in enumerate(self._members):
            places = [place for place, one in holdings.items() if one.slot == slot]
            found |= member._ownership_of(places)  # noqa: SLF001 - no public method tells one ownership from the next
        return found

    def _commit(
        self, slot: int, offsets: dict[TopicPartition, Offset], ownership: Ownership
    ) -> frozenset[TopicPartition]:
        try:
            self._members[slot]._commit(offsets, ownership, _COMMIT_S)  # noqa: SLF001 - as above
        except NotOwnedError as error:
            logger.warning("[%s] slot %s cannot commit: %s", self._config["group.id"], slot, error)
            return frozenset()
        return frozenset(offsets)

    def _join(self, slot: int) -> GroupMember:
        config = slot_config(self._config, self._name, slot, self._who)
        member = GroupMember(config, listener=self._held.listener(slot))
        member.subscribe(self._topics)
        return member


_NOTE = re.compile(r"epoch=([0-9]{1,15})")
"""Limited, because any tool may write metadata: an epoch of thousands of digits would be a directory's name."""


def epoch_note(epoch: int) -> str:
    """The metadata of committed offsets, from which epoch ids go on after a restart, whatever the sink."""
    return f"epoch={epoch}"


def epoch_in(offset: Offset | None) -> int:
    """The epoch that committed the offset; 0 if none did."""
    found = _NOTE.fullmatch(offset.metadata if offset else "")
    return int(found[1]) if found else 0
