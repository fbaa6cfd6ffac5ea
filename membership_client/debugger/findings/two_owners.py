"""TWO_OWNERS: a member went on as the owner of partitions that another member had got."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from membership_client.core.events import CallbackKind
from membership_client.debugger.findings.finding import Certainty, Finding, Kind
from membership_client.debugger.model.calls import CallbackRecord
from membership_client.debugger.model.member_run import MemberRun
from membership_client.debugger.model.shared_partitions import SharedPeriod, shared_periods_of
from membership_client.debugger.model.timeline import Group
from membership_client.debugger.words import joined, lasting, partitions_text
from membership_client.types import MemberState

_ADVICE = (
    "Mend the cause. Records of these partitions may have been processed twice: a store that keeps the newest owner epoch "
    "(consumer.owner_epoch(message)) refuses the writes of the older owner, and commits of the older owner are refused anyway."
)
_SHOWN = 3


def two_owners(group: Group) -> list[Finding]:
    """One finding for each time that a member kept partitions which others had got."""
    found: dict[MemberRun, list[list[SharedPeriod]]] = defaultdict(list)
    for shared in sorted(shared_periods_of(group), key=lambda shared: (shared.began, shared.partition)):
        times = found[shared.stale]
        if times and shared.began <= max(before.ended for before in times[-1]):
            times[-1].append(shared)
        else:
            times.append([shared])
    return [_finding(group, periods) for times in found.values() for periods in times]


def _finding(group: Group, periods: list[SharedPeriod]) -> Finding:
    run, longest = periods[0].stale, max(periods, key=lambda shared: shared.lasted_s)
    owners = list(dict.fromkeys(shared.owner for shared in periods))
    partitions = tuple(sorted({shared.partition for shared in periods}))
    why, certainty = _why(run, longest.began, longest.ended)
    return Finding(
        kind=Kind.TWO_OWNERS,
        group=group.name,
        members=tuple(dict.fromkeys([run.name, *(owner.name for owner in owners)])),
        partitions=partitions,
        began=min(shared.began for shared in periods),
        ended=max(shared.ended for shared in periods),
        brief=f"{partitions_text(partitions)} had two owners for {_up_to(periods)}{lasting(longest.lasted_s)}",
        sentence=(
            f"{partitions_text(partitions)} had two owners for {_how_long(periods, longest)}: {_told_from(run, owners)} "
            f"owned {_it(partitions)} after the group had given {_it(partitions)} to {_owners(run, owners)}. {why}"
        ),
        evidence=(
            *(shared.owner.evidence(shared.taken.began, f"gets {shared.partition}") for shared in periods[:_SHOWN]),
            run.evidence(longest.held.ended, f"owns {longest.partition} until here"),
        ),
        advice=_ADVICE,
        certainty=certainty,
    )


def _told_from(run: MemberRun, others: list[MemberRun]) -> str:
    """Its name, and which process it is where the name is another one's too."""
    return f"{run.name} ({run.where})" if run.name in [other.name for other in others] else run.name


def _owners(run: MemberRun, owners: list[MemberRun]) -> str:
    return joined(dict.fromkeys(_told_from(owner, [run]) for owner in owners))


def _it(partitions: tuple[object, ...]) -> str:
    return "it" if len(partitions) == 1 else "them"


def _up_to(periods: list[SharedPeriod]) -> str:
    return "up to " if len({lasting(shared.lasted_s) for shared in periods}) > 1 else ""


def _how_long(periods: list[SharedPeriod], longest: SharedPeriod) -> str:
    give_or_take = f" (give or take {lasting(longest.uncertainty_s)})" if longest.uncertainty_s else ""
    return f"{_up_to(periods)}{lasting(longest.lasted_s)}{give_or_take}"


def _why(run: MemberRun, began: float, ended: float) -> tuple[str, Certainty]:
    """Why the first owner did not give the partitions up in time: of several reasons the one that held for longest."""
    reasons = [(_meeting(first, last, began, ended), text) for first, last, text in _reasons(run, began)]
    lasted = max((lasted_s for lasted_s, _ in reasons), default=-1.0)
    if lasted < 0:
        return f"The trace of {run.name} does not tell why.", "unknown"
    return next(text for lasted_s, text in reasons if lasted_s == lasted), "certain"


def _reasons(run: MemberRun, began: float) -> Iterator[tuple[float, float, str]]:
    """From when to when each of them held."""
    for silence in run.silences:
        text = f"{run.name} did nothing at that time, so it did not learn that its session had ended."
        yield silence.before.time, silence.after.time, text
    for outage in run.outages:
        text = f"No broker answered {run.name} at that time, so it did not learn that it was out of the group."
        yield outage.since(run.silences).time, outage.last.time, text
    before = next((step for step in reversed(run.steps) if step.time <= began), None)
    if before is not None and before.state is MemberState.STALE:
        back = next((step for step in run.steps if step.at > before.at and step.state is not MemberState.STALE), None)
        text = "had left the group, because it did not poll, and its callbacks could run only when it polled again"
        yield before.time, (back or run.steps[-1]).time, f"{run.name} {text}."
    for call in run.calls:
        if call.kind is not CallbackKind.ASSIGNED:
            yield call.wanted.time + call.waited_s, call.last.time, _callback_text(run, call)


def _callback_text(run: MemberRun, call: CallbackRecord) -> str:
    if call.kind is CallbackKind.LOST:
        return f"{run.name} had learned that it was out of the group, and its lost callback had not returned."
    return f"The group waited no longer for the {call.kind.value} callback of {run.name}, which had not returned."


def _meeting(first: float, last: float, began: float, ended: float) -> float:
    """For how long two times overlap; negative if they do not meet."""
    return min(last, ended) - max(first, began)
