"""Open a connection: resolve, connect, then one set-up step after the other, until it is ready for requests.

All of it blocks, so it runs on a thread of its own and reads from top to bottom.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kio.schema.api_versions import v0, v3

from membership_client.core.error_codes import Code
from membership_client.core.events import FailureKind
from membership_client.errors import ConfigError
from membership_client.net.channel import (
    MAX_FRAME_BYTES,
    Channel,
    Frames,
    HungUp,
    NotKafka,
    OpenFailed,
    failure_of_host,
    time_left,
)
from membership_client.net.codec import API_KEYS, Offer, frame, read_answer
from membership_client.net.connection import Connection
from membership_client.net.reader import Undecodable
from membership_client.security import PLAINTEXT, Security
from membership_client.security.tokens import TokenError

if TYPE_CHECKING:
    from membership_client.net.codec import Offer
    from membership_client.types import Node


_Target = tuple[Any, ...]
"""As `getaddrinfo` returns it: the family first, the address last."""

_KEEPALIVE = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""Options by which the system notices a dead connection after 35 s instead of two hours: a join may wait for minutes."""


def open_connection(
    address: Node,
    *,
    client_id: str,
    timeout_s: float,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    security: Security = PLAINTEXT,
    through: Callable[[socket.socket], socket.socket] | None = None,
) -> Connection:
    """Connect to a broker and prepare the connection for requests. Blocks for `timeout_s` at most, plus name resolution.

    Every address of the host is tried until one is a broker that is ready: another service may accept connections too.
    `through` may replace the connected socket, which it then closes.

    Raises:
        OpenFailed: for every reason that lies outside this process.
    """
    with _errors_as_open_failed(str(address), timeout_s, security):
        targets = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    new_channel = functools.partial(_new_channel, address, client_id, max_frame_bytes, through=through)
    failures: list[OpenFailed] = []
    for target, deadline in _in_turn(targets, time.monotonic() + timeout_s):
        who = str(address) if len(targets) == 1 else f"{address} ({target[-1][0]})"
        try:
            with _errors_as_open_failed(who, deadline - time.monotonic(), security):
                return _set_up(functools.partial(new_channel, target, deadline), deadline, security)
        except OpenFailed as failed:
            failures.append(failed)
            if failed.ours:
                break
    raise failure_of_host(failures)


def await_token(address: Node, *, timeout_s: float, security: Security) -> None:
    """Get a token, if SASL needs one, before the connection is opened: an identity provider may take long. Blocks.

    Raises:
        OpenFailed: there is no token.
    """
    if security.sasl is not None and security.sasl.tokens is not None:
        with _errors_as_open_failed(str(address), timeout_s, security):
            security.sasl.tokens.token(timeout_s)


def renew_session(connection: Connection, *, timeout_s: float, security: Security) -> Connection:
    """Authenticate again on a connection on which nothing is under way (KIP-368); if that fails the connection cannot be used any more.

    Raises:
        OpenFailed: as above.
    """
    channel = connection.channel
    with _errors_as_open_failed(str(channel.address), timeout_s, security):
        return Connection(channel, renew_at=_authenticate(channel, security, time.monotonic() + timeout_s))


@contextlib.contextmanager
def _errors_as_open_failed(address: str, timeout_s: float, security: Security) -> Iterator[None]:
    """Raise OpenFailed in place of every other error of the set-up of a connection."""
    try:
        yield
    except (NotKafka, Undecodable) as error:
        raise OpenFailed(FailureKind.NOT_KAFKA, f"{address} did not answer like a Kafka broker ({error})") from error
    except Refusal as error:
        raise OpenFailed(FailureKind.UNREACHABLE, f"{address} cannot be used: {error}") from error
    except TokenError as error:
        raise OpenFailed(FailureKind.UNREACHABLE, f"no token to show to {address}: {error}", ours=True) from error
    except ConfigError as error:
        raise OpenFailed(FailureKind.UNREACHABLE, f"cannot connect to {address}: {error}", ours=True) from error
    except TimeoutError as error:
        detail = f"{address} did not answer within {timeout_s:.3g} s"
        raise OpenFailed(FailureKind.UNREACHABLE, detail) from error
    # A host name that cannot be one is a ValueError, a port that cannot be one an OverflowError.
    except (OSError, ValueError, OverflowError) as error:
        raise OpenFailed(*_system_failure(address, error, security)) from error


def _system_failure(address: str, error: Exception, security: Security) -> tuple[FailureKind, str]:
    if security.tls is not None and isinstance(error, OSError):
        from membership_client.net import tls  # noqa: PLC0415 - loads ssl

        kind, what = tls.explain(error)
        return kind, f"{address} {what}"
    hint = ": is it a TLS port, or a proxy without a broker?" if isinstance(error, HungUp) else ""
    return FailureKind.UNREACHABLE, f"cannot connect to {address}: {error}{hint}"


