"""The rebalances of a group, by its epoch: the coordinator's own count, which no clock can put out of order."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

from membership_client.core import reasons
from membership_client.core.events import ClassicHeartbeat, Heartbeat, JoinGroup, Send
from membership_client.debugger.model.deaths import just_ends
from membership_client.debugger.model.history_step import Moment
from membership_client.debugger.model.member_history import Life
from membership_client.debugger.model.memberships import Ending, Stay
from membership_client.debugger.model.timeline import Group
from membership_client.types import MemberState, TopicPartition


@dataclass(frozen=True, slots=True)
class Arrival:
    """A member reached an epoch."""

    life: Life
    stay: Stay
    moment: Moment
    settled: Moment
    """When it was stable with it, or else the last moment before the next."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a member did, or what was done to it, that made the coordinator count on."""

    life: Life
    moment: Moment
    text: str
    sure: bool
    """The answer to that very request brought the new epoch."""
    is_change: bool = False
    """Of a subscription: the member itself stays."""


class Move(NamedTuple):
    """A member got a partition, or gave it up."""

    life: Life
    partition: TopicPartition
    moment: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    epoch: int
    arrivals: tuple[Arrival, ...]
    triggers: tuple[Trigger, ...]
    gained: tuple[Move, ...]
    lost: tuple[Move, ...]

    @property
    def began(self) -> float:
        return min(arrival.moment.time for arrival in self.arrivals)

    @property
    def lasted_s(self) -> float:
        """Of whoever was busy with it for longest, by that member's own clock."""
        times: dict[str, list[float]] = {}
        for arrival in self.arrivals:
            times.setdefault(arrival.life.member_id, []).extend((arrival.moment.at, arrival.settled.at))
        busy = [(what.life, what.moment) for what in self.triggers]
        busy += [(move.life, move.moment) for move in (*self.gained, *self.lost)]
        for life, moment in busy:
            times.setdefault(life.member_id, []).append(moment.at)
        return max(max(own) - min(own) for own in times.values())


@functools.lru_cache(maxsize=1)
def rebalances_of(group: Group) -> tuple[Rebalance, ...]:
    """By epoch, those that somebody was seen to reach."""
    arrivals: dict[int, list[Arrival]] = {}
    for life in group.lives:
        for stay in life.stays:
            for epoch, moment in stay.epochs:
                arrivals.setdefault(epoch, []).append(Arrival(life, stay, moment, _settled(life, stay, epoch, moment)))
    seen = {epoch: found for epoch, found in sorted(arrivals.items()) if any(map(_is_witnessed, found))}
    triggers = _triggers(group, seen)
    return tuple(
        Rebalance(
            epoch=epoch,
            arrivals=tuple(found),
            triggers=tuple(triggers.get(epoch, ())),
            gained=tuple(_gained(group, epoch)),
            lost=tuple(_lost(group, epoch)),
        )
        for epoch, found in seen.items()
    )


def _is_witnessed(arrival: Arrival) -> bool:
    return arrival.moment is not arrival.stay.first or arrival.stay.joined is not None


def _settled(life: Life, stay: Stay, epoch: int, reached: Moment) -> Moment:
    following = next((moment for later, moment in stay.epochs if later > epoch), stay.last)
    within = [step for step in life.steps_between(reached.at, following.at) if step.epoch == epoch]
    return next((step for step in within if step.state is MemberState.STABLE), within[-1] if within else reached)


# --- what moved ------------------------------------------------------------------------------------------------------


def _gained(group: Group, epoch: int) -> list[Move]:
    """Without what a static member finds again where it left it."""
    return [
        Move(life, holding.partition, holding.began)
        for life in group.lives
        for holding in life.holdings
        if holding.began.epoch == epoch and holding.partition not in holding.began.owned_before
        if not _is_back(group, life, holding.began)
    ]


def _is_back(group: Group, life: Life, moment: Moment) -> bool:
    stay = next((stay for stay in life.stays if stay.first.at <= moment.at <= stay.last.at), None)
    return stay is not None and stay.last_epoch == moment.epoch and _returns(group, life, stay)


def _lost(group: Group, epoch: int) -> list[Move]:
    """A member reaches the new epoch only after it has given up what it must."""
    return [
        Move(life, holding.partition, holding.ended)
        for life in group.lives
        for holding in life.holdings
        if not holding.is_open and _next_epoch(life, holding.ended) == epoch
    ]


def _next_epoch(life: Life, moment: Moment) -> int | None:
    for stay in life.stays:
        if moment.epoch > 0 and stay.first.at <= moment.at <= stay.last.at:
            return next((epoch for epoch, reached in stay.epochs if epoch > moment.epoch), None)
    return None


# --- why -------------------------------------------------------------------------------------------------------------


def _triggers(group: Group, seen: dict[int, list[Arrival]]) -> dict[int, list[Trigger]]:
    found: dict[int, list[Trigger]] = {}
    for life in group.lives:
        for stay in life.stays:
            for epoch, trigger in (
                *_joins(group, life, stay, seen),
                *_changes(life, stay),
                *_rejoins(life, stay),
                *_ends(group, life, stay, seen),
            ):
                found.setdefault(epoch, []).append(trigger)
    return found


