"""Classic groups: which member may own which partitions, and when a group is at rest."""

from __future__ import annotations

from membership_client.core.events import Answered, GroupJoined, JoinGroup, Response, Send
from membership_client.core.machine import Step
from membership_client.errors import ProblemKind
from membership_client.testing.fake_classic import FakeClassicGroup, JoinPhase
from membership_client.types import MemberState, TopicPartition
from tests.simulation.checkers import violated
from tests.simulation.process import Process
from tests.simulation.rest import may_be_fatal
from tests.simulation.world import GROUP, Checker, World

S = MemberState

_ON_ITS_WAY_S = 1.0


class OneClassicOwner(Checker):
    """No partition is owned by two members that the coordinator counts on.

    It counts on a member from the join that it answered until it removes it, replaces it, or completes a join without it.
    A member that was passed over so learns of it from the answer to its next join, and must own nothing from then on.
    """

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}
        self._misled: set[str] = set()
        self._passed_over: set[str] = set()

    def handled(self, world: World, process: Process, send: Send, response: Response) -> None:
        who, request = process.member.known_as, send.request
        if isinstance(request, JoinGroup) and send.request_id < self._newest.get(process.member_id, 0):
            # A later request over a newer connection overtook this one, so the group was told what is no longer true.
            self._misled.add(who)
        self._newest[process.member_id] = max(send.request_id, self._newest.get(process.member_id, 0))

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        if isinstance(taken.event, Answered) and isinstance(taken.event.response, GroupJoined):
            self._passed_over.discard(process.member.known_as)

    def happened(self, world: World) -> None:
        group = world.cluster.groups.classic_group(GROUP)
        if group is None:
            return
        if group.phase is JoinPhase.COMPLETING:
            behind = (m.member_id for m in group.members.values() if m.generation != group.generation)
            self._passed_over.update(behind)
        owners: dict[TopicPartition, str] = {}
        for process in world.alive:
            if not process.member.owned or not self._is_backed(group, process):
                continue
            for partition in process.member.owned.named(process.member.names):
                if partition in owners:
                    violated(world, process.member_id, f"owns {partition}, and so does {owners[partition]}")
                owners[partition] = process.member_id

    def _is_backed(self, group: FakeClassicGroup, process: Process) -> bool:
        known_as, epoch = process.member.known_as, process.member.epoch
        enrolled = group.members.get(known_as)
        counted_on = enrolled is not None and enrolled.generation == group.generation
        return counted_on and epoch > 0 and known_as not in self._misled | self._passed_over


class NothingOnceExpelled(Checker):
    """A member that runs knows when its session has ended, and owns nothing from then on, whatever it waits for.

    Its own session begins when it sends a heartbeat or a sync, so it is over no later than at the coordinator.
    """

    def __init__(self) -> None:
        self._read = 0
        self._expelled: dict[str, float] = {}

    def happened(self, world: World) -> None:
        log = world.cluster.groups.log
        for at, text in log[self._read :]:
            if text.endswith("its session expired"):
                self._expelled[text.partition(" ")[0]] = at
        self._read = len(log)
        for process in world.alive if self._expelled else ():
            member, at = process.member, self._expelled.get(process.member.known_as, float("inf"))
            awake = process.stalled_until is None and member.call is None
            if world.now > at + _ON_ITS_WAY_S and awake and member.owned:
                violated(world, process.member_id, f"still owns what it had when its session ended at {at:.3f} s")


class GivenBack(Checker):
    """A member of an eager group owns nothing while it joins; one of a cooperative group says what it owns."""

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        for effect in taken.effects:
            if isinstance(effect, Send) and isinstance(effect.request, JoinGroup):
                self._check(world, process, taken, effect.request)

    @staticmethod
    def _check(world: World, process: Process, taken: Step, request: JoinGroup) -> None:
        owned = frozenset(taken.after.owned.named(taken.after.names))
        if request.owned != owned or taken.after.call is not None:
            violated(world, process.member_id, f"joins and says that it owns {sorted(request.owned)}, not {owned}")
        if owned and process.plan.strategy != "cooperative-sticky":
            violated(world, process.member_id, f"joins an eager group while it owns {sorted(owned)}")


def classic_unrest(world: World) -> str | None:
    """The reason why the group is not at rest; None if it is."""
    group = world.cluster.groups.classic_group(GROUP)
    if group is None:
        return "there is no group" if any(process.wish for process in world.alive) else None
    complaints = (_complaint(world, group, process) for process in world.alive)
    return next(filter(None, complaints), None) or _strangers(world, group) or _uncovered(world)


def _complaint(world: World, group: FakeClassicGroup, process: Process) -> str | None:
    member = process.member
    if process.wish is None:
        out = member.state in {S.UNSUBSCRIBED, S.FATAL} and not member.owned and member.departure is None
        return None if out else f"{process.member_id} is {member.state.name} instead of out of the group"
    waits = member.problem is not None and member.problem.kind is ProblemKind.WAITING_FOR_ROOM
    full = group.max_size is not None and len(group.members) >= group.max_size
    if (waits and full) or (member.state is S.FATAL and may_be_fatal(world, process)):
        return None
    if member.state is not S.STABLE or member.call is not None or group.phase is not JoinPhase.STABLE:
        return f"{process.member_id} is {member.state.name}: {member.problem}; the group is {group.phase.name}"
    enrolled = group.members.get(member.known_as)
    owned = frozenset(member.owned.named(member.names))
    if enrolled is None or (owned, member.epoch) != (enrolled.share, group.generation):
        return f"{process.member_id} owns {sorted(owned)} at {member.epoch}, the coordinator says {enrolled}"
    return None


def _strangers(world: World, group: FakeClassicGroup) -> str | None:
    members = {process.member.known_as for process in world.alive if process.member.state is S.STABLE}
    strangers = sorted(set(group.members) - members)
    return f"{strangers} are still in the group" if strangers else None


def _uncovered(world: World) -> str | None:
    """Every partition that a member wants has exactly one owner."""
    settled = [process for process in world.alive if process.member.state is S.STABLE]
    owned = [partition for process in settled for partition in process.member.owned.named(process.member.names)]
    if len(owned) > len(set(owned)):
        return "a partition is owned twice"
    group = world.cluster.groups.classic_group(GROUP)
    assert group is not None
    wanted = frozenset[str]().union(*(m.planned_topics & m.said.topics for m in group.members.values()))
    for topic in world.cluster.topics.known(wanted):
        for number in range(topic.partitions):
            if TopicPartition(topic.name, number) not in owned:
                return f"no member owns {topic.name}-{number}"
    return None