def _set_up(new_channel: Callable[[], Channel], deadline: float, security: Security) -> Connection:
    try:
        return _open(new_channel(), deadline, security, NEWEST)
    except HungUp:
        # Some brokers hang up on a version of ApiVersions that is too new for them, instead of saying so.
        return _open(new_channel(), deadline, security, OLDEST)


def _open(channel: Channel, deadline: float, security: Security, version: int) -> Connection:
    """TLS first, then the versions, then authentication, which needs them."""
    try:
        if security.tls is not None:
            from membership_client.net import tls  # noqa: PLC0415 - loads ssl

            channel.socket = tls.handshake(channel.socket, channel.address.host, security.tls, deadline)
        channel.offer = _learn_versions(channel, deadline, version)
        return Connection(channel, renew_at=_authenticate(channel, security, deadline))
    except BaseException:
        channel.socket.close()
        raise


def _learn_versions(channel: Channel, deadline: float, version: int) -> Offer:
    offer = _ask_versions(channel, deadline, version)
    if offer is None:
        offer = _ask_versions(channel, deadline, OLDEST)
    return offer or {}


def _ask_versions(channel: Channel, deadline: float, version: int) -> Offer | None:
    payload = channel.exchange(
        lambda correlation_id: ask_versions(version, correlation_id, channel.client_id), deadline
    )
    return read_versions(version, payload)


def _authenticate(channel: Channel, security: Security, deadline: float) -> float | None:
    """When to authenticate again, by the monotonic clock; None for never."""
    if security.sasl is None:
        return None
    from membership_client.net import authentication  # noqa: PLC0415 - needed with SASL only

    try:
        return authentication.authenticate(channel, security.sasl, deadline)
    except authentication.Denied as denied:
        raise OpenFailed(FailureKind.AUTHENTICATION, f"{channel.address} {denied}") from None


def _in_turn(targets: Sequence[_Target], deadline: float) -> Iterator[tuple[_Target, float]]:
    """Each address with its own deadline: the remaining time is shared by those that are not tried yet."""
    for untried, target in zip(range(len(targets), 0, -1), targets, strict=True):
        now = time.monotonic()
        yield target, now + (deadline - now) / untried


def _new_channel(
    address: Node,
    client_id: str,
    max_frame_bytes: int,
    target: _Target,
    deadline: float,
    *,
    through: Callable[[socket.socket], socket.socket] | None,
) -> Channel:
    connected = _connect(target, time_left(deadline))
    return Channel(address, through(connected) if through else connected, client_id, Frames(max_frame_bytes))


def _connect(target: _Target, timeout_s: float) -> socket.socket:
    connected = socket.socket(target[0], socket.SOCK_STREAM)
    try:
        connected.settimeout(timeout_s)
        connected.connect(target[-1])
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    except BaseException:
        connected.close()
        raise
    return connected


# --- ApiVersions: the first exchange on every connection -------------------------------------------------------------


NEWEST = 3
OLDEST = 0
_API_KEY = 18
_START = struct.Struct(">ih")
_OF_USE = API_KEYS | {17, 36}
"""The APIs of our requests, SaslHandshake (17) and SaslAuthenticate (36)."""


class Refusal(Exception):  # noqa: N818 - it is an answer
    """The broker answered with this error code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"it refuses ApiVersions with error {code}")


def ask_versions(version: int, correlation_id: int, client_id: str) -> bytes:
    """The request, size prefix included. `version` is NEWEST or OLDEST."""
    if version == OLDEST:
        return frame(v0.ApiVersionsRequest(), correlation_id, client_id)
    request = v3.ApiVersionsRequest(
        client_software_name="membership-client", client_software_version=_software_version()
    )
    return frame(request, correlation_id, client_id)


def read_versions(version: int, payload: bytes) -> Offer | None:
    """Versions that the broker offers of the APIs that we use; None if it must be asked in the oldest version.

    All other APIs are dropped, because a process may hold a thousand connections.

    Raises:
        Undecodable: these bytes are no answer.
        Refusal: the broker answered with an error.
    """
    # A broker that does not know the version answers in the oldest one (KIP-511), but the error comes first in all.
    error = _error_code(payload)
    if error == Code.UNSUPPORTED_VERSION and version != OLDEST:
        return None
    if error:
        raise Refusal(error)
    offered = read_answer(_API_KEY, version, payload).api_keys
    return {api.api_key: (api.min_version, api.max_version) for api in offered if api.api_key in _OF_USE}


def _error_code(payload: bytes) -> int:
    try:
        code: int = _START.unpack_from(payload)[1]
    except struct.error as error:
        raise Undecodable("it ends before its error code does") from error
    return code


@functools.cache
def _software_version() -> str:
    try:
        version = importlib.metadata.version("membership-client")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
    # Brokers accept letters, digits, dots and dashes: not the plus sign of a local version.
    return re.sub(r"[^a-zA-Z0-9.-]", "-", version)
