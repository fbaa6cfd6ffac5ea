"""Requests of an administrator to brokers: one at a time, each with an answer or an error before its timeout."""

from __future__ import annotations

import itertools
import os
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import tenacity

from membership_client.admin.errors import NoAnswerError, UnsupportedByBrokerError, error_name, expect
from membership_client.arguments import (
    MOST_INT32,
    checked_text,
    checked_timeout_s,
    is_unset,
    shown,
    whole_from,
    with_dots,
)
from membership_client.config import checked_milliseconds, parse_bootstrap
from membership_client.core.error_codes import COORDINATOR_AWAY, Code
from membership_client.core.events import (
    Answered,
    CoordinatorFound,
    Failed,
    FailureKind,
    FindCoordinator,
    Refused,
    Request,
    Response,
    Send,
)
from membership_client.errors import AuthenticationError, CertificateError, ConfigError, MemberClosedError
from membership_client.net import BrokerTransport
from membership_client.net.admin_requests import LeadersLocated, LocateLeaders
from membership_client.security import PLAINTEXT, Security, split_security
from membership_client.security.settings import warn_of_weaknesses
from membership_client.types import Node

T = TypeVar("T")

PASSING = COORDINATOR_AWAY | {Code.REQUEST_TIMED_OUT, Code.THROTTLING_QUOTA_EXCEEDED}


class AgainError(Exception):
    """The attempt failed for a temporary reason, which the text names. `Asker.insist` tries again."""


class Asker:
    """Sends requests and waits for their answers, on one thread. Connections stay open until `close`; a forked child opens its own.

    Every method returns an answer, which may be a final refusal. It raises NoAnswerError after the timeout,
    UnsupportedByBrokerError at once if the brokers are too old, and MemberClosedError after `close`.
    """

    def __init__(self, connection: AdminConnection) -> None:
        self._connection = connection
        self._timeout_s = connection.timeout_s
        self._ids = itertools.count(1)
        self._coordinators: dict[str, Node] = {}
        self._transport = _transport_of(connection)
        self._closed = False
        _open.add(self)

    def as_user(self, security: Security, bootstrap: str | None) -> Asker:
        """A new Asker for another user of the cluster, at the same address unless `bootstrap` is given. The caller closes it."""
        mine = self._connection.bootstrap
        nodes = mine if bootstrap is None else parse_bootstrap(bootstrap, security.protocol)
        return Asker(replace(self._connection, security=security, bootstrap=nodes))

    def ask_coordinator(self, group_id: str, request: Request) -> Response:
        return self.insist(lambda: self.ask_coordinator_once(group_id, request))

    def ask(self, request: Request, to: Node | None = None) -> Response:
        """Send the request to the broker `to`, or to any broker if `to` is None."""
        return self.insist(lambda: self.ask_once(request, to))

    def coordinator(self, group_id: str) -> Node:
        return self.insist(lambda: self._coordinator_once(group_id))

    def leaders(self, topics: frozenset[str] = frozenset()) -> LeadersLocated:
        """All brokers, and the leaders of the partitions of these topics."""
        return expect(LeadersLocated, self.ask(LocateLeaders(topics=topics)), None, "be asked where partitions are")

    def insist(self, attempt: Callable[[], T]) -> T:
        """Call `attempt` until it raises no AgainError. NoAnswerError if the timeout passes before."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(AgainError),
            stop=tenacity.stop_after_delay(self._timeout_s),
            wait=tenacity.wait_random_exponential(multiplier=0.05, max=1.0),
        )
        try:
            return retrying(attempt)
        except tenacity.RetryError as gave_up:
            why = gave_up.last_attempt.exception()
            told = f"Given up after {self._timeout_s:g} s: {why}"
            raise NoAnswerError(told if told.endswith((".", "?")) else f"{told}.") from why

    def close(self) -> None:
        self._closed = True
        self._transport.close()

    def after_fork(self) -> None:
        """Open new connections in a forked child: two processes on one connection would read each other's answers."""
        self._transport.abandon()
        if not self._closed:
            self._transport = _transport_of(self._connection)

    def ask_coordinator_once(self, group_id: str, request: Request) -> Response:
        """Ask once. After an AgainError the next attempt looks for the coordinator again."""
        try:
            return self.ask_once(request, self._coordinator_once(group_id))
        except AgainError:
            self.forget_coordinator(group_id)
            raise

    def forget_coordinator(self, group_id: str) -> None:
        self._coordinators.pop(group_id, None)

    def _coordinator_once(self, group_id: str) -> Node:
        if group_id not in self._coordinators:
            found = self.ask_once(FindCoordinator(group_id=group_id), None)
            self._coordinators[group_id] = expect(CoordinatorFound, found, group_id, "be found a coordinator").node
        return self._coordinators[group_id]

    def ask_once(self, request: Request, to: Node | None) -> Response:
        """Ask once. AgainError if another attempt may succeed."""
        if self._closed:
            raise MemberClosedError("This GroupAdmin is closed.")
        request_id, deadline = next(self._ids), time.monotonic() + self._timeout_s
        self._transport.send(Send(request_id, to, request))
        while (left_s := deadline - time.monotonic()) > 0:
            for outcome in self._transport.wait(left_s):
                if outcome.request_id == request_id:
                    return _answer(outcome)
        self._transport.disconnect(to)
        raise AgainError(f"{to} did not answer." if to else "no bootstrap broker answered.")


