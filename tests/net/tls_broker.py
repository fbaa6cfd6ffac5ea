"""Scripts of brokers that speak TLS, with certificates made for the test."""

from __future__ import annotations

import contextlib
import datetime as dt
import ssl
from collections.abc import Callable
from typing import Any

import trustme

from membership_client.security import Security
from tests.net.scripted_broker import Peer

AUTHORITY = trustme.CA()


def trusting(authority: trustme.CA = AUTHORITY, **more: Any) -> Security:
    """A client that trusts this authority."""
    pem = authority.cert_pem.bytes().decode()
    return Security.from_dict({"security.protocol": "ssl", "ssl.ca.pem": pem, **more})


def server_context(
    *names: str, not_before: dt.datetime | None = None, not_after: dt.datetime | None = None
) -> ssl.SSLContext:
    """Of a server with a certificate for these names, or for the address at which scripted brokers listen."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(*(names or ("127.0.0.1",)), not_before=not_before, not_after=not_after).configure_cert(context)
    return context


def over_tls(script: Callable[[Peer], None], context: ssl.SSLContext | None = None) -> Callable[[Peer], None]:
    """The same script after a handshake; one that fails ends it."""
    chosen = context or server_context()

    def secured(peer: Peer) -> None:
        with contextlib.closing(peer.secure(chosen)):
            script(peer)

    return secured
