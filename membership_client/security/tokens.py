"""Tokens for OAUTHBEARER, and how long they last."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from membership_client.security.secret import Secret

_REFRESH_AT = 0.8
"""After this part of its life a token is replaced, as librdkafka does it."""


class TokenError(Exception):
    """There is no token at the moment. The text is for people, and holds no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    text: Secret
    expires_at: float
    """Seconds since 1970."""
    extensions: Mapping[str, str] = field(default_factory=dict)


class TokenCache:
    """One token for all connections of a Security, until it grows old.

    For threads that may block. Without a lock: two that ask at once may both fetch, which harms nobody, and a forked
    child inherits nothing that another thread holds.
    """

    __slots__ = ("_fetch", "_refresh_at", "_token")

    def __init__(self, fetch: Callable[[], Token]) -> None:
        self._fetch = fetch
        self._token: Token | None = None
        self._refresh_at = 0.0

    def token(self) -> Token:
        """An old one as long as it is good, if there is no new one. Raises what `fetch` raises: TokenError."""
        old, now = self._token, time.time()
        if old is not None and now < self._refresh_at:
            return old
        try:
            token = self._fetch()
        except TokenError:
            if old is None or now >= old.expires_at:
                raise
            return old
        self._refresh_at = now + (token.expires_at - now) * _REFRESH_AT
        self._token = token
        return token

    def forget(self) -> None:
        """The broker refused it; whoever tries again wants another one."""
        self._token = None


@dataclass(frozen=True, slots=True)
class CallbackTokens:
    """The application's `oauth_cb`, called as confluent-kafka calls it.

    It takes `sasl.oauthbearer.config` and returns `(token, expires_at)`, optionally with a principal, which brokers find
    in the token themselves, and a mapping of extensions.
    """

    callback: Callable[[str], Any]
    config: str

    def __call__(self) -> Token:
        try:
            text, expires_at, *more = self.callback(self.config)
            extensions = dict(more[1] or {}) if len(more) > 1 else {}
            return Token(text=Secret(str(text)), expires_at=float(expires_at), extensions=extensions)
        except Exception as error:  # noqa: BLE001 - it is the application's code
            # Not its text: what a client of an identity provider raises may have a secret in it.
            raise TokenError(f"oauth_cb gave no (token, expiry): {type(error).__name__}") from None
