"""How long a member was there, as far as its trace can tell."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.debugger.model.deaths import just_ends
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.timeline import Group


@dataclass(frozen=True, slots=True)
class Presence:
    until: float
    """Its close, or the end of all traces if it may well have lived on, or its last sign of life."""
    vanished: bool
    """It ended without a word, and something shows that it should have gone on."""


def presence_of(life: Life, group: Group) -> Presence:
    if life.stop is not None:
        return Presence(life.stop.time, vanished=False)
    if just_ends(group, life):
        return Presence(life.ended, vanished=True)
    # What was saved out of memory says nothing of what came after.
    return Presence(life.ended if life.saved else group.until, vanished=False)
