"""Tokens for OAUTHBEARER, and how long they last."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeGuard

from membership_client.security.secret import Secret
from membership_client.values import dataclass

_REFRESH_AT = 0.8
"""After this part of its life a token is replaced, as librdkafka does it."""
_LAST_S = 2.0
"""With less than this to live a token is not shown: a broker's clock may be ahead, and its session would be over at once."""
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class TokenError(Exception):
    """There is no token at the moment. The text is for people, and holds no secret."""


def is_bearer(text: object) -> TypeGuard[str]:
    """Visible ASCII only: any other character would end the message in which a token is sent, or begin another one."""
    return isinstance(text, str) and text != "" and text.isascii() and text.isprintable() and " " not in text


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    text: Secret
    life_s: float
    """From the moment in which it was asked for."""
    extensions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Kept:
    token: Token
    since: float

    def left_s(self, now: float) -> float:
        return self.since + self.token.life_s - now

    def is_young(self, now: float) -> bool:
        return now < self.since + self.token.life_s * _REFRESH_AT


def boot_time() -> float:
    """A clock that nobody sets, and that goes on while the machine sleeps, where there is one: tokens grow old then, too."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class TokenCache:
    """One token for all connections of a Security, until it grows old.

    For threads that may block. Without a lock: two that ask at once may both fetch, which harms nobody, and a forked
    child inherits nothing that another thread holds.
    """

    __slots__ = ("_clock", "_errand", "_error", "_fetch", "_kept", "_proven")

    def __init__(self, fetch: Callable[[], Token], clock: Callable[[], float] = boot_time) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept: _Kept | None = None
        self._proven: _Kept | None = None
        self._errand: threading.Thread | None = None
        self._error: Exception | None = None

    def token(self, within_s: float) -> Token:
        """An old one as long as it is good, if there is no new one in time. Raises what `fetch` raises: TokenError."""
        old = self._kept
        if old is not None and old.is_young(self._clock()):
            return old.token
        silent = self._renew(within_s)
        new = self._kept
        if new is not None and (new is not old or new.left_s(self._clock()) > _LAST_S):
            return new.token
        if self._error is not None and not silent:
            raise self._error
        raise TokenError(f"oauth_cb, or the token endpoint, has not answered within {within_s:.3g} s")

    def accepted(self) -> None:
        """A broker took it."""
        self._proven = self._kept

    def forget(self) -> bool:
        """A broker refused it; whoever tries again wants another one. True if one had been taken before: it is too old."""
        refused, self._kept = self._kept, None
        return refused is not None and refused is self._proven

    def _renew(self, within_s: float) -> bool:
        """True if it takes longer. Whoever gives tokens may never return: then nobody has to wait, and it is not asked twice.

        In a forked child an errand of the parent's is not alive.
        """
        errand = self._errand
        if errand is None or not errand.is_alive():
            errand = self._errand = threading.Thread(target=self._run, name="membership-token", daemon=True)
            errand.start()
        errand.join(within_s)
        return errand.is_alive()

    def _run(self) -> None:
        asked_at = self._clock()
        try:
            self._kept = _Kept(self._fetch(), asked_at)
        except Exception as error:  # noqa: BLE001 - raised again where somebody waits for it
            self._error = error


@dataclass(frozen=True, slots=True)
class CallbackTokens:
    """The application's `oauth_cb`, called as confluent-kafka calls it.

    It takes `sasl.oauthbearer.config` and returns `(token, expires_at)`, optionally with a principal, which brokers find
    in the token themselves, and a mapping of extensions.
    """

    callback: Callable[[str], Any]
    config: Secret | None = None
    """People keep the client's secret in it."""

    def __call__(self) -> Token:
        # The time of day is looked at only here, next to when the callback looked at it: the clock may be set later.
        now = time.time()
        try:
            text, expires_at, *more = self.callback(self.config.reveal() if self.config else "")
            extensions = dict(more[1] or {}) if len(more) > 1 else {}
            life_s = float(expires_at) - now
        except Exception as error:  # noqa: BLE001 - it is the application's code
            # Not its text: what a client of an identity provider raises may have a secret in it.
            raise TokenError(f"oauth_cb gave no (token, expiry): {type(error).__name__}") from None
        if not is_bearer(text) or math.isnan(life_s):
            raise TokenError("oauth_cb gave no (token, expiry): a string of visible ASCII characters, and a number")
        return Token(text=Secret(text), life_s=life_s, extensions=extensions)
