"""A peer that spoils its answers on the wire: a whole member on real sockets outlives it, and then goes on."""

from __future__ import annotations

import random
import threading

import pytest

from membership_client import GroupMember, MemberState
from tests.hostile.test_restless_group import Restless, RestlessLeader
from tests.net.answers import Asked, framed, payload
from tests.net.patience import LIMIT_S, open_descriptors, until
from tests.net.scripted_broker import Peer, ScriptedBroker
from tests.net.test_reader import mutate

SPOILT = 300


class Spoiler(Restless):
    """Every other answer is not what it should be, until there were enough of them."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.spoilt = 0
        self._chance = random.Random(seed)

    def reply(self, peer: Peer, asked: Asked, answer: object) -> None:
        if self.spoilt >= SPOILT or self._chance.random() < 0.5:
            super().reply(peer, asked, answer)
            return
        self.spoilt += 1
        good = payload(answer, asked.correlation_id)
        peer.send(self._chance.choice((self._foreign, self._unasked, self._cut, self._mutated, self._endless))(good))

    def _foreign(self, good: bytes) -> bytes:
        """Answers another question."""
        return framed(self._chance.randbytes(4) + good[4:])

    def _unasked(self, good: bytes) -> bytes:
        """One more than was asked for."""
        return framed(good) + framed(good)

    def _cut(self, good: bytes) -> bytes:
        """Announces what it is, and says less."""
        return framed(good[: len(good) // 2])

    def _mutated(self, good: bytes) -> bytes:
        """Only where that changes no error code: an unknown one would end the member, and rightly."""
        return framed(good[:4] + mutate(good[4:], self._chance)[: self._chance.randrange(8)])

    def _endless(self, _: bytes) -> bytes:
        """Announces more than any answer has."""
        return self._chance.randbytes(4) + b"and so on"


class ClassicSpoiler(Spoiler, RestlessLeader):
    """The same of a classic coordinator's."""


@pytest.mark.parametrize(("kind", "seed"), [(Spoiler, 1), (Spoiler, 2), (ClassicSpoiler, 1)])
def test_a_member_outlives_what_a_peer_makes_of_its_answers(kind: type[Spoiler], seed: int) -> None:
    """It drops the connection, says why, tries again, and keeps no thread or descriptor of it; then all is well."""
    spoiler, before, others = kind(seed), open_descriptors(), set(threading.enumerate())
    with ScriptedBroker(spoiler.script) as broker:
        spoiler.port = broker.node.port
        config = {"bootstrap.servers": f"127.0.0.1:{spoiler.port}", "group.id": "g", "request.timeout.ms": 500}
        quick = {"retry.backoff.ms": 1, "retry.backoff.max.ms": 5}
        with GroupMember({**config, **quick, **spoiler.CONFIG}) as member:
            member.subscribe(["orders"])
            until(lambda: spoiler.spoilt >= SPOILT)
            assert member.snapshot.state is not MemberState.FATAL
            reached = spoiler.targets
            until(lambda: spoiler.targets > reached + 10 and member.error is None)
            ours = [thread for thread in set(threading.enumerate()) - others if "membership" in thread.name]
            assert len(ours) <= 3
            assert open_descriptors() < before + 60
            assert member.close(timeout_s=LIMIT_S).clean
