"""Committed offsets that do not come: when the member is told, and in which words."""

from __future__ import annotations

from collections.abc import Collection

from membership_client.core.error_codes import Code
from membership_client.errors import MembershipError
from membership_client.types import TopicPartition

_FIRST_S = 5.0
"""Offsets that take longer than this are told of."""

_AGAIN_S = 60.0


class OffsetWait:
    """One wait, from `since` on. Belongs to the thread that waits."""

    def __init__(self, since: float) -> None:
        self.since = since
        self._next_at = since + _FIRST_S

    def is_to_tell(self, now: float) -> bool:
        """True once after some seconds, and then once a minute."""
        if now < self._next_at:
            return False
        self._next_at = now + _AGAIN_S
        return True


def reason(partitions: Collection[TopicPartition], error: MembershipError) -> str:
    """What is waited for, without a full stop."""
    said = str(error.__cause__ or error.detail).rstrip(".")
    topics = ", ".join(sorted({partition.topic for partition in partitions}))
    waited_for = f"the committed offsets of {len(partitions)} partitions of {topics} ({said})"
    return f"{waited_for}: {_OPEN_TRANSACTION}" if Code.UNSTABLE_OFFSET_COMMIT.name in said else waited_for


_OPEN_TRANSACTION = (
    "a producer has sent offsets of this group to a transaction that is still open; it must commit or abort it, or "
    "transaction.timeout.ms ends it"
)
