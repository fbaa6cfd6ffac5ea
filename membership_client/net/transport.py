"""BrokerTransport: all broker connections of one member, on which it sends requests and gets answers."""

from __future__ import annotations

import dataclasses
import enum
import os
import selectors
import threading
from typing import TYPE_CHECKING

from membership_client.core.events import Answered, Failed, FailureKind, JoinGroup, Refused, Request, Send, SyncGroup
from membership_client.net.channel import MAX_FRAME_BYTES, OpenFailed
from membership_client.net.telemetry_requests import PushTelemetry
from membership_client.net.wakeup import Mailbox, Wakeup
from membership_client.security import PLAINTEXT, Security
from membership_client.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from membership_client.net.connection import Completion, Connection
    from membership_client.types import Node

# One poll object per wait: there are two or three sockets to watch, and nothing that a fork would share.
_Selector = selectors.PollSelector
_LONGEST_WAIT_S = 3600.0
_FOR_TOKENS = 0.5
"""A token may take this part of the connect timeout, so that requests fail with its absence and not with a timeout."""
_FOR_CONNECTING = 0.9
"""Connecting to an advertised address may take this part of the time for an answer, so that requests fail with its error."""


class _Purpose(enum.Enum):
    """What a connection is for. Each purpose has its own connection, even to the same address; each is dropped by itself."""

    BOOTSTRAP = "finding the coordinator"
    COORDINATOR = "requests that are answered at once"
    REBALANCE = "JoinGroup and SyncGroup: brokers answer in order, and these only when all members have joined"
    METRICS = "PushTelemetry: brokers answer it when their receiver of metrics returns, which may take long"


@dataclass(frozen=True, slots=True)
class _Peer:
    """The broker that a request is for, and the purpose."""

    node: Node
    purpose: _Purpose

    @property
    def is_bootstrap(self) -> bool:
        return self.purpose is _Purpose.BOOTSTRAP


@dataclasses.dataclass(slots=True, repr=False, eq=False)
class _ConnectionSlot:
    """A connection, or the attempt to open one or to renew its session; and the requests that wait for that."""

    peer: _Peer
    connection: Connection | None = None
    waiting: list[tuple[int, Request]] = dataclasses.field(default_factory=list)
    security: Security = PLAINTEXT
    """The credentials of the last attempt to open it or to renew its session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt to open a connection, or to renew its session: what a connecting thread is given."""

    nodes: tuple[Node, ...]
    """The addresses to connect to: any will do, and they are tried in this order."""
    client_id: str
    timeout_s: float
    token_timeout_s: float
    """How long to wait for a token before the attempt fails without one."""
    max_frame_bytes: int
    security: Security
    held: Connection | None = None
    """The connection whose session is renewed; None to open one."""


