"""Plays a script on the fake and on a broker side by side, until their answers differ in a way that is not known."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from membership_client.core.events import DescribeGroup, GroupDescribed, MemberDescription, Request, Response
from membership_client.testing.fake_topics import FakeTopic
from tests.conformance.belief import Belief
from tests.conformance.differences import HARMLESS, Difference
from tests.conformance.exchange import Answer, Exchange
from tests.conformance.names import Names
from tests.conformance.players import Player, Rival
from tests.conformance.script import Beat, Describe, Drop, Grow, Leave, Script, Silence, Step

PATIENCE_S = 10.0
"""How long a broker may take over what it does in the background; nothing but a difference ever reaches it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two players before their first request, and the names they share."""

    names: Names
    fake: Rival
    broker: Player
    resize: Callable[[Names, str, int], FakeTopic | None]
    """Gives a topic so many partitions on the broker, and deletes it at none; returns it when the coordinator knows."""


Pairing = Callable[[Script], AbstractContextManager[Pair]]


@dataclass(frozen=True, slots=True)
class Run:
    script: Script
    names: Names
    exchanges: tuple[Exchange, ...]
    known: tuple[Difference, ...]
    """The listed differences that occurred."""
    mismatch: bool
    """Whether it ended with a difference that is not listed."""
    busy_s: float
    """How long it took up to the last answer, without the silences of the script."""


def play(script: Script, pairing: Pairing, known: tuple[Difference, ...] = HARMLESS) -> Run:
    """Until the end of the script, or the first difference after which the groups are not alike any more."""
    with pairing(script) as pair:
        return _Performance(script, pair, known).run()


class _Performance:
    def __init__(self, script: Script, pair: Pair, known: tuple[Difference, ...]) -> None:
        self._script = script
        self._pair = pair
        self._names = pair.names
        self._beliefs = {actor.name: Belief.of(actor) for actor in script.actors}
        self._exchanges: list[Exchange] = []
        self._known = known
        self._met: list[Difference] = []
        self._mismatch = False
        self._began_at = time.monotonic()
        self._busy_s = 0.0

    def run(self) -> Run:
        if all(self._perform(step) for step in self._script.steps):
            self._compare_pictures("in the end", patience_s=0.0)
        return Run(
            script=self._script,
            names=self._names,
            exchanges=tuple(self._exchanges),
            known=tuple(self._met),
            mismatch=self._mismatch,
            busy_s=self._busy_s,
        )

    def _perform(self, step: Step) -> bool:
        """Play one step on both. May the script go on?"""
        if isinstance(step, Silence):
            self._pair.fake.pass_time(step.seconds)
            self._pair.broker.pass_time(step.seconds)
            self._began_at += step.seconds
            return self._compare_pictures(f"after {step.seconds:g} s of silence")
        if isinstance(step, Grow | Drop):
            return self._resize(step.topic, step.partitions if isinstance(step, Grow) else 0)
        request = self._request(step)
        fake, broker = self._pair.fake.ask(request), self._pair.broker.ask(request)
        self._busy_s = time.monotonic() - self._began_at
        if not self._note(Exchange(request, _sorted(fake), _sorted(broker))):
            return False
        if isinstance(step, Beat | Leave):
            self._beliefs[step.who] = self._belief(step.who).after(step, request, broker)
        return not self._pair.fake.stirred or self._compare_pictures("after its work in the background")

    def _resize(self, symbol: str, partitions: int) -> bool:
        """On the broker first, which draws the id of a new topic. May the script go on?"""
        began_at = time.monotonic()
        topic = self._pair.resize(self._names, symbol, partitions)
        self._pair.fake.learn(self._names.prefix + symbol, topic)
        self._names = self._names.after(symbol, topic)
        self._began_at += time.monotonic() - began_at
        return self._compare_pictures(f"with {partitions or 'no'} partitions of {symbol}")

    def _request(self, step: Beat | Leave | Describe) -> Request:
        match step:
            case Beat():
                return self._belief(step.who).heartbeat(step, self._names)
            case Leave():
                return self._belief(step.who).leave(step, self._names)
            case Describe():
                return DescribeGroup(group_id=self._names.group(step.group))

    def _belief(self, who: str) -> Belief:
        return self._beliefs.get(who) or Belief.of(self._script.actor(who))

    def _compare_pictures(self, when: str, patience_s: float = PATIENCE_S) -> bool:
        """What happens in the background ends when it ends: the broker has time to come to the same picture."""
        expected, give_up_at = self._pair.fake.picture(), time.monotonic() + patience_s
        while (seen := self._pair.broker.picture()) != expected and time.monotonic() < give_up_at:
            time.sleep(0.005)
        return self._note(Exchange(f"the group {when}", expected, seen))

    def _note(self, exchange: Exchange) -> bool:
        """Keep it. Are the groups alike after it?"""
        self._exchanges.append(exchange)
        if not exchange.differs:
            return True
        difference = next((difference for difference in self._known if difference.covers(exchange)), None)
        if difference is None:
            self._mismatch = True
            return False
        self._met.append(difference)
        return difference.harmless


def _sorted(answer: Response) -> Answer:
    """Members of a described group have no order; what they own is compared apart, as a view of the whole group."""
    if isinstance(answer, GroupDescribed):
        return GroupDescribed(tuple(sorted(map(_identity, answer.members), key=lambda member: member.member_id)))
    return answer


def _identity(member: MemberDescription) -> MemberDescription:
    return MemberDescription(
        member_id=member.member_id, instance_id=member.instance_id, client_id=member.client_id, host=member.host
    )