def _joins(group: Group, life: Life, stay: Stay, seen: dict[int, list[Arrival]]) -> list[tuple[int, Trigger]]:
    if stay.joined is None or not stay.epochs or _returns(group, life, stay):
        return []
    joined, first = stay.joined, stay.epochs[0][0]
    others = [arrival.moment.time for arrival in seen.get(first, ()) if arrival.stay is not stay]
    again = any(other.last.at < stay.first.at for other in life.stays)
    trigger = Trigger(life, joined, f"{life.name} joined{' again' if again else ''}", sure=not others)
    epochs = [] if any(group.clearly_before(time, joined.time) for time in others) else [first]
    if any(time < joined.time for time in others):
        # Where targets are computed in batches, a newcomer is let in at the old epoch, and the next one is its doing.
        epochs += [later for later in seen if later > first][:1]
    return [(epoch, trigger) for epoch in epochs]


def _returns(group: Group, life: Life, stay: Stay) -> bool:
    """A static member that comes back to the place it left, under an epoch that its last run knew."""
    if life.instance_id is None:
        return False
    former = (s for other in group.lives if other.instance_id == life.instance_id for s in other.stays if s is not stay)
    return any(before.last_epoch == stay.epochs[0][0] for before in former if before.first.time <= stay.first.time)


def _changes(life: Life, stay: Stay) -> list[tuple[int, Trigger]]:
    found: list[tuple[int, Trigger]] = []
    stated: tuple[object, object] | None = None
    for beat in life.beats:
        request = beat.request
        if isinstance(request, ClassicHeartbeat) or request.topics is None or beat.accepted is None:
            continue
        before, stated = stated, (request.topics, request.regex)
        in_stay = stay.first.at < beat.sent.at <= stay.last.at
        if in_stay and before not in {None, stated} and beat.accepted.epoch > request.epoch > 0:
            found.append((beat.accepted.epoch, _change(life, beat.sent, request)))
    return found


def _change(life: Life, sent: Moment, request: Heartbeat | JoinGroup) -> Trigger:
    regex = request.regex if isinstance(request, Heartbeat) else None
    wanted = regex or ", ".join(sorted(request.topics or ()))
    return Trigger(life, sent, f"{life.name} changed its subscription to {wanted}", sure=True, is_change=True)


def _rejoins(life: Life, stay: Stay) -> list[tuple[int, Trigger]]:
    """In a classic group whoever wants a rebalance joins again, and says why. Those who follow say that they do."""
    found: list[tuple[int, Trigger]] = []
    for step in life.steps_between(stay.first.at, stay.last.at):
        for send in step.effects_of(Send):
            request = send.request
            if not isinstance(request, JoinGroup) or step is stay.first or not _leads_off(request.reason):
                continue
            epoch = next((epoch for epoch, reached in stay.epochs if reached.at > step.at), None)
            if epoch is not None:
                found.append((epoch, _rejoin(life, step, request)))
    return found


def _leads_off(reason: str) -> bool:
    return reason not in {reasons.REBALANCING, reasons.NO_ANSWER} and not reason.startswith(reasons.COORDINATOR_ERROR)


def _rejoin(life: Life, sent: Moment, request: JoinGroup) -> Trigger:
    if request.reason == reasons.SUBSCRIPTION_CHANGED:
        return _change(life, sent, request)
    return Trigger(life, sent, f"{life.name} joined again ({request.reason})", sure=True)


_SAID = {
    Ending.LEFT: "left",
    Ending.FENCED: "was thrown out",
    Ending.STALE: "left, because it did not poll",
    Ending.FATAL: "ended",
    Ending.OPEN: "ended without leaving",
    Ending.AWAY: "left for a while and did not come back",
}


def _ends(group: Group, life: Life, stay: Stay, seen: dict[int, list[Arrival]]) -> list[tuple[int, Trigger]]:
    """The next epoch that anybody else reached after it had gone, as far as the clocks can tell."""
    if (stay.ending is Ending.OPEN and not just_ends(group, life)) or _comes_back(group, life, stay):
        return []
    since = _confirmed_time(life, stay) - group.skew_s
    later = (epoch for epoch, found in seen.items() if epoch > stay.last_epoch and _reached(found, life) >= since)
    epoch = next(later, None)
    reason = f" ({stay.reason})" if stay.reason else ""
    text = f"{life.name} {_SAID[stay.ending]}{reason}"
    return [(epoch, Trigger(life, stay.last, text, sure=False))] if epoch is not None else []


def _comes_back(group: Group, life: Life, stay: Stay) -> bool:
    away = stay.ending is Ending.AWAY and life.instance_id is not None
    return away and any(
        _returns(group, other, again)
        for other in group.lives
        if other.instance_id == life.instance_id
        for again in other.stays
        if again.joined is not None and again.first.time > stay.first.time
    )


def _confirmed_time(life: Life, stay: Stay) -> float:
    """When it was last sure to be in the group: who is thrown out learns it later."""
    if stay.ending not in {Ending.FENCED, Ending.OPEN}:
        return stay.last.time
    ends = [beat.ended for beat in life.beats if beat.is_accepted and beat.ended]
    times = [end.time for end in ends if stay.first.at <= end.at <= stay.last.at]
    return times[-1] if times else stay.first.time


def _reached(arrivals: list[Arrival], life: Life) -> float:
    return min((arrival.moment.time for arrival in arrivals if arrival.life is not life), default=float("-inf"))
