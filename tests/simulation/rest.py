"""The state that a group must reach once nothing bad happens any more."""

from __future__ import annotations

from uuid import UUID

from membership_client.core.events import ClassicHeartbeat, DescribeTopics, Heartbeat, Send
from membership_client.core.machine import Step
from membership_client.errors import ProblemKind
from membership_client.testing.fake_group import FakeGroup
from membership_client.types import MemberState
from tests.simulation.checkers import violated, wants_bad_pattern
from tests.simulation.process import Process
from tests.simulation.world import GROUP, Checker, World

S = MemberState


def unrest(world: World) -> str | None:
    """The reason why the group is not at rest; None if it is."""
    group = world.cluster.groups.group(GROUP)
    if group is None:
        return None if not any(process.wish for process in world.alive) or world.script.too_old else "there is no group"
    complaints = (_complaint(world, group, process) for process in world.alive)
    return next(filter(None, complaints), None) or _strangers(world, group) or _uncovered(world)


def _complaint(world: World, group: FakeGroup, process: Process) -> str | None:
    member = process.member
    if process.wish is None:
        out = member.state in {S.UNSUBSCRIBED, S.FATAL} and not member.owned and member.departure is None
        return None if out else f"{process.member_id} is {member.state.name} instead of out of the group"
    waits = member.problem is not None and member.problem.kind is ProblemKind.WAITING_FOR_ROOM
    if (waits and _is_full(world, group)) or (member.state is S.FATAL and may_be_fatal(world, process)):
        return None
    if member.state is not S.STABLE or member.call is not None:
        return f"{process.member_id} is {member.state.name}: {member.problem}"
    enrolled = group.members.get(process.member_id)
    if enrolled is None or (member.owned, member.epoch) != (enrolled.assigned, group.epoch):
        return f"{process.member_id} owns {sorted(member.owned)} at {member.epoch}, the coordinator says {enrolled}"
    if (process.wish.topics, process.wish.regex or "") != (enrolled.topics, enrolled.regex):
        return f"{process.member_id} wants {process.wish}, the coordinator says {enrolled}"
    return None


def _is_full(world: World, group: FakeGroup) -> bool:
    limit = world.cluster.groups.settings.max_size
    return limit is not None and len(group.members) >= limit


def may_be_fatal(world: World, process: Process) -> bool:
    problem, plan = process.member.problem, process.plan
    rivals = [p for p in world.processes if p is not process and p.plan.instance_id == plan.instance_id]
    match problem.kind if problem else None:
        case ProblemKind.GROUP_FULL:
            return world.cluster.groups.settings.max_size is not None
        case ProblemKind.CALLBACK_FAILED:
            return plan.callback_errors == "leave"
        case ProblemKind.FENCED_INSTANCE_ID:
            return plan.instance_id is not None and bool(rivals)
        case ProblemKind.INSTANCE_ID_IN_USE:
            return _may_lose_its_id(world, process, rivals)
        case ProblemKind.BROKER_TOO_OLD:
            return world.script.too_old
    return problem is not None and problem.kind is ProblemKind.INVALID_REGEX and wants_bad_pattern(process)


def _may_lose_its_id(world: World, process: Process, rivals: list[Process]) -> bool:
    """May the member end because its id is taken? If another process wants the id, or a move made a dead holder's session longer."""
    problem, ended_at = process.member.problem, process.ended_at
    assert problem is not None
    assert ended_at is not None
    itself = problem.holder is not None and problem.holder.member_id == process.member_id
    contested = process.plan.conflict == "fail" or any(rival.name != process.name for rival in rivals)
    moved = world.moved_at > ended_at - 2 * world.script.settings.session_timeout_s
    return not itself and (contested or moved)


def _strangers(world: World, group: FakeGroup) -> str | None:
    members = {process.member_id for process in world.alive if process.member.state is S.STABLE}
    strangers = sorted(set(group.members) - members)
    return f"{strangers} are still in the group" if strangers else None


def _uncovered(world: World) -> str | None:
    """Every partition that a member wants has exactly one owner."""
    owners: dict[tuple[UUID, int], str] = {}
    for process in world.alive:
        for partition in process.member.owned:
            if partition in owners:
                return f"{partition} is owned by {owners[partition]} and {process.member_id}"
            owners[partition] = process.member_id
    group = world.cluster.groups.group(GROUP)
    assert group is not None
    wanted = frozenset[str]().union(*map(group.topic_names, group.members.values()))
    for topic in world.cluster.topics.known(wanted):
        for number in range(topic.partitions):
            if (topic.topic_id, number) not in owners:
                return f"no member owns {topic.name}-{number}"
    return None


class Quiet(Checker):
    """A member at rest sends one heartbeat per interval, and nothing else."""

    def __init__(self) -> None:
        self.watching = False
        self._sent_at: dict[str, float] = {}

    def stepped(self, world: World, process: Process, taken: Step) -> None:
        if not self.watching or taken.after.state is not S.STABLE:
            return
        for effect in taken.effects:
            if isinstance(effect, Send) and isinstance(effect.request, DescribeTopics):
                continue  # One member must watch the topics of a classic group.
            if not isinstance(effect, Send) or not isinstance(effect.request, Heartbeat | ClassicHeartbeat):
                violated(world, process.member_id, f"at rest, yet wants {effect}")
            last = self._sent_at.get(process.member_id)
            interval_s = process.member.interval_s
            if last is not None and taken.at - last < interval_s * 0.999:
                violated(world, process.member_id, f"at rest, yet sends a heartbeat after {taken.at - last:.3f} s")
            self._sent_at[process.member_id] = taken.at

    def check_alive(self, world: World) -> None:
        """At rest, every stable member still sends heartbeats."""
        for process in world.alive:
            if process.member.state is S.STABLE and process.member_id not in self._sent_at:
                violated(world, process.member_id, "at rest, yet without heartbeats")
