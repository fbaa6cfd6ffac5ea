"""How long a member was there, as far as its trace can tell."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.debugger.model.deaths import just_ends
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.timeline import Group


@dataclass(frozen=True, slots=True)
class Presence:
    until: float
    """Its close, or the end of all traces if it may well have lived on, or the last entry of its trace."""
    vanished: bool
    """Its trace stops without a close, and something shows that it should have gone on."""


def presence_of(run: MemberRun, group: Group) -> Presence:
    if run.stop is not None:
        return Presence(run.stop.time, vanished=False)
    if just_ends(group, run):
        return Presence(run.ended, vanished=True)
    # What was saved out of memory says nothing of what came after.
    return Presence(run.ended if run.saved else group.until, vanished=False)
