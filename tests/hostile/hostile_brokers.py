"""Brokers in virtual time that answer as bytes, and spoil them; and that say in earnest what no broker would say.

What a member asks is answered by the fake coordinator. A hostile answer is one of these instead: a real answer to such a
request with bytes changed, which is then decoded as if it had come over a connection; or the fake's own answer with other
numbers in it; or silence.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any, ClassVar
from uuid import UUID

from membership_client.core import events
from membership_client.core.events import Answered, Failed, FailureKind, Refused, Request, Response, Send
from membership_client.net import codec
from membership_client.net.consumer_blobs import encode_assignment, encode_subscription
from membership_client.net.reader import Undecodable
from membership_client.subscriptions import MemberSubscription
from membership_client.testing.virtual import VirtualBrokers
from membership_client.types import TopicPartition
from tests.net import answers
from tests.net.test_classic_codec import join, joined, member_of, sync
from tests.net.test_reader import SAMPLES, mutate

ORDERS = frozenset({TopicPartition("orders", number) for number in range(3)})
NUMBERS = (-(2**31), -2, -1, 0, 1, 2, 7, 2**15, 2**31 - 1)
PASSING = (-1, 14, 15, 16)
"""Errors that no request gives up for."""
CODES = (*PASSING, 22, 25, 27, 110, 3, 7, 42, 69, 82, 111, 113, 999, -999, 2**15 - 1)
TIMES_S = (-5.0, 0.0, 1e-3, 0.5, 5.0, 1e4, 2_147_483.647)

Sample = tuple[Request, int, bytes]


def _samples() -> dict[type, list[Sample]]:
    """Real answers, by what they answer."""
    subscription = encode_subscription(MemberSubscription(member_id="m", topics=frozenset({"orders"})), "range")
    sync_wire, beat_wire = answers.module(14, 5), answers.module(12, 4)
    nothing = {"throttle_time": answers.milliseconds(0), "error_code": answers.Code(0)}
    synced = sync_wire.SyncGroupResponse(
        **nothing, protocol_type="consumer", protocol_name="range", assignment=encode_assignment(ORDERS)
    )
    beat = events.ClassicHeartbeat(group_id="g", member_id="m", instance_id=None, generation=4)
    classic: list[tuple[Request, int, Any]] = [
        (join(), 9, joined(9, members=(member_of(9, subscription),))),
        (sync(), 5, synced),
        (beat, 4, beat_wire.HeartbeatResponse(**nothing)),
        (events.DescribeTopics(topics=None), 13, answers.metadata(13, [(UUID(int=10), "orders", 0)])),
        (
            events.DescribeClassicGroup(group_id="g"),
            5,
            answers.classic_group_described(5, assignment=encode_assignment(ORDERS)),
        ),
    ]
    found: dict[type, list[Sample]] = {}
    for request, version, answer in [*SAMPLES, *classic]:
        found.setdefault(type(request), []).append((request, version, answers.payload(answer)))
    return found


class HostileBrokers(VirtualBrokers):
    """`hostility` of the answers are not what they should be; `told` counts those that came, and came changed.

    Unless they are `deadly` they contain no error that ends a member.
    """

    samples: ClassVar = _samples()

    def __init__(self, *args: Any, seed: int, hostility: float, deadly: bool, **more: Any) -> None:
        super().__init__(*args, **more)
        self.told = 0
        self.hostility = hostility
        self._deadly = deadly
        self._chance = random.Random(seed)

    def _answer(self, send: Send, answer: Response, dropped: int) -> None:
        if self._chance.random() >= self.hostility:
            super()._answer(send, answer, dropped)
            return
        outcome = self._chance.choice((self._spoilt, self._spoilt, self._absurd, self._silence))(send, answer)
        if outcome is not None and not self._ends(outcome):
            unchanged = isinstance(outcome, Answered) and outcome.response == answer
            self.at(self.now + self._chance.choice((0.0, 0.01, 1.0)), lambda: self._tell(outcome, not unchanged))

    def _tell(self, outcome: Answered | Failed, spoilt: bool) -> None:
        self.told += spoilt
        self._ready.append(outcome)

    def _ends(self, outcome: Answered | Failed) -> bool:
        refusal = outcome.response if isinstance(outcome, Answered) else None
        return not self._deadly and isinstance(refusal, Refused) and refusal.code not in PASSING

    def _spoilt(self, send: Send, answer: Response) -> Answered | Failed:
        """Decoded for the request it answers, as a connection would."""
        _, version, payload = self._chance.choice(self.samples[type(send.request)])
        try:
            return Answered(send.request_id, *codec.decode(send.request, version, self._mutant(payload)))
        except Undecodable as error:
            return Failed(send.request_id, FailureKind.NOT_KAFKA, str(error))

    def _mutant(self, payload: bytes) -> bytes:
        """Another one: some mutations change nothing."""
        while (mutant := mutate(payload, self._chance)) == payload:
            pass
        return mutant

    def _absurd(self, send: Send, answer: Response) -> Answered:
        """Well formed, and senseless; or an error that nobody expects here."""
        if self._chance.random() < 0.5:
            return Answered(send.request_id, Refused(self._chance.choice(CODES), "hostile"), self._time_s())
        numbers: dict[str, Any] = {
            field.name: self._chance.choice(NUMBERS) if field.type == "int" else self._time_s()
            for field in dataclasses.fields(answer)
            if field.type in {"int", "float"}
        }
        changed: Any = dataclasses.replace(answer, **numbers)
        return Answered(send.request_id, changed, self._time_s())

    def _silence(self, send: Send, answer: Response) -> None:
        """The member finds out by itself."""

    def _time_s(self) -> float:
        return self._chance.choice(TIMES_S)
