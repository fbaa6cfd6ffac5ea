"""HTTP with a time limit for the whole answer, because a token endpoint may send single bytes without end.

Imported only when a configuration needs it.
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
"""Limit for the connection, and again for the whole answer. A socket's own timeout restarts with each byte."""


def new_opener(context: ssl.SSLContext) -> urllib.request.OpenerDirector:
    """An opener that follows no redirects. Changes `context`, which belongs to the opener from now on."""
    context.sslsocket_class = _TlsSocket
    return urllib.request.build_opener(_NoRedirects, _PlainHandler, urllib.request.HTTPSHandler(context=context))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the client's secret must reach the configured endpoint only."""

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
    """Give the next read the rest of the time, which starts with the first read. TimeoutError if no time is left."""
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
