"""What successive descriptions of a group by its coordinator show, without any trace.

This works for members of any client. Heartbeats and the reasons of rebalances are not in descriptions, so nothing is said of
them.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from membership_client.admin.commands.group_text import blocker_lines, quiet_lines
from membership_client.admin.views import GroupView, MemberView
from membership_client.admin.waiting import Waiting
from membership_client.member_names import member_name
from membership_client.partitions import named
from membership_client.types import TopicPartition

_FLAPS = 3
"""So often the members of a name must join or change their subscription to count as flapping; more often if more have the name."""

_REBALANCES_S = 5.0
"""If a classic group is seen rebalancing for longer than this, it waits for a member."""

_WAITED_S = 10.0
"""Shorter waits do not count. It is two default heartbeat intervals: a healthy member learns of an epoch with its next heartbeat."""


class OutsideKind(enum.Enum):
    """The kind of a finding. All but GONE and LAG ask for an action."""

    FLAPPING = "FLAPPING"
    WAITED_FOR = "WAITED_FOR"
    SILENT = "SILENT"
    REBALANCING = "REBALANCING"
    NO_MEMBERS = "NO_MEMBERS"
    GONE = "GONE"
    LAG = "LAG"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideFinding:
    kind: OutsideKind
    members: tuple[str, ...]
    partitions: frozenset[TopicPartition]
    seen_s: float
    sentence: str
    advice: str
    certain: bool
    """False if another explanation is possible."""

    @property
    def is_fault(self) -> bool:
        return self.kind not in {OutsideKind.GONE, OutsideKind.LAG}


@dataclass(slots=True)
class _Changes:
    """How often members of one name joined and left. Dynamic members with the same client id and host share a name."""

    joined: int = 0
    left: int = 0
    subscribed: int = 0
    members: int = 0
    """The largest number of members with this name at one time."""

    @property
    def count(self) -> int:
        """How often a member came back or changed its subscription. Members that only start, or only leave, do not count."""
        return min(self.joined, self.left) + self.subscribed

    @property
    def is_flapping(self) -> bool:
        """Whether there were more changes than a restart of each member would make."""
        return self.count >= max(_FLAPS, self.members + 1)


class OutsideView:
    """Compares successive descriptions of one group. `see` takes them in the order of time."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._now = 0.0
        self._first: GroupView | None = None
        self._last: Waiting | None = None
        self._changes: dict[str, _Changes] = {}
        self._subscriptions: dict[str, tuple[frozenset[str], str]] = {}
        """By member id, as last described."""
        self._worst: dict[str, OutsideFinding] = {}
        """The last finding about each member for which the group waited, or that committed nothing."""
        self._epochs = 0
        self._rebalanced_s = 0.0

    @property
    def watched_s(self) -> float:
        return 0.0 if self._began is None else self._now - self._began

    def see(self, waiting: Waiting, now: float) -> None:
        if self._began is None or self._last is None:
            self._began, self._first = now, waiting.view
            self._compare_subscriptions(waiting.view)
        else:
            self._compare(self._last.view, waiting.view)
        self._now, self._last = now, waiting
        if waiting.unknown:
            self._rebalanced_s = max(self._rebalanced_s, waiting.seen_s)
        for finding in _of_look(waiting):
            self._worst[finding.members[0]] = finding

    def _compare(self, before: GroupView, after: GroupView) -> None:
        if before.epoch is not None and after.epoch is not None:
            self._epochs += max(0, after.epoch - before.epoch)
        elif (before.state, after.state) == ("Stable", "PreparingRebalance"):
            self._epochs += 1
        known = {member.member_id: member for member in before.members}
        for name, count in Counter(map(_name, after.members)).items():
            self._changes_of(name).members = max(self._changes_of(name).members, count)
        for member in after.members:
            if known.pop(member.member_id, None) is None:
                self._changes_of(_name(member)).joined += 1
        self._compare_subscriptions(after)
        for member in known.values():
            self._changes_of(_name(member)).left += 1

    def _compare_subscriptions(self, view: GroupView) -> None:
        """Coordinators describe the members of a classic group without their topics while it rebalances."""
        if view.protocol == "classic" and view.state != "Stable":
            return
        for member in view.members:
            wanted = member.topics, member.regex
            if self._subscriptions.setdefault(member.member_id, wanted) != wanted:
                self._changes_of(_name(member)).subscribed += 1
                self._subscriptions[member.member_id] = wanted

    def _changes_of(self, name: str) -> _Changes:
        return self._changes.setdefault(name, _Changes())

    def findings(self) -> list[OutsideFinding]:
        """All findings. Those that ask for an action come first."""
        if self._last is None:
            return []
        found = [*self._flapping(), *self._worst.values(), *self._rebalancing(), *_empty(self._last.view)]
        return [
            *found,
            *self._gone(self._last.view),
            *_lags(self._first or self._last.view, self._last.view, self.watched_s),
        ]

    def _flapping(self) -> Iterator[OutsideFinding]:
        flaps = {name: changes for name, changes in self._changes.items() if changes.is_flapping}
        for name, changes in sorted(flaps.items(), key=lambda item: -item[1].count):
            did = [("joined", changes.joined), ("changed its subscription", changes.subscribed)]
            told = " and ".join(f"{what} {_times(count)}" for what, count in did if count)
            who = f"{name} ({changes.members} members of that name)" if changes.members > 1 else name
            yield OutsideFinding(
                kind=OutsideKind.FLAPPING,
                members=(name,),
                partitions=frozenset(),
                seen_s=self.watched_s,
                sentence=f"{who} {told} in {self.watched_s:.0f} s; the group rebalanced {_times(self._epochs)}.",
                advice="Look at its log: a crash loop, a poll interval that is exceeded, or topics that it changes while it runs.",
                certain=True,
            )

    def _gone(self, view: GroupView) -> Iterator[OutsideFinding]:
        """Members that were there and are not any more, while others are: nothing shows whether they closed."""
        there = {_name(member) for member in view.members}
        for name, changes in sorted(self._changes.items()):
            if there and changes.left and name not in there:
                yield OutsideFinding(
                    kind=OutsideKind.GONE,
                    members=(name,),
                    partitions=frozenset(),
                    seen_s=self.watched_s,
                    sentence=f"{name} is not in the group any more: it left, or the coordinator removed it for want of heartbeats.",
                    advice="If it was not stopped on purpose, look at its process and its log.",
                    certain=True,
                )

    def _rebalancing(self) -> Iterator[OutsideFinding]:
        if self._rebalanced_s < _REBALANCES_S or self._last is None:
            return
        names = tuple(sorted(_name(member) for member in self._last.view.members))
        yield OutsideFinding(
            kind=OutsideKind.REBALANCING,
            members=names,
            partitions=frozenset(),
            seen_s=self._rebalanced_s,
            sentence=f"The classic group was rebalancing for at least {self._rebalanced_s:.0f} s: it waits for one of its members.",
            advice="Coordinators of classic groups do not say for which: look for a member that does not poll. Traces show it.",
            certain=True,
        )


