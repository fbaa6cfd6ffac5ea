"""Questions to brokers from outside a group: one at a time, each answered, or an error within its time."""

from __future__ import annotations

import itertools
import time

import tenacity

from membership_client.config import parse_bootstrap
from membership_client.core.error_codes import Code, code_name
from membership_client.core.events import (
    Answered,
    CoordinatorFound,
    Failed,
    FindCoordinator,
    Refused,
    Request,
    Response,
    Send,
)
from membership_client.errors import ConnectionProblem, GroupAuthorizationError, MembershipError
from membership_client.net import BrokerTransport
from membership_client.types import Node

_PASSING = frozenset(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.NOT_COORDINATOR,
        Code.REQUEST_TIMED_OUT,
    }
)


class _AgainError(Exception):
    """This attempt came to nothing, and another may do better."""


class Asker:
    """Belongs to one thread. Connections stay open until `close`."""

    def __init__(self, bootstrap_servers: str, *, client_id: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._ids = itertools.count(1)
        self._transport = BrokerTransport(
            parse_bootstrap(bootstrap_servers), client_id=client_id, connect_timeout_s=timeout_s
        )

    def ask_coordinator(self, group_id: str, request: Request) -> Response:
        """Its answer, also if that is a refusal for good; ConnectionProblem if there was none in time."""
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_AgainError),
            stop=tenacity.stop_after_delay(self._timeout_s),
            wait=tenacity.wait_random_exponential(multiplier=0.05, max=1.0),
        )
        try:
            return retrying(self._ask_coordinator_once, group_id, request)
        except tenacity.RetryError as gave_up:
            why = gave_up.last_attempt.exception()
            raise ConnectionProblem(f"Given up after {self._timeout_s:g} s: {why}") from why

    def close(self) -> None:
        self._transport.close()

    def _ask_coordinator_once(self, group_id: str, request: Request) -> Response:
        found = self._ask(FindCoordinator(group_id=group_id), None)
        if not isinstance(found, CoordinatorFound):
            raise _refusal(found, group_id)
        return self._ask(request, found.node)

    def _ask(self, request: Request, to: Node | None) -> Response:
        request_id, deadline = next(self._ids), time.monotonic() + self._timeout_s
        self._transport.send(Send(request_id, to, request))
        while (left_s := deadline - time.monotonic()) > 0:
            for outcome in self._transport.wait(left_s):
                if outcome.request_id == request_id:
                    return _answer(outcome)
        self._transport.disconnect(to)
        raise _AgainError(f"{to or 'no bootstrap broker'} did not answer.")


def _answer(outcome: Answered | Failed) -> Response:
    if isinstance(outcome, Failed):
        raise _AgainError(outcome.detail)
    if isinstance(outcome.response, Refused) and outcome.response.code in _PASSING:
        raise _AgainError(f"{code_name(outcome.response.code)}.")
    return outcome.response


def _refusal(response: Response, group_id: str) -> Exception:
    code = response.code if isinstance(response, Refused) else Code.UNKNOWN_SERVER_ERROR
    if code == Code.GROUP_AUTHORIZATION_FAILED:
        return GroupAuthorizationError(f"Access to group {group_id} is denied.")
    return MembershipError(f"The coordinator of group {group_id} cannot be found: {code_name(code)}.")
