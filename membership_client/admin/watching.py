"""What is seen of a group over time: who is waited for, and since when."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.admin.views import GroupView, Wait, WaitKind
from membership_client.types import TopicPartition

_Key = tuple[str, int | None, WaitKind, TopicPartition | None]


@dataclass(frozen=True, slots=True)
class Watched:
    """A view, and for each wait how long it has been seen."""

    view: GroupView
    waits: tuple[tuple[Wait, float], ...]
    seen_s: float
    """For how long the group has been seen in this state."""


class Watch:
    """Remembers when each wait was first seen; a wait of the same holder, at the same epoch, for the same partition goes on."""

    def __init__(self) -> None:
        self._since: dict[_Key, float] = {}
        self._state, self._state_since = "", 0.0

    def see(self, view: GroupView, now: float) -> Watched:
        self._since = {key: self._since.get(key, now) for wait in view.waits() for key in _keys(wait)}
        if view.state != self._state:
            self._state, self._state_since = view.state, now
        waits = tuple((wait, now - self._began(wait)) for wait in view.waits())
        return Watched(view, waits, now - self._state_since)

    def _began(self, wait: Wait) -> float:
        return min(self._since[key] for key in _keys(wait))


def _keys(wait: Wait) -> list[_Key]:
    holder = wait.holder
    return [(holder.member_id, holder.epoch, wait.kind, partition) for partition in wait.partitions or (None,)]