_open: weakref.WeakSet[Asker] = weakref.WeakSet()


def _after_fork() -> None:
    for asker in tuple(_open):
        asker.after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _transport_of(connection: AdminConnection) -> BrokerTransport:
    return BrokerTransport(
        connection.bootstrap,
        client_id=connection.client_id,
        connect_timeout_s=connection.timeout_s,
        answer_timeout_s=connection.timeout_s,
        security=connection.security,
    )


def _answer(outcome: Answered | Failed) -> Response:
    if isinstance(outcome, Failed):
        raise _failure(outcome)
    if isinstance(outcome.response, Refused) and outcome.response.code in PASSING:
        raise AgainError(f"{error_name(outcome.response.code)}.")
    return outcome.response


def _failure(failed: Failed) -> Exception:
    """The error for a failed request: AgainError unless the same request would fail again."""
    match failed.kind:
        case FailureKind.UNSUPPORTED:
            return UnsupportedByBrokerError(f"This {failed.detail}.")
        case FailureKind.AUTHENTICATION:
            return AuthenticationError(f"{failed.detail}.")
        case FailureKind.UNTRUSTED:
            return CertificateError(f"{failed.detail}.")
        case FailureKind.UNENCODABLE:
            return ConfigError(f"{failed.detail}.")
    return AgainError(failed.detail)


# --- the configuration of the connections ----------------------------------------------------------------------------


_LONGEST_TIMEOUT_S = MOST_INT32 / 1000
"""The largest request.timeout.ms; epoll accepts no larger value either."""
_KEYS = ("bootstrap.servers", "client.id", "request.timeout.ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConnection:
    bootstrap: tuple[Node, ...]
    client_id: str
    timeout_s: float
    security: Security = PLAINTEXT

    @classmethod
    def of(cls, config: str | Mapping[str, Any], *, client_id: str, timeout_s: float) -> AdminConnection:
        """The connection for `host:port,...`, or for librdkafka's keys, which override the arguments. ConfigError for other keys."""
        given = {"bootstrap.servers": config} if isinstance(config, str) else config
        security, rest = split_security(given)
        rest = with_dots(rest, _KEYS)
        if unknown := sorted(rest.keys() - set(_KEYS)):
            raise ConfigError(
                f"{', '.join(map(shown, unknown))}: not used by GroupAdmin, which takes {', '.join(_KEYS)} and "
                "the security keys."
            )
        warn_of_weaknesses(security)
        if "bootstrap.servers" not in rest:
            raise ConfigError("bootstrap.servers must be set.")
        return cls(
            bootstrap=parse_bootstrap(rest["bootstrap.servers"], security.protocol),
            client_id=checked_text("client.id", client_id if is_unset(rest.get("client.id")) else rest["client.id"]),
            timeout_s=_seconds(rest.get("request.timeout.ms"), timeout_s),
            security=security,
        )


def _seconds(milliseconds: object, default_s: object) -> float:
    """The timeout in seconds. Numbers in properties files are text."""
    if milliseconds is None:
        return _checked(default_s)
    return checked_milliseconds("request.timeout.ms", whole_from(milliseconds)) / 1000


def _checked(timeout_s: object) -> float:
    seconds = checked_timeout_s(timeout_s)
    if not seconds:
        raise ConfigError(f"timeout_s must be a positive number of seconds, not {shown(timeout_s)}.")
    return min(seconds, _LONGEST_TIMEOUT_S)
