"""Connections between processes and brokers, and their faults.

A connection keeps the order of what it carries, as TCP does, and a break hits everything after it. Whatever was sent
over a connection that the client dropped may still reach the broker, after what was sent over the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from membership_client.core.error_codes import Code
from membership_client.core.events import (
    Answered,
    Failed,
    FailureKind,
    HeartbeatAccepted,
    HeartbeatConfirmed,
    JoinGroup,
    Refused,
    Request,
    Response,
    Send,
    SyncGroup,
)
from membership_client.testing.fake_cluster import FakeCluster
from membership_client.testing.fake_coordinator import Client
from membership_client.types import Node
from tests.simulation.chance import Chance
from tests.simulation.script import Lose, Weather


class Endpoint(Protocol):
    """The process at this end of a connection."""

    @property
    def name(self) -> str: ...
    @property
    def member_id(self) -> str: ...
    def receive(self, event: Answered | Failed) -> None: ...


@dataclass(eq=False)
class Connection:
    endpoint: Endpoint
    node: Node | None
    number: int
    requests_arrive_from: float = 0.0
    answers_arrive_from: float = 0.0
    deaf: bool = False
    """Requests no longer reach the broker."""
    mute: bool = False
    """Answers no longer come back."""
    dropped: bool = False
    waiting: set[int] = field(default_factory=set)


class Network:
    def __init__(
        self,
        cluster: FakeCluster,
        chance: Chance,
        latency_s: tuple[float, float],
        at: Callable[[float, Callable[[], None]], None],
        on_handled: Callable[[Endpoint, Send, Response], None],
    ) -> None:
        self.weather: list[Weather] = []
        self.losses: list[Lose] = []
        self.now = 0.0
        self._cluster = cluster
        self._chance = chance
        self._latency_s = latency_s
        self._at = at
        self._on_handled = on_handled
        self._connections: dict[tuple[str, Node | None, bool], Connection] = {}
        self._opened = 0

    # --- the process's side ------------------------------------------------------------------------------------------

    def send(self, endpoint: Endpoint, send: Send) -> None:
        if self._lacks(send.request):
            detail = f"{send.to} does not know {type(send.request).__name__}"
            failed = Failed(send.request_id, FailureKind.UNSUPPORTED, detail)
            self._at(self.now + self._latency_s[1], partial(endpoint.receive, failed))
            return
        connection = self._connection(endpoint, send)
        connection.waiting.add(send.request_id)
        about = (endpoint.member_id, send.request_id)
        if self._is_reset(connection, "out", about):
            return
        if self._falls_silent(connection.endpoint, send.request, is_answer=False, about=about):
            connection.deaf = True
        if not connection.deaf:
            arrives = max(connection.requests_arrive_from, self.now + self._delay(endpoint.name, "out", about))
            connection.requests_arrive_from = arrives
            self._at(arrives, partial(self._handle, connection, send))

    def disconnect(self, endpoint: Endpoint, to: Node | None) -> None:
        """The process drops the connection; what is under way is forgotten."""
        for waits in (False, True):
            connection = self._connections.pop((endpoint.member_id, to, waits), None)
            if connection is not None:
                connection.dropped = True

    def forget(self, endpoint: Endpoint) -> None:
        """The process is gone, and its sockets with it."""
        for key in [key for key in self._connections if key[0] == endpoint.member_id]:
            self._connections.pop(key).dropped = True

    def reset_broker(self, node: Node) -> None:
        """The broker goes down: every connection to it is reset."""
        for connection in [c for c in self._connections.values() if c.node == node]:
            self._reset(connection, f"{node} went away")

    def _connection(self, endpoint: Endpoint, send: Send) -> Connection:
        """Joins and syncs, which a broker may hold back, have one of their own."""
        key = (endpoint.member_id, send.to, isinstance(send.request, JoinGroup | SyncGroup))
        if key not in self._connections:
            self._opened += 1
            self._connections[key] = Connection(endpoint, send.to, self._opened)
        return self._connections[key]

    def _lacks(self, request: Request) -> bool:
        return type(request) in self._cluster.lacks

    # --- the broker's side -------------------------------------------------------------------------------------------

    def _handle(self, connection: Connection, send: Send) -> None:
        endpoint, about = connection.endpoint, (connection.endpoint.member_id, send.request_id)
        if connection.dropped and self._chance.happens(0.5, "dropped", about):
            return
        client = Client(client_id=endpoint.name, host="/127.0.0.1")
        self._cluster.ask(connection.node, send.request, self.now, client, partial(self._respond, connection, send))
        if (timer_at := self._cluster.groups.next_timer()) < float("inf"):
            self._at(timer_at, _nothing)

    def _respond(self, connection: Connection, send: Send, response: Response) -> None:
        endpoint, about = connection.endpoint, (connection.endpoint.member_id, send.request_id)
        self._on_handled(endpoint, send, response)
        if isinstance(response, HeartbeatAccepted | HeartbeatConfirmed) and self._is_mistaken(endpoint, about):
            response = Refused(Code.REQUEST_TIMED_OUT)
        if self._is_reset(connection, "back", about):
            return
        if self._falls_silent(endpoint, send.request, is_answer=True, about=about):
            connection.mute = True
        if not connection.mute:
            self._answer(connection, send.request_id, response, about)

    def _answer(self, connection: Connection, request_id: int, response: Response, about: object) -> None:
        name = connection.endpoint.name
        answered = Answered(request_id, response, self._throttle_s(name))
        arrives = max(connection.answers_arrive_from, self.now + self._delay(name, "back", about))
        connection.answers_arrive_from = arrives
        self._at(arrives, partial(self._deliver, connection, answered))
        if self._chance.happens(self._worst(name, "repeat"), "repeat", about):
            self._at(arrives + self._delay(name, "repeat", about), partial(connection.endpoint.receive, answered))

    def _deliver(self, connection: Connection, answered: Answered) -> None:
        # No transport hands out an answer from a connection it dropped; the core must not depend on that.
        late = connection.dropped and self._chance.happens(0.5, "late", connection.number, answered.request_id)
        if not connection.dropped or late:
            connection.waiting.discard(answered.request_id)
            connection.endpoint.receive(answered)

    # --- what goes wrong ---------------------------------------------------------------------------------------------

    def _is_reset(self, connection: Connection, way: str, about: object) -> bool:
        if not self._chance.happens(self._worst(connection.endpoint.name, "reset"), "reset", way, about):
            return False
        self._reset(connection, f"{connection.node or 'The bootstrap broker'} closed the connection")
        return True

    def _reset(self, connection: Connection, detail: str) -> None:
        connection.dropped = True
        for key in [key for key, value in self._connections.items() if value is connection]:
            del self._connections[key]
        for request_id in sorted(connection.waiting):
            failed = Failed(request_id, FailureKind.DISCONNECTED, detail)
            self._at(self.now + self._latency_s[1], partial(connection.endpoint.receive, failed))

    def _is_mistaken(self, endpoint: Endpoint, about: object) -> bool:
        return self._chance.happens(self._worst(endpoint.name, "mistaken"), "mistaken", about)

    def _falls_silent(self, endpoint: Endpoint, request: Request, *, is_answer: bool, about: object) -> bool:
        for loss in self.losses:
            if (loss.who, loss.request, loss.kind) == (endpoint.name, not is_answer, type(request).__name__):
                self.losses.remove(loss)
                return True
        way = "answer" if is_answer else "request"
        return self._chance.happens(self._worst(endpoint.name, "silence"), "silence", way, about)

    def _worst(self, name: str, what: str) -> float:
        worst = 0.0
        for weather in self.weather:
            if weather.until > self.now and weather.who in (None, name):
                worst = max(worst, getattr(weather, what))
        return worst

    def _throttle_s(self, name: str) -> float:
        return self._worst(name, "throttle_s")

    def _delay(self, name: str, way: str, about: object) -> float:
        lowest, highest = self._latency_s
        if lowest == highest and not self.weather:
            return lowest
        return self._chance.between(lowest, highest + self._worst(name, "slow_s"), way, about)


def _nothing() -> None:
    """An event without an action: the coordinator's timers are checked after every event."""
