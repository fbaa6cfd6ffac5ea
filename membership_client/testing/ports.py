"""Picks TCP ports on which no process listens."""

from __future__ import annotations

import contextlib
import random
import socket

# Below the range systems take outgoing connections from, so a stopped broker's port is still free when it restarts.
_CANDIDATES = range(20_000, 30_000)


def free_ports(count: int) -> list[int]:
    """`count` different ports, free on 127.0.0.1 at this moment. Another process may still be faster."""
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
