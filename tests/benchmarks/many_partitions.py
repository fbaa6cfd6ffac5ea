"""One member with very many partitions of which one moves: what it costs the membership thread, and how that grows.

No test broker has so many partitions, so the answers are made here. Everything between the socket and the application's
callback is real: the bytes are decoded, the worker steps and sleeps, the acknowledgement is encoded, and all that watches
a `GroupMember` watches: log, trace, telemetry. CPU of the thread, which others on the machine do not change much.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from membership_client.config import MemberConfig
from membership_client.core.events import (
    Answered,
    CallbackReturned,
    CoordinatorFound,
    Failed,
    FindCoordinator,
    Heartbeat,
    ResolveTopics,
    Response,
    RunCallback,
    Send,
    Subscribe,
    TopicsResolved,
)
from membership_client.core.member import Member
from membership_client.net.codec import decode, encode
from membership_client.runtime.busy_thread import BudgetWarning
from membership_client.runtime.listener import Done
from membership_client.runtime.log import StepLog
from membership_client.runtime.ownership import OwnershipNumbers
from membership_client.runtime.rebalance_history import RebalanceHistory
from membership_client.runtime.worker import Worker
from membership_client.telemetry import Telemetry
from membership_client.trace import Journal
from membership_client.types import MemberState, Node
from tests.benchmarks.figures import Figure, Limit
from tests.benchmarks.stage import Sizes, Stage
from tests.net import answers

_PARTITIONS_PER_TOPIC = 50
_MOVES = 9
_HEARTBEAT_VERSION = 1


class _Cost(NamedTuple):
    total_ms: float
    codec_ms: float


class _Broker:
    """A transport whose other end is here, and a clock that jumps to whatever is waited for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.codec_s = 0.0
        self.news: bytes | None = None
        """The answer to the next heartbeat; without news it is the empty one."""
        self._sent: list[Send] = []
        self._no_news = answers.payload(answers.heartbeat(epoch=2))

    def send(self, send: Send) -> None:
        if isinstance(send.request, Heartbeat):
            began_at = time.thread_time()
            encode(send.request, _HEARTBEAT_VERSION, 0, "benchmark")
            self.codec_s += time.thread_time() - began_at
        self._sent.append(send)

    def wait(self, timeout_s: float | None) -> Sequence[Answered | Failed]:
        if not self._sent:
            self.now += timeout_s or 0.0
        sent, self._sent = self._sent, []
        return [Answered(send.request_id, self._answer(send)) for send in sent]

    def _answer(self, send: Send) -> Response:
        if isinstance(send.request, FindCoordinator):
            return CoordinatorFound(Node("broker", 9092, 1))
        if not isinstance(send.request, Heartbeat):
            assert isinstance(send.request, ResolveTopics)
            return TopicsResolved({topic: _name(topic.int) for topic in send.request.topic_ids})
        payload, self.news = self.news or self._no_news, None
        began_at = time.thread_time()
        response, _ = decode(send.request, _HEARTBEAT_VERSION, payload)
        self.codec_s += time.thread_time() - began_at
        return response

    def disconnect(self, to: Node | None) -> None: ...
    def wakeup(self) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...


class _Runner:
    """Callbacks that return at once."""

    runs_on_closing_thread = False

    def run(self, call: RunCallback, done: Done) -> None:
        done(CallbackReturned(call.call_id))

    def tell_lost(self, call_id: int) -> None: ...
    def is_current_thread(self) -> bool:
        return False

    def thread(self) -> int | None:
        return None

    def warn(self, warning: BudgetWarning) -> None: ...

    def await_end(self, ended: Callable[[float], bool], timeout_s: float) -> None: ...

    def stop(self) -> None: ...


def measure(stage: Stage, sizes: Sizes) -> list[Figure]:
    costs: dict[int, _Cost] = {}
    for partitions in sizes.partitions:
        stage.say(f"one of {partitions} partitions moves")
        costs[partitions] = _cost(partitions)
    (few, small), (many, large) = min(costs.items()), max(costs.items())
    exponent = math.log(large.total_ms / small.total_ms) / math.log(many / few)
    series = ", ".join(f"{count}: {cost.total_ms:.3g}" for count, cost in costs.items())
    how = f"CPU in ms by partitions: {series}; grows as n^{exponent:.2f}; codec {large.codec_ms:.3g} of it"
    name = f"one of {many} partitions moves"
    return [Figure(name=name, unit="ms", values={"ours": large.total_ms}, how=how, limit=Limit(10))]


def _cost(partitions: int) -> _Cost:
    topics = partitions // _PARTITIONS_PER_TOPIC
    broker = _Broker()
    member = Member(config=_config(), member_id="member")
    history = RebalanceHistory()
    looking = (history.on_step, StepLog(history).on_step, Journal(member).on_step, Telemetry(member).on_step)
    observers = (OwnershipNumbers().on_step, *looking)
    worker = Worker(member, broker, observers=observers, clock=lambda: broker.now)
    worker.runner = _Runner()
    worker.post(Subscribe(frozenset(map(_name, range(1, topics + 1)))))
    _reach(broker, worker, partitions)
    costs = [_reach(broker, worker, partitions - move % 2) for move in range(1, _MOVES + 1)]
    return _Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


def _name(topic: int) -> str:
    return f"topic-{topic}"


def _config() -> MemberConfig:
    return MemberConfig(bootstrap_servers="broker:9092", group_id="benchmark")


def _reach(broker: _Broker, worker: Worker, partitions: int) -> _Cost:
    """The next heartbeat brings a target of that many partitions; the cost of getting there and being stable again."""
    broker.news = _answer(partitions)
    broker.codec_s, began_at = 0.0, time.thread_time()
    while len(worker.member.owned) != partitions or worker.member.state is not MemberState.STABLE:
        worker.run_once()
    return _Cost(1000 * (time.thread_time() - began_at), 1000 * broker.codec_s)


def _answer(partitions: int) -> bytes:
    topics = math.ceil(partitions / _PARTITIONS_PER_TOPIC)
    numbers = [_PARTITIONS_PER_TOPIC] * topics
    numbers[-1] -= topics * _PARTITIONS_PER_TOPIC - partitions
    assignment = [(UUID(int=topic), range(count)) for topic, count in enumerate(numbers, 1)]
    return answers.payload(answers.heartbeat(epoch=2, assignment=assignment))
