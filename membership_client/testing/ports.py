"""Picks TCP ports on which no process listens."""

from __future__ import annotations

import contextlib
import random
import socket

# Systems take ports of outgoing connections from above this range, so a stopped broker's port stays free until it restarts.
_CANDIDATES = range(20_000, 30_000)


def free_ports(count: int) -> list[int]:
    """`count` different ports that are free on 127.0.0.1 now. Another process may take one before the caller does."""
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        for port in random.sample(_CANDIDATES, len(_CANDIDATES)):
            if len(ports) == count:
                break
            probe = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                ports.append(port)
    return ports
