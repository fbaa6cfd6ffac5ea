"""NETWORK_LOST and BROKER_RESTARTED: one member, or all members of a broker, got no answers."""

from __future__ import annotations

from dataclasses import dataclass

from membership_client.core.events import Tick
from membership_client.debugger.findings.finding import Evidence, Finding, Kind
from membership_client.debugger.model.fences import Fence, FenceCause
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.silences import Outage, failure_text, is_broken, is_told
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.model.trace_entry import TraceEntry
from membership_client.debugger.words import joined, lasting, listed, second

# --- NETWORK_LOST ----------------------------------------------------------------------------------------------------


_LONG_S = 15.0
"""An outage of this length gets a finding even if the session survived it."""


def network_lost(group: Group) -> list[Finding]:
    return [_network_finding(run, outage) for run in group.runs for outage in run.outages if _matters(run, outage)]


def _matters(run: MemberRun, outage: Outage) -> bool:
    return outage.lasted_s >= _LONG_S or _fence(run, outage) is not None


def _fence(run: MemberRun, outage: Outage) -> Fence | None:
    found = (fence for fence in run.fences if fence.why is FenceCause.CUT_OFF)
    return next((fence for fence in found if fence.outage is not None and fence.outage.first is outage.first), None)


def _network_finding(run: MemberRun, outage: Outage) -> Finding:
    fence, failures, maybe_stopped = _fence(run, outage), outage.failures, _may_have_stood_still(run, outage)
    if fence is not None:
        outcome = "its session ended meanwhile, and the coordinator fenced it"
    else:
        outcome = "then a broker answered again" if outage.end else "the trace ends without an answer"
    shown = failures[:2] if len(failures) < 3 else (*failures[:2], failures[-1])
    since = outage.since(run.silences)
    lasted = lasting(outage.last.at - since.at)
    fenced = [run.evidence(fence.entry, fence.said)] if fence else []
    said = (
        f"read no answer for {lasted}{_UNSURE}" if maybe_stopped else f"worked, but no broker answered it for {lasted}"
    )
    return Finding(
        kind=Kind.NETWORK_LOST,
        group=run.group,
        members=(run.name,),
        partitions=tuple(sorted(outage.first.owned)),
        began=since.time,
        ended=outage.last.time,
        brief=f"{_gist(run, maybe_stopped)} for {lasted} from {second(since.time)}",
        sentence=f"{run.name} {said}; {outcome}.",
        evidence=(*(run.evidence(step, failure_text(step) or "") for step in shown), *fenced),
        advice=_ADVICE + (_OR_STOPPED if maybe_stopped else ""),
        certainty="certain" if len(failures) > 1 else "unknown" if maybe_stopped else "likely",
    )


def _gist(run: MemberRun, maybe_stopped: bool) -> str:
    return f"{run.name} read no answer" if maybe_stopped else f"no broker answered {run.name}"


_UNSURE = ": no broker answered it, or it stood still, which looks the same here"
_ADVICE = "Look at the network between this machine and the brokers at that time, and at the broker it spoke to."
_OR_STOPPED = " Look for what may have stopped the process, too: SIGSTOP, a frozen container, a suspended machine."
_PUNCTUAL_S = 0.25
"""A member that works notices the timeout of a request sooner than this, unless its machine is busy."""


def _may_have_stood_still(run: MemberRun, outage: Outage) -> bool:
    """Did it do nothing between one heartbeat and its timeout, which it noticed late?

    An answer that came while a process is stopped is lost when the timeout is noticed before it is read.
    """
    first, asked = outage.first, outage.asked
    late_s = first.at - asked.at - run.start.request_timeout_s
    if len(outage.failures) > 1 or not isinstance(first.event, Tick) or late_s < _PUNCTUAL_S:
        return False
    return not any(asked.at < entry.at < first.at for entry in run.entries)


# --- BROKER_RESTARTED ------------------------------------------------------------------------------------------------


_SEVERAL = 2
_OR = ": it was restarted, or the network before it failed"


@dataclass(frozen=True, slots=True)
class _Loss:
    """An outage as one member saw it."""

    run: MemberRun
    outage: Outage

    @property
    def since(self) -> TraceEntry:
        """From when on the broker did not answer it."""
        return self.outage.since(self.run.silences)


