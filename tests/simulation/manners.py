"""More rules for every moment: how a member treats its group, its brokers and its application."""

from __future__ import annotations

from membership_client.core.error_codes import Code
from membership_client.core.events import Answered, Close, Heartbeat, Refused, Response, Send
from membership_client.core.machine import Step
from membership_client.core.member import IN_GROUP
from membership_client.types import MemberState
from tests.simulation.checkers import violated
from tests.simulation.process import Process
from tests.simulation.script import Hold, KeeperTrouble, Lose, Move, Retune, Script, Stall, Weather
from tests.simulation.world import GROUP, Checker, World, is_leave_request

S = MemberState

SLACK_S = 0.001

_FINAL = ("confirmed", "already out")
"""How the outcome of a close begins if the coordinator does not count the member any more."""


class Goodbye(Checker):
    """Partitions are given back before the leave request, unless a callback does not return; and the leave is final."""

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        for effect in taken.effects:
            leaves = isinstance(effect, Send) and is_leave_request(effect.request)
            if leaves and taken.after.state is not S.STALE and (taken.after.owned or taken.after.call):
                violated(world, process.member_id, "says goodbye while it still owns partitions")
        closed = taken.after.closed
        told = closed is not None and any(step.outcome.startswith(_FINAL) for step in closed.steps)
        if told and world.cluster.groups.term(GROUP, process.member_id) is not None:
            violated(world, process.member_id, "was told that it left, yet the coordinator counts on it")


class Punctual(Checker):
    """A close ends within its timeout, whatever the network, the brokers and the callbacks do."""

    def __init__(self) -> None:
        self._ends_at: dict[Process, float] = {}

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        if isinstance(taken.event, Close):
            self._ends_at.setdefault(process, taken.at + taken.event.timeout_s)

    def happened(self, world: World) -> None:
        for process, ends_at in self._ends_at.items():
            awake = process.alive and process.stalled_until is None
            if awake and world.now > ends_at + SLACK_S:
                violated(world, process.member_id, f"should have closed by {ends_at:.3f} s")


class Polls(Checker):
    """A member whose application stopped polling is out of the group by the end of the poll interval.

    An application that subscribes again has shown that it lives; its clock starts anew with its next poll. If it had
    unsubscribed, it starts with the new membership at the earliest, for which it may wait: the last leave must end first.
    """

    def __init__(self) -> None:
        self._joined_at: dict[Process, float] = {}
        """After a leave."""

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        if taken.before.state in {S.LEAVING, S.UNSUBSCRIBED} and taken.after.state is S.JOINING:
            self._joined_at[process] = taken.at

    def happened(self, world: World) -> None:
        for process in world.processes:
            if process.polled_at is None or not process.alive or process.stalled_until is not None:
                continue
            if process.asked_at > process.polled_at:
                continue
            since = max(process.polled_at, self._joined_at.get(process, process.polled_at))
            late = world.now > since + process.plan.poll_interval_s + SLACK_S
            if late and process.member.state in IN_GROUP:
                violated(world, process.member_id, f"not polled since {process.polled_at:.3f} s, yet in the group")


class StaleTells(Checker):
    """A member that leaves because its application does not poll tells the coordinator: others could use its partitions.

    Static members of a classic group do not: their place is kept for them until their session ends.
    """

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        # An answer may have ended its membership at the same moment: then there is nothing to tell the coordinator.
        went_stale = taken.before.state in IN_GROUP and taken.after.state is S.STALE
        in_silence = process.plan.strategy is not None and process.plan.instance_id is not None
        if (
            went_stale
            and not in_silence
            and not isinstance(taken.event, Answered)
            and taken.before.epoch > 0
            and taken.after.departure is None
        ):
            violated(world, process.member_id, "went stale without a word to the coordinator")


