"""How long a member was there, as far as its trace can tell."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.debugger.life import Life
from membership_client.debugger.timeline import Group

_SILENT_INTERVALS = 2


@dataclass(frozen=True, slots=True)
class Presence:
    until: float
    """Its close, or the end of all traces if it may well have lived on, or its last sign of life."""
    vanished: bool
    """Its trace ends without a close while others go on, and for longer than a member is ever silent."""


def presence_of(life: Life, group: Group) -> Presence:
    if life.stop is not None:
        return Presence(life.stop.time, vanished=False)
    vanished = group.until - life.ended > _SILENT_INTERVALS * life.interval_s
    return Presence(life.ended if vanished else group.until, vanished=vanished)
