"""TLS on a connected socket, and what its errors mean. Loaded only where there is TLS."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

from membership_client.core.events import FailureKind
from membership_client.net.channel import HungUp, time_left
from membership_client.security.settings import Tls
from membership_client.security.tls_context import context_of

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_EXPIRED, _NOT_YET_VALID = 10, 9
_OTHER_HOST = frozenset({62, 64})
_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})


class _Socket(ssl.SSLSocket):
    """Raises BlockingIOError where it would block, as a socket without TLS does."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        try:
            return super().recv(buflen, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        try:
            return super().send(data, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None


def handshake(connected: socket.socket, host: str, tls: Tls, deadline: float) -> ssl.SSLSocket:
    """Shake hands, and return the socket under TLS. The host's name is sent and checked. Blocks until the deadline; closes nothing.

    Raises:
        OSError: see `explain`.
        ConfigError: a file of certificates or keys cannot be read.
    """
    context = context_of(tls)
    context.sslsocket_class = _Socket
    wrapped = context.wrap_socket(connected, server_hostname=host, do_handshake_on_connect=False)
    try:
        wrapped.settimeout(time_left(deadline))
        wrapped.do_handshake()
    except BaseException:
        wrapped.close()
        raise
    return wrapped


def explain(error: OSError) -> tuple[FailureKind, str]:
    """The kind of the error, and a clause that follows the broker's address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return FailureKind.UNTRUSTED, f"has a certificate that {_flaw(error)}"
    reason = error.reason or "" if isinstance(error, ssl.SSLError) else ""
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        return FailureKind.AUTHENTICATION, f"does not accept our certificate, or wants one ({_words(reason)})"
    if reason in _NOT_TLS:
        return FailureKind.NOT_KAFKA, "does not speak TLS: is security.protocol right?"
    if isinstance(error, HungUp):
        return FailureKind.UNREACHABLE, "closed the connection after the TLS handshake: does it want our certificate?"
    if isinstance(error, ssl.SSLEOFError | ConnectionResetError | BrokenPipeError):
        return (
            FailureKind.UNREACHABLE,
            "broke off the TLS handshake: is it a plain-text port, or does it want our certificate?",
        )
    return FailureKind.UNREACHABLE, f"cannot be reached: {_words(reason) if reason else error}"


def _flaw(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code == _EXPIRED:
        return "has expired"
    if error.verify_code == _NOT_YET_VALID:
        return "is not valid yet: is this machine's clock right?"
    if error.verify_code in _OTHER_HOST:
        return f"is for another host ({error.verify_message.rstrip('.')})"
    return f"no authority we trust has signed: check ssl.ca.location ({error.verify_message})"


def _words(reason: str) -> str:
    return reason.replace("_", " ").lower()