def broker_restarted(group: Group) -> list[Finding]:
    return [_broker_finding(losses) for losses in _clusters(group) if _blames_the_broker(group, losses)]


def _clusters(group: Group) -> list[list[_Loss]]:
    """Outages of the same broker that began together. A member notices one when it sends its next request."""
    losses = [_Loss(run, outage) for run in group.runs for outage in run.outages if outage.node is not None]
    found: list[list[_Loss]] = []
    for loss in sorted(losses, key=lambda loss: (str(loss.outage.node), loss.outage.first.time)):
        if found and _belongs(group, found[-1], loss):
            found[-1].append(loss)
        else:
            found.append([loss])
    return found


def _belongs(group: Group, losses: list[_Loss], loss: _Loss) -> bool:
    """A second outage of the same member does not belong: the coordinator answered the member in between."""
    before = losses[0].outage
    apart_s = loss.outage.first.time - before.first.time
    again = loss.run in [other.run for other in losses]
    together = apart_s <= group.skew_s + loss.run.interval_s + loss.run.start.request_timeout_s
    return before.node == loss.outage.node and together and not again


def _blames_the_broker(group: Group, losses: list[_Loss]) -> bool:
    # First, because the network may be lost for a minute and the coordinator move at the end of it.
    if _is_refuted(group, losses):
        return False
    if any(_is_sure(loss) for loss in losses):
        return True
    several = len({loss.run.name for loss in losses}) >= _SEVERAL
    machines = len({loss.run.host for loss in losses}) >= _SEVERAL
    broken = all(any(map(is_broken, loss.outage.failures)) for loss in losses)
    return several and (broken or machines)


def _is_refuted(group: Group, losses: list[_Loss]) -> bool:
    """The outages did not coincide, or the broker answered another member meanwhile."""
    began = max(loss.outage.first.time for loss in losses)
    ended = min(loss.outage.last.time for loss in losses)
    if group.clearly_before(ended, began):
        return True
    spared = [run for run in group.runs if run not in [loss.run for loss in losses]]
    return any(
        group.clearly_before(began, heartbeat.sent.time) and group.clearly_before(heartbeat.sent.time, ended)
        for run in spared
        for heartbeat in run.heartbeats
        if heartbeat.is_confirmed and heartbeat.to == losses[0].outage.node
    )


def _is_sure(loss: _Loss) -> bool:
    """A member that was not in the group lost nothing: the coordinator of a new cluster loads before the first join."""
    was_inside = loss.outage.first.epoch_before > 0
    return was_inside and (loss.outage.moved_to is not None or any(map(is_told, loss.outage.failures)))


def _broker_finding(losses: list[_Loss]) -> Finding:
    names = tuple(dict.fromkeys(loss.run.name for loss in losses))
    began = min(loss.since.time for loss in losses)
    sure = any(map(_is_sure, losses))
    together = " at about the same time" if len(names) > 1 else ""
    longest_s = max(loss.outage.last.at - loss.since.at for loss in losses)
    moved_to = sorted({str(loss.outage.moved_to) for loss in losses if loss.outage.moved_to})
    moved = f"; the coordinator is {joined(moved_to)} since then" if moved_to else ""
    return Finding(
        kind=Kind.BROKER_RESTARTED,
        group=losses[0].run.group,
        members=names,
        began=began,
        ended=max(loss.outage.last.time for loss in losses),
        brief=f"broker {losses[0].outage.node} was out of reach for at most {lasting(longest_s)} from {second(began)}",
        sentence=(
            f"Broker {losses[0].outage.node}, the coordinator, was out of reach for {listed(names)}{together}, "
            f"for at most {lasting(longest_s)}{moved}{'' if sure else _OR}."
        ),
        evidence=tuple(line for loss in losses for line in _evidence(loss)),
        advice="Nothing, if the broker was restarted on purpose; otherwise look into its log at that time.",
        certainty="certain" if sure else "likely",
    )


def _evidence(loss: _Loss) -> list[Evidence]:
    outage = loss.outage
    found = [loss.run.evidence(outage.first, failure_text(outage.first) or "")]
    return [*found, loss.run.evidence(outage.end, "answered again")] if outage.end else found