class _Expulsions(Checker):
    """Checks each session that expires."""

    def __init__(self) -> None:
        self._read = 0

    def happened(self, world: World) -> None:
        log = world.cluster.groups.log
        for at, text in log[self._read :]:
            if text.endswith("its session expired"):
                self._expelled(world, text.partition(" ")[0], at)
        self._read = len(log)

    @staticmethod
    def _expelled(world: World, member_id: str, at: float) -> None:
        raise NotImplementedError


class Faithful(_Expulsions):
    """A member that runs, with a network that works, never loses its session, whatever its callbacks do."""

    @staticmethod
    def _expelled(world: World, member_id: str, at: float) -> None:
        process = next((p for p in world.processes if p.member.known_as == member_id and p.alive), None)
        if process is None or process.member.epoch <= 0 or process.member.state not in IN_GROUP | {S.LEAVING}:
            return
        if not was_troubled(world.script, process.name, at - world.script.settings.session_timeout_s - EXCUSED_S, at):
            violated(world, member_id, "ran all the time, yet its session expired")


class Kept(_Expulsions):
    """A member with a sound keeper and a network that works is not expelled while its interpreter is held."""

    def handled(self, world: World, process: Process, send: Send, response: Response) -> None:
        """Nor does it speak under an epoch that its keeper has seen replaced."""
        fenced = isinstance(response, Refused) and response.code == Code.FENCED_MEMBER_EPOCH
        if not fenced or not process.is_held or process.held_at < world.now - 60.0:
            return
        if not was_troubled(world.script, process.name, process.held_at - EXCUSED_S, world.now, _OF_HELD):
            violated(world, process.member_id, f"was refused under an old epoch after a hold: {send.request}")

    @staticmethod
    def _expelled(world: World, member_id: str, at: float) -> None:
        process = next((p for p in world.alive if p.member.known_as == member_id), None)
        if process is None or not process.is_held or process.stalled_until is None or at >= process.kept_until:
            return
        since = process.held_at - world.script.settings.session_timeout_s
        if not was_troubled(world.script, process.name, since, at, _OF_HELD):
            violated(world, member_id, "was held, and its session expired under the eyes of its keeper")


EXCUSED_S = 6.0
"""How long a trouble has consequences: requests that time out, backoffs, a coordinator that must be found."""


_Hindrance = Weather | Stall | Hold | Move | Lose | Retune | KeeperTrouble
_OF_HELD = (Weather, Stall, Move, Lose, Retune, KeeperTrouble)
_OF_RUNNING = (Weather, Stall, Hold, Move, Lose, Retune)


def was_troubled(
    script: Script, name: str, since: float, until: float, kinds: tuple[type[_Hindrance], ...] = _OF_RUNNING
) -> bool:
    """Did the script keep requests of that process from the coordinator between these times?"""
    return any(
        action.at < until and _ends_at(action) > since and getattr(action, "who", None) in {None, name}
        for action in script.actions
        if isinstance(action, kinds)
    )


def _ends_at(action: _Hindrance) -> float:
    if isinstance(action, Move):
        return action.at + action.gap_s + action.loading_s
    return action.at if isinstance(action, Lose | Retune) else action.until


class Throttled(Checker):
    """A member keeps the pause that a broker asks for."""

    def __init__(self) -> None:
        self._not_before: dict[str, float] = {}

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        who = process.member_id
        for effect in taken.effects:
            beats = isinstance(effect, Send) and isinstance(effect.request, Heartbeat)
            if beats and taken.at < self._not_before.get(who, 0.0) - SLACK_S:
                violated(world, who, f"sends a heartbeat before {self._not_before[who]:.3f} s")
        event, dialogue = taken.event, taken.before.dialogue
        if isinstance(event, Answered) and event.throttle_s and dialogue and dialogue.request_id == event.request_id:
            self._not_before[who] = taken.at + event.throttle_s


def manners() -> list[Checker]:
    return [Goodbye(), Punctual(), Polls(), StaleTells(), Faithful(), Kept(), Throttled()]
