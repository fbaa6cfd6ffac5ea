"""Play a member by hand: events in, effects out, time as an argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from membership_client.config import MemberConfig
from membership_client.core.events import (
    Answered,
    CallbackReturned,
    CoordinatorFound,
    Effect,
    Event,
    Failed,
    FailureKind,
    FindCoordinator,
    Heartbeat,
    HeartbeatAccepted,
    Polled,
    Refused,
    Request,
    ResolveTopics,
    Response,
    RunCallback,
    Send,
    Subscribe,
    Tick,
    TopicsDescribed,
    TopicsResolved,
    Unsubscribe,
)
from membership_client.core.machine import deadline, step
from membership_client.core.member import IN_GROUP, TRANSITIONS, Member
from membership_client.core.requests import SLOTS
from membership_client.partitions import Partitions
from membership_client.types import MemberState, Node
from tests.core.typed import assert_typed

ORDERS = UUID(int=1)
BILLS = UUID(int=2)
NAMES = {ORDERS: "orders", BILLS: "bills"}
BROKER = Node("broker", 9092, 1)
OTHER_BROKER = Node("other", 9092, 2)
INTERVAL_S = 5.0

_SAYS_NOTHING = TopicsDescribed({})
_KEEP_EPOCH = {MemberState.LEAVING, MemberState.FATAL}
"""States of a member that gives its partitions back or was refused for good: it may still be in the group."""


def config(**overrides: object) -> MemberConfig:
    return MemberConfig.from_dict({"bootstrap.servers": "b:9092", "group.id": "g", **overrides})


def orders(*numbers: int) -> Partitions:
    return Partitions.of({ORDERS: numbers})


def accepted(epoch: int, assignment: Partitions | None = None, interval_s: float = INTERVAL_S) -> HeartbeatAccepted:
    return HeartbeatAccepted(epoch=epoch, interval_s=interval_s, assignment=assignment)


@dataclass
class Play:
    """Checks after every step what must hold after every step."""

    member: Member
    now: float = 1000.0
    effects: list[Effect] = field(default_factory=list)

    @classmethod
    def new(cls, **overrides: object) -> Play:
        return cls(Member(config=config(**overrides), member_id="me"))

    def do(self, event: Event) -> list[Effect]:
        before = self.member
        self.member, effects = step(before, event, self.now)
        self._check(before, event, self.member)
        assert_typed(self.member, before)
        for effect in effects:
            assert_typed(effect)
            self._check_addressed(effect)
        self.effects.extend(effects)
        return list(effects)

    def _check(self, before: Member, event: Event, after: Member) -> None:
        at = deadline(after)
        assert at is None or at > self.now, f"would spin in {after.state}"
        assert before.owned == after.owned or isinstance(event, CallbackReturned), "owned changed without a callback"
        seen = (before.state, after.state)
        assert before.state is after.state or seen in TRANSITIONS, f"an observer sees {seen}, which the table has not"
        self._check_outside(after)

    def _check_addressed(self, effect: Effect) -> None:
        """Check the receiver: any broker can name the coordinator; all other requests go to the coordinator."""
        if isinstance(effect, Send):
            assert (effect.to is None) == isinstance(effect.request, FindCoordinator), f"sent to {effect.to}: {effect}"

    def _check_outside(self, member: Member) -> None:
        """A member outside of the group has no epoch, target or plan; a member that has ended has no conflict either."""
        if member.state is MemberState.JOINING:
            assert member.target is None, "a target of an earlier generation"
        if member.state in IN_GROUP:
            return
        assert member.epoch == 0 or member.state in _KEEP_EPOCH, f"epoch {member.epoch} in {member.state}"
        left = (member.target, member.classic.admission, member.classic.rejoin, member.owed_gap_s)
        assert left == (None,) * 4, f"{left} in {member.state}"
        if member.state is not MemberState.FATAL:
            return
        assert (member.id_conflict, member.accepted) == (None, None), "not at an end"
        flights = {slot for slot in SLOTS if getattr(member, slot) is not None}
        assert member.departure is not None or not flights - {"join_keepalive"}, f"{flights} still under way"

    def advance(self, seconds: float) -> list[Effect]:
        """Let time pass as the owning thread would: a tick at every deadline on the way."""
        end, seen = self.now + seconds, list[Effect]()
        while (at := deadline(self.member)) is not None and at <= end:
            self.now = at
            seen += self.do(Tick())
        self.now = end
        return seen

    # --- requests ----------------------------------------------------------------------------------------------------

    def sends(self) -> list[Send]:
        return [effect for effect in self.effects if isinstance(effect, Send)]

    def open_sends(self) -> list[Send]:
        flights = (getattr(self.member, slot) for slot in SLOTS)
        live = {flight.request_id for flight in flights if flight}
        return [send for send in self.sends() if send.request_id in live]

    def open(self, kind: type[Request]) -> Send:
        """The one request of that type that is under way."""
        (found,) = (send for send in self.open_sends() if isinstance(send.request, kind))
        return found

    def heartbeat(self) -> Heartbeat:
        request = self.open(Heartbeat).request
        assert isinstance(request, Heartbeat)
        return request

    def heartbeats(self) -> list[Heartbeat]:
        return [send.request for send in self.sends() if isinstance(send.request, Heartbeat)]

    def answer(self, kind: type[Request], response: Response, throttle_s: float = 0.0) -> list[Effect]:
        return self.do(Answered(self.open(kind).request_id, response, throttle_s))

    def answer_check(self, response: Response = _SAYS_NOTHING) -> list[Effect]:
        """Answer the request whether subscribed topics exist; by default with nothing about them."""
        checking = self.member.checking
        return self.do(Answered(checking.request_id, response)) if checking else []

    def fail(self, kind: type[Request], failure: FailureKind = FailureKind.DISCONNECTED) -> list[Effect]:
        return self.do(Failed(self.open(kind).request_id, failure, "it broke"))

    # --- callbacks ---------------------------------------------------------------------------------------------------

    def callbacks(self) -> list[RunCallback]:
        return [effect for effect in self.effects if isinstance(effect, RunCallback)]

    def returns(self, error: str | None = None) -> list[Effect]:
        """The callback that runs returns."""
        assert self.member.call is not None
        return self.do(CallbackReturned(self.member.call.call_id, error))

    def let_callbacks_return(self) -> None:
        while self.member.call is not None:
            self.returns()

    # --- the way to common situations --------------------------------------------------------------------------------

    def find_coordinator(self, node: Node = BROKER) -> Play:
        self.answer(FindCoordinator, CoordinatorFound(node))
        return self

    def joining(self, *topics: str) -> Play:
        self.do(Subscribe(frozenset(topics or ("orders",))))
        return self.find_coordinator()

    def name_topics(self) -> Play:
        if self.member.naming is not None:
            self.answer(ResolveTopics, TopicsResolved(NAMES))
        return self

    def stable(self, *numbers: int, epoch: int = 2) -> Play:
        """A member that owns these partitions of orders and has nothing to do."""
        self.joining()
        self.answer(Heartbeat, accepted(epoch, orders(*numbers)))
        self.name_topics()
        self.let_callbacks_return()
        self.answer(Heartbeat, accepted(epoch))
        assert self.member.state is MemberState.STABLE
        self.effects.clear()
        return self

    def told(self, assignment: Partitions, epoch: int | None = None) -> Play:
        """The next regular heartbeat brings a new target."""
        if self.member.dialogue is None:
            self.advance(INTERVAL_S)
        self.answer(Heartbeat, accepted(epoch or self.member.epoch, assignment))
        return self.name_topics()


def reaches(start: MemberState, end: MemberState) -> bool:
    """Can a member get from one state to the other, in any number of steps?"""
    seen, todo = {start}, [start]
    while todo:
        state = todo.pop()
        new = {b for a, b in TRANSITIONS if a is state} - seen
        seen |= new
        todo += new
    return end in seen


def in_state(state: MemberState, **overrides: object) -> Play:
    """A member in that state, on the shortest way there."""
    play = _WAYS[state](Play.new(**overrides))
    assert play.member.state is state
    return play


def _reconciling(play: Play) -> Play:
    play.stable(0, 1).told(orders(0))
    return play


def _ack(play: Play) -> Play:
    _reconciling(play).returns()
    return play


def _fenced(play: Play) -> Play:
    play.stable(0)
    play.advance(INTERVAL_S)
    play.answer(Heartbeat, Refused(25))
    return play


def _leaving(play: Play) -> Play:
    play.stable(0).do(Unsubscribe())
    return play


def _stale(play: Play) -> Play:
    play.stable(0).do(Polled(play.now))
    play.now += play.member.poll_interval_s
    play.do(Tick())
    return play


def _fatal(play: Play) -> Play:
    play.joining().answer(Heartbeat, Refused(30))
    return play


_WAYS: dict[MemberState, Callable[[Play], Play]] = {
    MemberState.UNSUBSCRIBED: lambda play: play,
    MemberState.JOINING: lambda play: play.joining(),
    MemberState.RECONCILING: _reconciling,
    MemberState.ACK: _ack,
    MemberState.STABLE: lambda play: play.stable(0),
    MemberState.FENCED: _fenced,
    MemberState.LEAVING: _leaving,
    MemberState.STALE: _stale,
    MemberState.FATAL: _fatal,
}
