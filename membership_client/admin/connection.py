"""How an administrator reaches a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from membership_client.config import parse_bootstrap
from membership_client.errors import ConfigError
from membership_client.security import PLAINTEXT, Security, split_security
from membership_client.types import Node

_KEYS = ("bootstrap.servers", "client.id", "request.timeout.ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    bootstrap: tuple[Node, ...]
    client_id: str
    timeout_s: float
    security: Security = PLAINTEXT

    @classmethod
    def of(cls, config: str | Mapping[str, Any], *, client_id: str, timeout_s: float) -> Connection:
        """From `host:port,...`, or from librdkafka's keys, which win over the arguments. ConfigError for any other key."""
        given = {"bootstrap.servers": config} if isinstance(config, str) else config
        security, rest = split_security(given)
        rest = {key.replace("_", "."): value for key, value in rest.items()}
        if unknown := sorted(rest.keys() - set(_KEYS)):
            raise ConfigError(
                f"{', '.join(unknown)}: of no use to an administrator, who takes {', '.join(_KEYS)} and security keys."
            )
        if "bootstrap.servers" not in rest:
            raise ConfigError("bootstrap.servers must be set.")
        return cls(
            bootstrap=parse_bootstrap(rest["bootstrap.servers"]),
            client_id=str(rest.get("client.id", client_id)),
            timeout_s=_seconds(rest.get("request.timeout.ms"), timeout_s),
            security=security,
        )


def _seconds(milliseconds: object, default_s: float) -> float:
    """Properties files have numbers as text."""
    if milliseconds is None:
        return default_s
    if not str(milliseconds).isdecimal() or int(str(milliseconds)) == 0:
        raise ConfigError(f"request.timeout.ms must be a positive whole number, not {milliseconds!r}.")
    return int(str(milliseconds)) / 1000
