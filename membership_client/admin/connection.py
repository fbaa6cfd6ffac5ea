"""Configuration of an administrator's connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from membership_client.arguments import MOST_INT32, checked_text, checked_timeout_s, shown, whole_from, with_dots
from membership_client.bootstrap import parse_bootstrap
from membership_client.config import checked_milliseconds
from membership_client.errors import ConfigError
from membership_client.security import PLAINTEXT, Security, split_security
from membership_client.security.weaknesses import warn_of_weaknesses
from membership_client.types import Node

_LONGEST_TIMEOUT_S = MOST_INT32 / 1000
"""The largest request.timeout.ms; epoll accepts no larger value either."""
_KEYS = ("bootstrap.servers", "client.id", "request.timeout.ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConnection:
    bootstrap: tuple[Node, ...]
    client_id: str
    timeout_s: float
    security: Security = PLAINTEXT

    @classmethod
    def of(cls, config: str | Mapping[str, Any], *, client_id: str, timeout_s: float) -> AdminConnection:
        """From `host:port,...`, or from librdkafka's keys, which win over the arguments. ConfigError for any other key."""
        given = {"bootstrap.servers": config} if isinstance(config, str) else config
        security, rest = split_security(given)
        rest = with_dots(rest, _KEYS)
        if unknown := sorted(rest.keys() - set(_KEYS)):
            raise ConfigError(
                f"{', '.join(map(shown, unknown))}: not used by GroupAdmin, which takes {', '.join(_KEYS)} and "
                "the security keys."
            )
        warn_of_weaknesses(security)
        if "bootstrap.servers" not in rest:
            raise ConfigError("bootstrap.servers must be set.")
        return cls(
            bootstrap=parse_bootstrap(rest["bootstrap.servers"], security.protocol),
            client_id=checked_text(
                "client.id", client_id if rest.get("client.id") in (None, "") else rest["client.id"]
            ),
            timeout_s=_seconds(rest.get("request.timeout.ms"), timeout_s),
            security=security,
        )


def _seconds(milliseconds: object, default_s: object) -> float:
    """The timeout in seconds. Numbers in properties files are text."""
    if milliseconds is None:
        return _checked(default_s)
    return checked_milliseconds("request.timeout.ms", whole_from(milliseconds)) / 1000


def _checked(timeout_s: object) -> float:
    seconds = checked_timeout_s(timeout_s)
    if not seconds:
        raise ConfigError(f"timeout_s must be a positive number of seconds, not {shown(timeout_s)}.")
    return min(seconds, _LONGEST_TIMEOUT_S)
