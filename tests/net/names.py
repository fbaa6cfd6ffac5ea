"""Host names with the addresses that a test gives them."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from membership_client.types import Node


def resolve_to(monkeypatch: pytest.MonkeyPatch, name: str, *addresses: Node) -> None:
    """In this process `name` has these addresses, in this order; every other name has its own."""
    known = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **more: Any) -> Any:
        if host != name:
            return known(host, *args, **more)
        return [found for node in addresses for found in known(node.host, node.port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
