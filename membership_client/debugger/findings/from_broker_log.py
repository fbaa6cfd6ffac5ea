"""Findings from the brokers' logs alone: what coordinators wrote about members of any client. No trace is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from membership_client.debugger.findings.finding import Certainty, Evidence, Finding, Kind
from membership_client.debugger.findings.storm import rounds_of
from membership_client.debugger.model.coordinator_log import LogEvent, LogEventKind, LoggedGroup
from membership_client.debugger.words import counted, joined, lasting, listed, second

K = LogEventKind
_MANY = 4
_APART_S = 75.0
"""Joins and ends that are further apart than this are of different storms."""
_SHORT_S = 60.0
_SHOWN = 8
_ENDS = frozenset({K.LEFT, K.EXPIRED, K.TOO_SLOW})


def logged_findings(group: LoggedGroup) -> list[Finding]:
    """By weight, then time."""
    found = [*_refused(group), *_removed(group), *_storms(group), *_rebalances(group)]
    return sorted(found, key=lambda finding: (finding.kind.weight, finding.began))


# --- members that the coordinator removed or refused -----------------------------------------------------------------


def _removed(group: LoggedGroup) -> Iterator[Finding]:
    """One finding for all sessions that expired, and one for all members that did not follow a rebalance."""
    away = _away(group)
    expired = [event for event in group.events if event.kind is K.EXPIRED and not set(event.member_ids) & away]
    yield from _thrown_out(group, expired, _EXPIRED, "heard nothing of it for a session")
    slow = [event for event in group.events if event.kind is K.TOO_SLOW]
    yield from _thrown_out(group, slow, _TOO_SLOW, "waited for it in a rebalance until its time was over")


_EXPIRED = (
    "Its process was stopped or dead, or had no way to the broker; or it is a static member that was closed and did not "
    "come back. The broker does not know which: a trace of the member (trace.file) tells."
)
_TOO_SLOW = (
    "Its application did not poll, or a callback of it took longer than max.poll.interval.ms: look at its log. A trace of the "
    "member (trace.file) tells which callback."
)


def _away(group: LoggedGroup) -> set[str]:
    """Static members that said that they leave for a while: their session was to expire."""
    return {each for event in group.events if event.kind is K.AWAY for each in event.member_ids}


def _thrown_out(group: LoggedGroup, events: Sequence[LogEvent], advice: str, why: str) -> Iterator[Finding]:
    if not events:
        return
    names = Counter(name for event in events for name in group.names_of(event))
    told = listed([f"{name} ({times} times)" if times > 1 else name for name, times in names.most_common()])
    reasons = dict.fromkeys(event.reason for event in events if event.reason)
    because = f": {joined(reasons)}" if reasons else ""
    yield _finding(
        group,
        Kind.THROWN_OUT,
        events,
        members=tuple(name for name, _ in names.most_common()),
        brief=f"the coordinator removed {told} {'from' if len(events) > 1 else 'at'} {second(events[0].time)}",
        sentence=f"The coordinator removed {told} because it {why}{because}.",
        advice=advice,
    )


def _refused(group: LoggedGroup) -> Iterator[Finding]:
    """One finding for each instance id that two processes wanted."""
    refused = [event for event in group.events if event.kind is K.REFUSED]
    for instance in dict.fromkeys(event.instance_id or "" for event in refused):
        events = [event for event in refused if event.instance_id == instance]
        yield _finding(
            group,
            Kind.DUPLICATE_INSTANCE_ID,
            events,
            members=(instance,),
            brief=f"a second process was refused the instance id {instance} from {second(events[0].time)}",
            sentence=(
                f"A process was refused the instance id {instance} {counted(len(events), 'time')}, because a member that had not left still had it."
            ),
            advice=(
                "Give each process an instance id of its own. If the first one is dead, its id is free when its session ends, or "
                "at once with group.instance.id.conflict=takeover."
            ),
            certainty="likely",
        )


# --- storms ----------------------------------------------------------------------------------------------------------


def _storms(group: LoggedGroup) -> Iterator[Finding]:
    """Short memberships of which each began after the one before had ended, and subscriptions that changed again."""
    spans = sorted([*_short_memberships(group), *_flaps(group)], key=lambda span: span[1].time)
    storms: list[list[_Span]] = []
    for span in spans:
        if storms and span[1].time - storms[-1][-1][1].time <= _APART_S:
            storms[-1].append(span)
        else:
            storms.append([span])
    return (_storm(group, ends) for storm in storms if len(ends := _repeated(storm)) >= _MANY)


_Span = tuple[float, LogEvent]
"""When a membership began, and the line about its end; both the same for a change of a subscription."""


def _repeated(storm: Sequence[_Span]) -> list[LogEvent]:
    earlier = rounds_of([(began, event.time) for began, event in storm])
    later = rounds_of([(-event.time, -began) for began, event in storm])
    rounds = zip(storm, earlier, later, strict=True)
    return [event for (_, event), before, after in rounds if before + after - 1 >= _MANY]


def _short_memberships(group: LoggedGroup) -> Iterator[_Span]:
    """Of members that were seen to join."""
    since: dict[str, float] = {}
    for event in group.events:
        for each in event.member_ids:
            if event.kind is K.JOINED:
                since[each] = event.time
            elif event.kind in _ENDS and event.time - (began := since.pop(each, float("-inf"))) < _SHORT_S:
                yield began, event


def _flaps(group: LoggedGroup) -> Iterator[_Span]:
    """Changes by members that changed their subscription more than once. The first line of each is that of its join."""
    changes = [event for event in group.events if event.kind is K.CHANGED]
    seen = Counter[tuple[str, ...]]()
    for event in changes:
        seen[event.member_ids] += 1
        if seen[event.member_ids] > 1:
            yield event.time, event


def _storm(group: LoggedGroup, ends: Sequence[LogEvent]) -> Finding:
    names = Counter(name for event in ends for name in group.plain_names_of(event))
    told = listed([f"{name} ({times} times)" if times > 1 else name for name, times in names.most_common()])
    reasons = Counter(event.reason for event in ends if event.kind is K.LEFT and event.reason)
    why = (
        f" Reasons given: {listed([f'{reason} ({times} times)' for reason, times in reasons.most_common()])}."
        if reasons
        else ""
    )
    began, ended = ends[0].time - _SHORT_S, ends[-1].time
    rounds = sum(event.kind is K.EPOCH and began <= event.time <= ended + 1.0 for event in group.events)
    lasted = lasting(ended - ends[0].time)
    return _finding(
        group,
        Kind.REBALANCE_STORM,
        ends,
        members=tuple(name for name, _ in names.most_common()),
        brief=f"{told} came and went: {counted(rounds, 'rebalance')} around {lasted}",
        sentence=f"{counted(rounds, 'rebalance')} around {lasted} of joins, leaves and changed subscriptions of {told}.{why}",
        advice="Look at the log of that application first. A group.instance.id lets a member restart without a rebalance.",
    )


# --- rebalances ------------------------------------------------------------------------------------------------------


_UNKNOWN = "the log does not say why: a topic or its partitions changed, or the subscription of a member"
_SAID = {
    K.JOINED: "joined",
    K.LEFT: "left",
    K.AWAY: "left for a while",
    K.EXPIRED: "was removed, because its session had expired",
    K.TOO_SLOW: "was removed, because it did not follow a rebalance in time",
    K.CHANGED: "changed its subscription",
}


def _rebalances(group: LoggedGroup) -> Iterator[Finding]:
    """What coordinators wrote since the epoch before is why there is a new one."""
    causes: list[LogEvent] = []
    for event in group.events:
        if event.kind is not K.EPOCH:
            causes += [event] * (event.kind in _SAID)
            continue
        # A classic coordinator says which of them it was: others came while the rebalance before was under way.
        causes = [
            cause for cause in causes if not event.reason or any(each in event.reason for each in cause.member_ids)
        ]
        clauses = list(dict.fromkeys(clause for cause in causes for clause in _clauses(group, cause)))
        why = joined(clauses) if clauses else group.named_in(event.reason) or _UNKNOWN
        yield _finding(
            group,
            Kind.REBALANCE,
            [*causes, event],
            members=tuple(dict.fromkeys(name for cause in causes for name in group.names_of(cause))),
            brief=f"epoch {event.epoch}: {why}",
            sentence=f"Epoch {event.epoch}: {why}.",
            advice="Nothing: this is how a group works.",
            certainty="certain" if clauses or event.reason else "unknown",
        )
        causes = []


def _clauses(group: LoggedGroup, cause: LogEvent) -> Iterator[str]:
    reason = f" ({cause.reason})" if cause.kind is K.LEFT and cause.reason else ""
    yield from (f"{name} {_SAID[cause.kind]}{reason}" for name in group.names_of(cause))


def _finding(
    group: LoggedGroup,
    kind: Kind,
    events: Sequence[LogEvent],
    *,
    members: tuple[str, ...],
    brief: str,
    sentence: str,
    advice: str,
    certainty: Certainty = "certain",
) -> Finding:
    return Finding(
        kind=kind,
        group=group.name,
        members=members,
        began=events[0].time,
        ended=events[-1].time,
        brief=brief,
        sentence=sentence,
        evidence=tuple(_evidence(group, events)),
        advice=advice,
        certainty=certainty,
    )


def _evidence(group: LoggedGroup, events: Iterable[LogEvent]) -> Iterator[Evidence]:
    for event in list(events)[:_SHOWN]:
        yield Evidence(
            event.path, event.line, event.time, ", ".join(group.names_of(event)) or "the coordinator", event.text
        )