def _times(count: int) -> str:
    return f"{count} time{'s' * (count != 1)}"


def _name(member: MemberView) -> str:
    """A name that stays the same after a restart: the instance id, or client id and host, which several members of a host may share."""
    return member_name(member.instance_id, member.client_id, member.host, None)


def _of_look(waiting: Waiting) -> Iterator[OutsideFinding]:
    for quiet in waiting.quiet:
        sentence, why = quiet_lines(quiet, waiting.session_timeout_s)
        yield OutsideFinding(
            kind=OutsideKind.SILENT,
            members=(quiet.member.name,),
            partitions=frozenset(quiet.waiting),
            seen_s=quiet.seen_s,
            sentence=sentence,
            advice=why.strip(),
            certain=False,
        )
    for blocker in waiting.blockers:
        if blocker.seen_s < _WAITED_S:
            continue
        sentence, patience = blocker_lines(blocker)
        yield OutsideFinding(
            kind=OutsideKind.WAITED_FOR,
            members=(blocker.holder.name, *blocker.wait.waiting),
            partitions=blocker.wait.partitions,
            seen_s=blocker.seen_s,
            sentence=sentence,
            advice=patience.strip(),
            certain=True,
        )


def _empty(view: GroupView) -> Iterator[OutsideFinding]:
    if not view.members:
        yield OutsideFinding(
            kind=OutsideKind.NO_MEMBERS,
            members=(),
            partitions=frozenset(),
            seen_s=0.0,
            sentence=f"{view.group_id} has no members.",
            advice="Start its consumers, or find out why they cannot join: an ACL, a wrong address, an instance id that is taken.",
            certain=True,
        )


def _lags(first: GroupView, last: GroupView, watched_s: float) -> Iterator[OutsideFinding]:
    """The members with the largest lags, and whether the lags grow."""
    lag, before = last.lag, first.lag
    by_member = Counter[str]()
    for member in last.members:
        by_member[member.name] = sum(lag.get(place, 0) for place in member.current)
    for member in sorted(last.members, key=lambda one: -by_member[one.name])[:_MOST_LAGS]:
        if not (count := by_member[member.name]):
            continue
        behind = {place for place in member.current if lag.get(place)}
        change = count - sum(before.get(place, 0) for place in member.current)
        trend = f"{'growing' if change > 0 else 'shrinking'} by {abs(change)} in" if change else "unchanged for"
        yield OutsideFinding(
            kind=OutsideKind.LAG,
            members=(member.name,),
            partitions=frozenset(behind),
            seen_s=watched_s,
            sentence=f"{member.name} has {count} record{'s' * (count != 1)} of {named(behind)} to go, {trend} {watched_s:.0f} s.",
            advice="If it grows, add members, or make each record quicker.",
            certain=True,
        )


_MOST_LAGS = 3


def first_line(view: GroupView, findings: Sequence[OutsideFinding]) -> str:
    """A line that says what is wrong, with the members' names."""
    faults = [finding.sentence for finding in findings if finding.is_fault]
    more = len(faults) - _MOST_SENTENCES
    told = [*faults[:_MOST_SENTENCES], *([f"And {more} finding{'s' * (more != 1)} more."] if more > 0 else [])]
    return f"Group {view.group_id}: {' '.join(told) or 'Nothing is wrong as far as its coordinator shows it.'}"


_MOST_SENTENCES = 3


def summary(view: GroupView, findings: Sequence[OutsideFinding], watched_s: float) -> str:
    kinds = Counter(finding.kind.value for finding in findings if finding.is_fault)
    told = ", ".join(f"{kind} x{times}" if times > 1 else kind for kind, times in kinds.items())
    count = len(view.members)
    return (
        f"Watched from outside for {watched_s:.0f} s: {view.state}, {view.protocol} protocol, "
        f"{count} member{'s' * (count != 1)}. {told or 'No findings'}."
    )
