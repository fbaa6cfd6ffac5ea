"""How long a member was there, as far as its trace can tell."""

from __future__ import annotations

from membership_client.debugger.life import Life
from membership_client.debugger.timeline import Group

_SILENT_INTERVALS = 2


def seen_until(life: Life, group: Group) -> float:
    """Its close, or the end of all traces if it may well have lived on, or its last sign of life."""
    if life.stop is not None:
        return life.stop.time
    return life.ended if vanished(life, group) else group.until


def vanished(life: Life, group: Group) -> bool:
    """Its trace ends without a close while others go on, and for longer than a member is ever silent."""
    return life.stop is None and group.until - life.ended > _SILENT_INTERVALS * life.interval_s
