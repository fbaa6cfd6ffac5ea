"""HTTP whose answers are complete in time, or fail: a token endpoint may send a byte now and then for ever.

Loaded only where it is used.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import urllib.request
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

TIMEOUT_S = 10.0
"""For the connection, and then for the whole answer. The timeout of a socket counts anew with each byte."""


def new_opener(context: ssl.SSLContext) -> urllib.request.OpenerDirector:
    """Follows no redirects. `context` is changed: it belongs to the opener from now on."""
    context.sslsocket_class = _TlsSocket
    return urllib.request.build_opener(_NoRedirects, _PlainHandler, urllib.request.HTTPSHandler(context=context))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The client's secret is for the endpoint that was configured, and for no other that it names."""

    def redirect_request(self, *_: object) -> None:
        return None


class _PlainSocket(socket.socket):
    _ends_at: float | None = None

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0, /) -> int:
        self._ends_at = _wait_until(self, self._ends_at)
        return super().recv_into(buffer, nbytes, flags)


class _TlsSocket(ssl.SSLSocket):
    _ends_at: float | None = None

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        self._ends_at = _wait_until(self, self._ends_at)
        return super().recv_into(buffer, nbytes, flags)


def _wait_until(reading: socket.socket, ends_at: float | None) -> float:
    """Lets the next read wait for what is left of the time, which begins with the first. TimeoutError if none is left."""
    now = time.monotonic()
    ends_at = now + TIMEOUT_S if ends_at is None else ends_at
    if now >= ends_at:
        raise TimeoutError(f"the answer was not complete within {TIMEOUT_S:g} s")
    reading.settimeout(ends_at - now)
    return ends_at


class _PlainConnection(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = _PlainSocket(fileno=self.sock.detach())
        self.sock.settimeout(TIMEOUT_S)


class _PlainHandler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_PlainConnection, req)
