"""Rules that must hold at every moment of every run, each with a checker of its own.

When does a process own a partition? From the return of the assigned callback until the revoked or lost callback has
returned: `Member.owned`. When is that claim backed? While the coordinator has counted on this membership without a break
since the join that began it. A member that was expelled, evicted, replaced or suspended may still own partitions until
it learns of that: it cannot know, and it is no violation. Two backed claims to one partition are; and since the
coordinator gives away whatever it believes to be free, so is a backed claim to anything the coordinator does not
believe the member to hold.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, NoReturn

from membership_client.core.classic.protocol import compiled
from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    CallbackKind,
    CallbackReturned,
    Disconnect,
    Failed,
    Heartbeat,
    HeartbeatAccepted,
    Refused,
    Response,
    RunCallback,
    Send,
    TellLost,
)
from membership_client.core.machine import Step
from membership_client.core.member import TRANSITIONS, InFlight, Member
from membership_client.errors import ProblemKind
from membership_client.partitions import NOTHING, Partitions
from membership_client.testing.fake_reconciler import intersection
from membership_client.types import MemberState, TopicPartition
from tests.simulation.process import Process
from tests.simulation.world import GROUP, Checker, ViolationError, World, is_leave_request

S = MemberState
OUT = frozenset({S.FENCED, S.STALE, S.FATAL})


def violated(world: World, who: str, rule: str) -> NoReturn:
    raise ViolationError(f"{world.now:.3f} s, {who}: {rule}")


class Claim(NamedTuple):
    """The partitions that a member with a backed claim owns, and those that the coordinator believes it to hold."""

    who: str
    owned: Partitions
    assigned: Partitions
    pending: Partitions


class OneOwner(Checker):
    """The coordinator believes a member with a backed claim to hold all partitions that it owns."""

    def __init__(self) -> None:
        self._terms: dict[str, int | None] = {}
        """The membership that each process knows; None if the coordinator was misled about it."""
        self._begun: dict[tuple[str, int], int | None] = {}
        self._newest: dict[str, int] = {}
        self._touched = 0
        """Grows with every event that may change an owner, or what the coordinator believes."""
        self._looked_at = (-1, -1)
        self._checked: list[Claim] = []

    def handled(self, world: World, process: Process, send: Send, response: Response) -> None:
        self._touched += 1
        who, request = process.member_id, send.request
        if not isinstance(request, Heartbeat) or not isinstance(response, HeartbeatAccepted):
            return
        if request.epoch == 0:
            self._begun[who, send.request_id] = world.cluster.groups.term(GROUP, who)
        if send.request_id < self._newest.get(who, 0):
            # A later request over a newer connection overtook this one. The protocol cannot tell, and no client can help.
            self._terms[who] = None
        self._newest[who] = max(send.request_id, self._newest.get(who, 0))

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        self._touched += taken.before.owned is not taken.after.owned
        if taken.before.state is S.JOINING and taken.after.epoch > 0 and isinstance(taken.event, Answered):
            self._terms[process.member_id] = self._begun.get((process.member_id, taken.event.request_id))

    def happened(self, world: World) -> None:
        state = (self._touched, len(world.cluster.groups.log))
        if state == self._looked_at:
            return
        self._looked_at = state
        owners = [p for p in world.processes if p.alive and p.member.owned and self._is_backed(world, p)]
        claims = [self._claim(world, process) for process in owners]
        if claims != self._checked:
            self._check(world, claims)
            self._checked = claims

    @staticmethod
    def _claim(world: World, process: Process) -> Claim:
        enrolled = world.cluster.groups.member(GROUP, process.member_id)
        assigned, pending = (enrolled.assigned, enrolled.pending) if enrolled else (NOTHING, NOTHING)
        return Claim(process.member_id, process.member.owned, assigned, pending)

    @staticmethod
    def _check(world: World, claims: list[Claim]) -> None:
        """That no partition is owned twice follows from the rule if the coordinator is sound: it checks the coordinator."""
        everything = NOTHING
        for claim in claims:
            if excess := claim.owned - (claim.assigned | claim.pending):
                violated(world, claim.who, f"owns {sorted(excess)}, which the coordinator believes to be free")
            if twice := intersection(claim.owned, everything):
                violated(world, claim.who, f"owns {sorted(twice)}, and so does another")
            everything |= claim.owned

    def _is_backed(self, world: World, process: Process) -> bool:
        term = world.cluster.groups.term(GROUP, process.member_id)
        return term is not None and term == self._terms.get(process.member_id)


class Callbacks(Checker):
    """Callbacks run one at a time; each assigned partition is revoked or lost once; `owned` follows from those that returned."""

    def __init__(self) -> None:
        self._running: dict[str, RunCallback] = {}
        self._held: dict[str, set[TopicPartition]] = {}

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        who = process.member_id
        if isinstance(taken.event, CallbackReturned):
            self._returned(process, taken.event)
            if set(taken.after.owned.named(taken.before.names)) != self._held.get(who, set()):
                violated(world, who, f"owns {sorted(taken.after.owned)} after {sorted(self._held[who])} were brought")
        elif taken.before.owned != taken.after.owned:
            violated(world, who, "owned changed without a callback")
        for effect in taken.effects:
            if isinstance(effect, RunCallback):
                self._starts(world, process, effect)
        self._check_told(world, process, taken)
        if taken.after.closed is not None and taken.after.closed.clean and self._held.get(who):
            violated(world, who, f"closed cleanly, yet never took back {sorted(self._held[who])}")

    def _check_told(self, world: World, process: Process, taken: Step) -> None:
        """A callback that runs while its member is taken out of the group is told so, and no other."""
        told = {effect.call_id for effect in taken.effects if isinstance(effect, TellLost)}
        thrown_out = taken.before.state not in OUT and taken.after.state in OUT
        running = taken.before.call if thrown_out else None
        if running and running == taken.after.call and running.call_id not in told:
            violated(world, process.member_id, f"callback {running.call_id} is not told that its partitions are lost")
        if told - {taken.before.call.call_id if taken.before.call else None}:
            violated(world, process.member_id, f"told callbacks {sorted(told)}, of which not all run")

    def _starts(self, world: World, process: Process, call: RunCallback) -> None:
        who, held = process.member_id, self._held.setdefault(process.member_id, set())
        if who in self._running:
            violated(world, who, f"callback {call.call_id} starts while {self._running[who].call_id} runs")
        self._running[who] = call
        if process.member.call is not None and len(process.member.call.partitions) != len(call.partitions):
            violated(world, who, f"the {call.kind.value} callback was not told of all its partitions")
        given = set(call.partitions)
        if call.kind is CallbackKind.ASSIGNED and given & held:
            violated(world, who, f"assigned again: {sorted(given & held)}")
        if call.kind is not CallbackKind.ASSIGNED and not given <= held:
            violated(world, who, f"{call.kind.value} without having been assigned: {sorted(given - held)}")

    def _returned(self, process: Process, event: CallbackReturned) -> None:
        who = process.member_id
        call = self._running.get(who)
        if call is None or call.call_id != event.call_id:
            return
        del self._running[who]
        if call.kind is not CallbackKind.ASSIGNED:
            self._held[who] -= set(call.partitions)
        elif event.error is None or process.plan.callback_errors == "continue":
            self._held[who] |= set(call.partitions)


class NothingForgotten(Checker):
    """A member outside of the group owns nothing: partitions that were not revoked are lost."""

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        after = taken.after
        joins = taken.before.state is not S.JOINING and after.state is S.JOINING and after.epoch == 0
        if joins and (after.owned or after.call):
            violated(world, process.member_id, "joins while it still owns partitions")
        if after.state in OUT and after.owned and after.call is None:
            violated(
                world,
                process.member_id,
                f"{after.state.name}, yet the application is not told that partitions are lost",
            )


class Epochs(Checker):
    """Within one membership the epoch never goes back; and nothing is sent with an epoch that the coordinator did not give."""

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        before, after = taken.before.epoch, taken.after.epoch
        if 0 < after < before:
            violated(world, process.member_id, f"epoch went back from {before} to {after}")
        # The answer to a join may come while a leave waits for the coordinator to be found.
        joins = taken.before.state is S.JOINING or (
            taken.before.state is S.LEAVING and isinstance(taken.event, Answered)
        )
        if before == 0 < after and not joins:
            violated(world, process.member_id, f"epoch {after} without a join")
        for effect in taken.effects:
            if isinstance(effect, Send) and isinstance(effect.request, Heartbeat):
                self._check_sent(world, process, effect.request)

    def _check_sent(self, world: World, process: Process, request: Heartbeat) -> None:
        joins, in_group = request.epoch == 0, process.member.epoch > 0
        if request.epoch >= 0 and joins == in_group:
            violated(world, process.member_id, f"sent epoch {request.epoch} at epoch {process.member.epoch}")


class Transitions(Checker):
    """The change of state that an observer sees is in the table."""

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        before, after = taken.before.state, taken.after.state
        if before is not after and (before, after) not in TRANSITIONS:
            violated(world, process.member_id, f"{before.name} became {after.name}")


class Backoff(Checker):
    """No member spins: the next deadline lies ahead, and steps and requests per second are bounded."""

    MOST_STEPS = 60
    MOST_REQUESTS = 25

    def __init__(self) -> None:
        self._second = -1
        self._steps: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        who, at = process.member_id, process.due
        if at is not None and at <= taken.at:
            violated(world, who, f"would wake up at {at} to do what should be done now")
        if int(taken.at) != self._second:
            self._second = int(taken.at)
            self._steps.clear()
            self._requests.clear()
        self._steps[who] += 1
        self._requests[who] += sum(1 for effect in taken.effects if isinstance(effect, Send))
        if self._steps[who] > self.MOST_STEPS:
            violated(world, who, f"took more than {self.MOST_STEPS} steps in a second")
        if self._requests[who] > self.MOST_REQUESTS:
            violated(world, who, f"sent more than {self.MOST_REQUESTS} requests in a second")


def _is_said(member: Member, send: Send) -> bool:
    """Is it about the membership? Not: the coordinator, names, topics, a heartbeat beside a join that waits."""
    return all(flight is None or flight.request_id != send.request_id for flight in _aside(member))


def _aside(member: Member) -> tuple[InFlight | None, ...]:
    return member.lookup, member.naming, member.survey, member.join_keepalive, member.checking


class OneAtATime(Checker):
    """One request about the membership is under way at a time; only a leave request or a new join may overtake."""

    def __init__(self) -> None:
        self._open: dict[str, Send] = {}

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        who = process.member_id
        event, open_now = taken.event, self._open.get(who)
        if isinstance(event, Answered | Failed) and open_now and event.request_id == open_now.request_id:
            del self._open[who]
        for effect in taken.effects:
            if isinstance(effect, Disconnect) and who in self._open and self._open[who].to == effect.to:
                del self._open[who]
            elif isinstance(effect, Send) and _is_said(taken.after, effect):
                joins = taken.after.epoch == 0
                if who in self._open and not is_leave_request(effect.request) and not joins:
                    violated(world, who, f"sent {effect.request_id} while {self._open[who].request_id} is under way")
                self._open[who] = effect


def wants_bad_pattern(process: Process) -> bool:
    """Does the script have it subscribe to a pattern that no coordinator can read?"""
    regex = process.wish.regex if process.wish else None
    return regex is not None and compiled(regex) is None


class Refusals(Checker):
    """Requests of a sound member that a coordinator never has to refuse, and errors that never end one."""

    _FATAL = frozenset(
        {
            ProblemKind.FENCED_INSTANCE_ID,
            ProblemKind.INSTANCE_ID_IN_USE,
            ProblemKind.GROUP_FULL,
            ProblemKind.CALLBACK_FAILED,
        }
    )

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def handled(self, world: World, process: Process, send: Send, response: Response) -> None:
        request, newest = send.request, self._newest.get(process.member_id, 0)
        self._newest[process.member_id] = max(send.request_id, newest)
        if not isinstance(response, Refused) or send.request_id < newest:
            return
        if response.code in {Code.INVALID_REQUEST, Code.UNSUPPORTED_ASSIGNOR} or (
            response.code == Code.INVALID_REGULAR_EXPRESSION and not wants_bad_pattern(process)
        ):
            violated(world, process.member_id, f"{request} was refused: {response.message}")
        if response.code == Code.FENCED_MEMBER_EPOCH and isinstance(request, Heartbeat):
            self._check_fence(world, process, request)

    @staticmethod
    def _check_fence(world: World, process: Process, request: Heartbeat) -> None:
        """A lost answer must never cost the membership: the last epoch with a proper owned list is accepted."""
        enrolled = world.cluster.groups.member(GROUP, request.member_id)
        counted_on = world.cluster.groups.term(GROUP, request.member_id) is not None
        if enrolled is None or not counted_on or request.epoch == 0:
            return
        if request.epoch > enrolled.epoch or request.epoch == enrolled.previous_epoch:
            violated(world, process.member_id, f"fenced by its own words: {request}, known as {enrolled}")

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        if taken.after.state is not S.FATAL or taken.before.state is S.FATAL:
            return
        problem = taken.after.problem
        foreseen = world.script.too_old or wants_bad_pattern(process)
        if problem is None or (problem.kind not in self._FATAL and not foreseen):
            violated(world, process.member_id, f"ended by {problem}")


def safety() -> list[Checker]:
    """The checkers for both protocols; each protocol has a rule of its own about ownership."""
    return [
        Callbacks(),
        NothingForgotten(),
        Epochs(),
        Transitions(),
        Backoff(),
        OneAtATime(),
        Refusals(),
    ]
