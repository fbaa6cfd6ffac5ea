"""The addresses of `bootstrap.servers`, as librdkafka writes them."""

from __future__ import annotations

import re

from membership_client.arguments import checked_text, shown
from membership_client.errors import ConfigError
from membership_client.types import Node

_DEFAULT_PORT = 9092
_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_PORT = re.compile(r"[0-9]{1,5}")
_HOST = re.compile(r"[^\s/@\[\]]{1,255}")


def parse_bootstrap(servers: str, protocol: str | None = None) -> tuple[Node, ...]:
    """Each is `host`, `host:port`, `[ipv6]:port` or one of these after `PROTOCOL://`; the port is 9092 unless it is given.

    `protocol` is what security.protocol says; None if that is not known yet.

    Raises:
        ConfigError: there is no address, one cannot be read, or one names another protocol than `protocol`.
    """
    checked_text("bootstrap.servers", servers)
    nodes = tuple(_parse_entry(entry.strip(), protocol) for entry in servers.split(",") if entry.strip())
    if not nodes:
        raise ConfigError(f"bootstrap.servers: {shown(servers)} has no host:port in it.")
    return nodes


def _parse_entry(entry: str, protocol: str | None) -> Node:
    if "@" in entry:
        # Not shown: what stands before an @ may be a password.
        raise ConfigError(
            "bootstrap.servers: an address is host:port, without a user: sasl.username says who connects."
        )
    scheme, separator, address = entry.rpartition("://")
    if separator:
        _check_scheme(scheme.lower(), protocol)
        address = address.partition("/")[0]  # As librdkafka has it, a path is passed over.
    return _parse_address(address, entry)


def _check_scheme(scheme: str, protocol: str | None) -> None:
    if scheme not in _PROTOCOLS:
        raise ConfigError(f"bootstrap.servers: {shown(scheme)} is none of the protocols {', '.join(_PROTOCOLS)}.")
    if protocol is not None and scheme != protocol:
        raise ConfigError(
            f"bootstrap.servers names the protocol {scheme}, and security.protocol is {protocol}: set it to {scheme}, or "
            "leave the protocol out of the address."
        )


def _parse_address(address: str, entry: str) -> Node:
    """A colon stands before a port, unless there are several of them and no brackets: then it is an IPv6 address."""
    host, colon, port = address.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        host, port = address, str(_DEFAULT_PORT)
    host = host.removeprefix("[").removesuffix("]") or "localhost"
    if not _HOST.fullmatch(host) or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        raise ConfigError(f"bootstrap.servers: {shown(entry)} is not host:port.")
    return Node(host, int(port))