class BrokerTransport:
    """Carries requests to brokers over connections that are opened on demand.

    One thread owns it and calls everything but `wakeup()` and `use()`. Only `wait()` blocks: connections are opened by short-lived
    threads, at most one per broker at a time, so a silent name server, firewall or broker does not delay the owner.
    Without open requests there are no threads, and every open connection is a socket and a few hundred bytes.

    Every request ends in exactly one Answered or Failed from `wait()`, unless `disconnect()`, `close()` or `abandon()`
    drops it. There is no timeout here: the owner calls `disconnect()` when it no longer waits, after `answer_timeout_s`.
    """

    def __init__(
        self,
        bootstrap: Sequence[Node],
        *,
        client_id: str,
        connect_timeout_s: float,
        answer_timeout_s: float = float("inf"),
        max_frame_bytes: int = MAX_FRAME_BYTES,
        security: Security = PLAINTEXT,
    ) -> None:
        self._bootstrap = tuple(bootstrap)
        self._bootstrap_failures = 0
        self._client_id = client_id
        self._connect_timeout_s = connect_timeout_s
        self._advertised_timeout_s = _shortened_timeout_s(connect_timeout_s, answer_timeout_s)
        self._max_frame_bytes = max_frame_bytes
        self.security = security
        self._links: dict[_Peer, _ConnectionSlot] = {}
        self._completed: list[Completion] = []
        self._wakeup = Wakeup()
        self._mailbox: Mailbox[tuple[_ConnectionSlot, Connection | OpenFailed]] = Mailbox(self._wakeup)
        self._closed = False

    def send(self, send: Send) -> None:
        """Send, now or as soon as a connection is open. Never blocks; `wait()` returns the outcome."""
        self._require_open()
        peer = self._peer(send)
        link = self._links.get(peer)
        if link is None:
            link = self._links[peer] = _ConnectionSlot(peer, waiting=[(send.request_id, send.request)])
            self._connect(link)
        elif link.connection is None:
            link.waiting.append((send.request_id, send.request))
        elif link.connection.is_due:
            link.waiting.append((send.request_id, send.request))
            self._renew_if_idle(link, link.connection)
        else:
            self._complete(link, link.connection.send(send.request_id, send.request))

    def disconnect(self, to: Node | None) -> None:
        """Drop the connection and forget, silently, what was sent over it.

        None: the same for requests to bootstrap brokers; the next request goes to the next of them.
        """
        for link in [link for link in self._links.values() if _matches(link.peer, to)]:
            link.waiting.clear()
            # An attempt cannot be cancelled. It stays, so that the next request waits for it instead of starting another.
            if link.connection is not None:
                self._drop(link)
        if to is None:
            self._bootstrap_failures += 1

    def wait(self, timeout_s: float | None) -> list[Completion]:
        """Block until something completed, `wakeup()` was called, or that long; return what completed since the last call.

        The result may be empty before the time is up, but never for the same reason again and again.
        """
        self._require_open()
        if not self._completed:
            self._poll(timeout_s)
        completed, self._completed = self._completed, []
        return completed

    def use(self, security: Security) -> None:
        """Use these credentials for new connections and renewed sessions. Any thread: it is one assignment."""
        self.security = security

    def wakeup(self) -> None:
        """Make `wait()` return, now or the next time. Any thread, any signal handler; never blocks; also after `close()`."""
        self._wakeup.wake()

    def close(self) -> None:
        """Drop everything. Connecting threads that are still busy close what they open. May be repeated."""
        self._closed = True
        self._close_connections(self._mailbox.close())
        self._wakeup.close()

    def abandon(self) -> None:
        """In a forked child: close this process's copies of the sockets. The parent, and its brokers, notice nothing.

        A socket that a thread was just connecting at the moment of the fork stays open in the child until it ends.
        """
        self._closed = True
        self._close_connections(self._mailbox.abandon())
        self._wakeup.abandon()

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("the transport is closed")

    def _peer(self, send: Send) -> _Peer:
        if send.to is not None:
            return _Peer(send.to, _purpose(send.request))
        return _Peer(self._bootstrap_in_turn()[0], _Purpose.BOOTSTRAP)

    def _bootstrap_in_turn(self) -> tuple[Node, ...]:
        """All bootstrap servers, beginning with the one that is next in turn."""
        first = self._bootstrap_failures % len(self._bootstrap)
        return self._bootstrap[first:] + self._bootstrap[:first]

    # --- connecting --------------------------------------------------------------------------------------------------

    def _connect(self, link: _ConnectionSlot) -> None:
        link.security = self.security
        if link.peer.is_bootstrap:
            self._open(link, self._bootstrap_in_turn(), self._connect_timeout_s)
        else:
            self._open(link, (link.peer.node,), self._advertised_timeout_s)

    def _renew_if_idle(self, link: _ConnectionSlot, connection: Connection) -> None:
        """Renew a SASL session that ends, once all requests on it are answered. New requests wait for that."""
        if not connection.idle:
            return
        link.connection, before, link.security = None, link.security, self.security
        if _user(before) != _user(link.security):
            connection.close()  # Brokers refuse to change the user of a connection (KIP-368).
            self._connect(link)
            return
        self._open(link, (link.peer.node,), self._connect_timeout_s, connection)

    def _open(
        self, link: _ConnectionSlot, nodes: tuple[Node, ...], timeout_s: float, held: Connection | None = None
    ) -> None:
        attempt = Attempt(
            nodes=nodes,
            client_id=self._client_id,
            timeout_s=timeout_s,
            token_timeout_s=self._connect_timeout_s * _FOR_TOKENS,
            max_frame_bytes=self._max_frame_bytes,
            security=link.security,
            held=held,
        )
        args, name = (attempt, link, self._mailbox), f"membership-connect-{link.peer.node}"
        try:
            threading.Thread(target=_deliver, args=args, name=name, daemon=True).start()
        except RuntimeError as error:
            # The system can start no thread, or the interpreter is shutting down.
            if held is not None:
                held.close()
            self._connected(link, _unreachable(link, error))

    def _connected(self, link: _ConnectionSlot, outcome: Connection | OpenFailed) -> None:
        if self._was_denied_as_before(link, outcome):
            self._connect(link)
            return
        waiting, link.waiting = link.waiting, []
        if isinstance(outcome, OpenFailed):
            del self._links[link.peer]
            detail = outcome.detail + _advertised_hint(link.peer, outcome)
            self._note(link, [Failed(request_id, outcome.kind, detail) for request_id, _ in waiting])
        elif not waiting:
            del self._links[link.peer]
            outcome.close()
        else:
            link.connection = outcome
            self._complete(link, [done for request in waiting for done in outcome.send(*request)])

    def _was_denied_as_before(self, link: _ConnectionSlot, outcome: Connection | OpenFailed) -> bool:
        """Was the connection refused for credentials that were replaced meanwhile? Then the new ones are tried."""
        denied = isinstance(outcome, OpenFailed) and outcome.kind is FailureKind.AUTHENTICATION
        return denied and bool(link.waiting) and link.security is not self.security

    # --- serving -----------------------------------------------------------------------------------------------------

    def _poll(self, timeout_s: float | None) -> None:
        with _Selector() as selector:
            selector.register(self._wakeup, selectors.EVENT_READ)
            for link in self._links.values():
                if link.connection is not None:
                    selector.register(link.connection, _interest(link.connection), link)
            ready = selector.select(None if timeout_s is None else min(timeout_s, _LONGEST_WAIT_S))
        for key, mask in ready:
            if key.data is None:
                self._take_opened()
            else:
                self._serve(key.data, mask)

    def _take_opened(self) -> None:
        self._wakeup.clear()
        for link, outcome in self._mailbox.take():
            self._connected(link, outcome)

    def _serve(self, link: _ConnectionSlot, mask: int) -> None:
        connection = link.connection
        assert connection is not None
        completed: list[Completion] = []
        if mask & selectors.EVENT_WRITE and connection.wants_to_write:
            completed += connection.on_writable()
        if mask & selectors.EVENT_READ and not connection.closed:
            completed += connection.on_readable()
        self._complete(link, completed)

    def _complete(self, link: _ConnectionSlot, completed: list[Completion]) -> None:
        self._note(link, completed)
        connection = link.connection
        assert connection is not None
        # Bootstrap brokers are asked rarely, and each has thousands of clients, so the connection is closed; unless the
        # broker refused, because then the same request follows.
        done = link.peer.is_bootstrap and connection.idle and not any(map(_is_refused, completed))
        if link.waiting:
            self._go_on(link, connection)
        elif connection.closed or done:
            self._drop(link)

    def _go_on(self, link: _ConnectionSlot, connection: Connection) -> None:
        """Send the requests that wait for a renewed session; none was sent, so another connection will do."""
        if connection.closed:
            link.connection = None
            self._connect(link)
        else:
            self._renew_if_idle(link, connection)

    def _note(self, link: _ConnectionSlot, completed: list[Completion]) -> None:
        self._completed += completed
        if link.peer.is_bootstrap and any(isinstance(completion, Failed) for completion in completed):
            self._bootstrap_failures += 1

    def _drop(self, link: _ConnectionSlot) -> None:
        del self._links[link.peer]
        if link.connection is not None:
            link.connection.close()

    def _close_connections(self, arrived: Iterable[tuple[_ConnectionSlot, Connection | OpenFailed]]) -> None:
        opened = [outcome for _, outcome in arrived if not isinstance(outcome, OpenFailed)]
        for connection in (*opened, *(link.connection for link in self._links.values())):
            if connection is not None:
                connection.close()
        self._links.clear()
        self._completed.clear()


