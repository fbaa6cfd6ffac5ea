"""How many heartbeats siblings may cause: a rule for every moment of every run."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from membership_client.core.events import (
    ClassicHeartbeat,
    Heartbeat,
    KeeperReported,
    MembershipDoubted,
    Send,
    SiblingChange,
    SiblingChanged,
)
from membership_client.core.machine import Step
from tests.simulation.checkers import violated
from tests.simulation.process import Process
from tests.simulation.world import Checker, World

MOST_IN_AN_INTERVAL = 16
MOST_PER_UNSURE_CHANGE = 7
"""After a leave or a classic join the coordinator is asked again for half an interval, with pauses that double."""


@dataclass
class _Heard:
    """What one member was told, and how often it sent a heartbeat without another reason."""

    epochs: set[int] = field(default_factory=set)
    certain: int = 0
    unsure: int = 0
    doubted: bool = False
    extra: int = 0
    extra_at: deque[float] = field(default_factory=deque)
    sent_at: float = float("-inf")

    @property
    def allowed(self) -> int:
        return len(self.epochs) + self.certain + MOST_PER_UNSURE_CHANGE * self.unsure


class FewHeartbeats(Checker):
    """Each heartbeat that is neither regular nor says anything has a sibling's change, and there are few in an interval."""

    def __init__(self) -> None:
        self.heard: dict[str, _Heard] = {}

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        heard = self.heard.setdefault(process.member_id, _Heard())
        self._note(heard, taken)
        for effect in taken.effects:
            if isinstance(effect, Send) and isinstance(effect.request, Heartbeat | ClassicHeartbeat):
                if self._is_extra(heard, taken, effect.request):
                    self._check(world, process, heard, taken)
                heard.sent_at, heard.doubted = taken.at, False

    @staticmethod
    def _note(heard: _Heard, taken: Step) -> None:
        event = taken.event
        heard.doubted |= isinstance(event, MembershipDoubted | KeeperReported)
        if not isinstance(event, SiblingChanged):
            return
        if event.change is SiblingChange.NEW_EPOCH:
            heard.epochs.add(event.epoch)
        elif event.change is SiblingChange.GAVE_BACK:
            heard.certain += 1
        else:
            heard.unsure += 1

    @staticmethod
    def _is_extra(heard: _Heard, taken: Step, request: Heartbeat | ClassicHeartbeat) -> bool:
        says = isinstance(request, Heartbeat) and (
            request.epoch <= 0 or request.owned is not None or request.topics is not None
        )
        interval_s = min(taken.before.interval_s, taken.after.interval_s)
        is_regular = taken.before.heartbeat_due <= taken.at or taken.at - heard.sent_at >= interval_s * 0.999
        is_owed = taken.before.owed_gap_s is not None or taken.after.owed_gap_s is not None
        return not (says or is_regular or is_owed or heard.doubted)

    @staticmethod
    def _check(world: World, process: Process, heard: _Heard, taken: Step) -> None:
        heard.extra += 1
        if heard.extra > heard.allowed:
            violated(world, process.member_id, f"sent {heard.extra} early heartbeats, for {heard.allowed} told it")
        heard.extra_at.append(taken.at)
        while heard.extra_at[0] <= taken.at - taken.after.interval_s:
            heard.extra_at.popleft()
        if len(heard.extra_at) > MOST_IN_AN_INTERVAL:
            violated(world, process.member_id, f"sent {len(heard.extra_at)} early heartbeats in one interval")
