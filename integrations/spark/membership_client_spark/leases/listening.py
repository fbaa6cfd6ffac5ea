"""The socket on which the driver listens for its slots, for IPv4 and IPv6 alike."""

from __future__ import annotations

import contextlib
import socket

from membership_client_spark.errors import SparkSettingsError

_BACKLOG = 1024
"""Connections that may wait in the kernel, at no cost to the driver. All slots may start at the same moment."""


def listening_socket(host: str) -> socket.socket:
    """On a free port, not blocking. SparkSettingsError if this process cannot listen on `host`."""
    try:
        return _listening(host)
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be written for a name server.
        raise SparkSettingsError(
            f"The driver cannot listen for its slots on {host!r} ({error}). Set spark.driver.bindAddress to an address "
            "of this machine, and spark.driver.host to one at which executors reach it."
        ) from error


def _listening(host: str) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    with contextlib.ExitStack() as on_failure:
        listening = on_failure.enter_context(socket.socket(family, socket.SOCK_STREAM))
        if family == socket.AF_INET6:
            # As Java does: on :: the driver accepts IPv4 and IPv6.
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
        on_failure.pop_all()
    return listening