def _shortened_timeout_s(connect_timeout_s: float, answer_timeout_s: float) -> float:
    """With equal timeouts the request would expire first and hide the connect error: its time begins earlier.

    A connect timeout that is much longer is left alone. The next request joins that attempt, which may be a slow handshake.
    """
    if connect_timeout_s >= 2 * answer_timeout_s:
        return connect_timeout_s
    return min(connect_timeout_s, answer_timeout_s * _FOR_CONNECTING)


def _advertised_hint(peer: _Peer, failed: OpenFailed) -> str:
    """A hint where the address comes from: it is in no configuration of this client."""
    if peer.is_bootstrap or failed.ours or failed.kind is not FailureKind.UNREACHABLE:
        return ""
    return f" (the address that broker {peer.node.node_id} advertises: see its advertised.listeners)"


def _purpose(request: Request) -> _Purpose:
    """The purpose of a request to the coordinator."""
    if isinstance(request, JoinGroup | SyncGroup):
        return _Purpose.REBALANCE
    # The last push comes after all other requests, and takes the connection that is open: the transport is closed next.
    is_metrics = isinstance(request, PushTelemetry) and not request.terminating
    return _Purpose.METRICS if is_metrics else _Purpose.COORDINATOR


def _user(security: Security) -> str | None:
    return security.sasl.username if security.sasl else None


def _is_refused(completion: Completion) -> bool:
    return isinstance(completion, Answered) and isinstance(completion.response, Refused)


def _matches(peer: _Peer, to: Node | None) -> bool:
    return peer.is_bootstrap if to is None else peer.node == to and not peer.is_bootstrap


def _interest(connection: Connection) -> int:
    return selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.wants_to_write else 0)


_loading = threading.Lock()
# A child that is forked while a thread imports modules would wait for that thread, which it does not have.
os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


def _deliver(
    attempt: Attempt, link: _ConnectionSlot, mailbox: Mailbox[tuple[_ConnectionSlot, Connection | OpenFailed]]
) -> None:
    """Run a connecting thread. It holds the mailbox and not the transport, which may be closed meanwhile."""
    outcome: Connection | OpenFailed
    try:
        with _loading:
            from membership_client.net.connecting import connect  # noqa: PLC0415 - takes long, and no caller waits here

        outcome = connect(attempt)
    except OpenFailed as failed:
        outcome = failed
    except Exception as error:  # noqa: BLE001 - the requests that wait for the connection must end
        outcome = _unreachable(link, error)
    if attempt.held is not None and isinstance(outcome, OpenFailed):
        attempt.held.close()
    if not mailbox.put((link, outcome)) and not isinstance(outcome, OpenFailed):
        outcome.close()


def _unreachable(link: _ConnectionSlot, error: Exception) -> OpenFailed:
    return OpenFailed(FailureKind.UNREACHABLE, f"cannot connect to {link.peer.node}: {error!r}")
