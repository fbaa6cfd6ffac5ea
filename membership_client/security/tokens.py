"""Tokens for OAUTHBEARER: a cache that renews them, the application's `oauth_cb` as a source, and tokens without a signature."""

from __future__ import annotations

import base64
import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeGuard

from membership_client.errors import ConfigError
from membership_client.security.secret import Secret
from membership_client.values import dataclass

_REFRESH_AT = 0.8
"""A token is replaced after this part of its lifetime, as in librdkafka."""
_LAST_S = 2.0
"""A token with less time left is not used, because a broker's clock may be ahead, and would refuse it."""
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class TokenError(Exception):
    """There is no token now; a later attempt may get one. The text shows no secret."""


def is_bearer(text: object) -> TypeGuard[str]:
    """True for visible ASCII: other characters could end the message that carries the token."""
    return isinstance(text, str) and text != "" and text.isascii() and text.isprintable() and " " not in text


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    text: Secret
    life_s: float
    """Lifetime in seconds, counted from the request for the token."""
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
    """Seconds since boot, including time in which the machine was suspended, if the system has such a clock."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class TokenCache:
    """One token for all connections of a Security; fetches a new one before it expires.

    For threads that may block. It has no lock: two threads may fetch at the same time, which does no harm, and a forked
    child inherits no locked lock.
    """

    __slots__ = ("_clock", "_error", "_fetch", "_fetcher", "_kept", "_proven")

    def __init__(self, fetch: Callable[[], Token], clock: Callable[[], float] = boot_time) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept: _Kept | None = None
        self._proven: _Kept | None = None
        self._fetcher: threading.Thread | None = None
        self._error: Exception | None = None

    def token(self, within_s: float) -> Token:
        """A valid token: a new one, or the old one if there is no new one in time. Raises TokenError."""
        old = self._kept
        if old is not None and old.is_young(self._clock()):
            return old.token
        is_late = self._renew(within_s)
        new = self._kept
        if new is not None and (new is not old or new.left_s(self._clock()) > _LAST_S):
            return new.token
        if self._error is not None and not is_late:
            raise self._error
        raise TokenError(f"oauth_cb, or the token endpoint, has not answered within {within_s:.3g} s")

    def accepted(self) -> None:
        """Note that a broker accepted the token."""
        self._proven = self._kept

    def forget(self) -> bool:
        """Drop the token, because a broker refused it. True if a broker had accepted it before, so that it has expired."""
        refused, self._kept = self._kept, None
        return refused is not None and refused is self._proven

    def _renew(self, within_s: float) -> bool:
        """Fetch a token on another thread and wait for it. True if the fetch has not ended after `within_s`.

        `fetch` may never return. Then callers wait no longer than this, and no second thread is started.
        In a forked child the parent's thread is not alive.
        """
        fetcher = self._fetcher
        if fetcher is None or not fetcher.is_alive():
            fetcher = self._fetcher = threading.Thread(target=self._run, name="membership-token", daemon=True)
            fetcher.start()
        fetcher.join(within_s)
        return fetcher.is_alive()

    def _run(self) -> None:
        asked_at = self._clock()
        try:
            self._kept = _Kept(self._fetch(), asked_at)
        except Exception as error:  # noqa: BLE001 - `token` raises it
            self._error = error


@dataclass(frozen=True, slots=True)
class CallbackTokens:
    """Calls the application's `oauth_cb` as confluent-kafka does.

    The callback takes `sasl.oauthbearer.config` and returns `(token, expires_at)`, optionally followed by a principal,
    which is ignored because brokers find it in the token, and a mapping of extensions.
    """

    callback: Callable[[str], Any]
    config: Secret | None = None
    """Held as a Secret, because applications put the client's secret into it."""

    def __call__(self) -> Token:
        # The time of day is read just before the callback reads it, because the clock may be set later.
        now = time.time()
        try:
            text, expires_at, *more = self.callback(self.config.reveal() if self.config else "")
            extensions = dict(more[1] or {}) if len(more) > 1 else {}
            life_s = float(expires_at) - now
        except Exception as error:  # noqa: BLE001 - the application's code may raise anything
            # The text is left out: errors of identity providers' clients may quote a secret.
            raise TokenError(f"oauth_cb returned no (token, expiry): {type(error).__name__}") from None
        if not is_bearer(text) or math.isnan(life_s):
            raise TokenError(
                "oauth_cb returned no (token, expiry): it needs a string of visible ASCII characters, and a number"
            )
        return Token(text=Secret(text), life_s=life_s, extensions=extensions)


# --- tokens without a signature (RFC 7515, A.5), as librdkafka makes them for tests ----------------------------------


_KEY = "sasl.oauthbearer.config"
_EXTENSION = "extension_"
_NAMES = ("principal", "principalClaimName", "scope", "scopeClaimName", "lifeSeconds")


def unsecured_tokens(config: str) -> Callable[[], Token]:
    """The source for `principal=alice lifeSeconds=600 ...`, separated by spaces. Raises ConfigError, which shows no value."""
    said = dict(_pair(part) for part in config.split(" ") if part)
    if "principal" not in said:
        raise ConfigError(f"{_KEY} has no principal=..., which enable.sasl.oauthbearer.unsecure.jwt needs.")
    life_s = _life_s(said.get("lifeSeconds", "3600"))
    extensions = {name.removeprefix(_EXTENSION): text for name, text in said.items() if name.startswith(_EXTENSION)}

    def make() -> Token:
        return Token(text=Secret(_token(said, life_s)), life_s=float(life_s), extensions=extensions)

    return make


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    is_known = name in _NAMES or (name.startswith(_EXTENSION) and name.removeprefix(_EXTENSION).isalpha())
    if not equals or not value or not is_known:
        raise ConfigError(
            f"{_KEY} must be {', '.join(f'{name}=...' for name in _NAMES)} or {_EXTENSION}NAME=..., separated by spaces."
        )
    return name, value


def _life_s(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]) < 2**31:
        raise ConfigError(f"{_KEY}: lifeSeconds must be a whole number from 1 to 2**31 - 1.")
    return int(text)


def _token(said: Mapping[str, str], life_s: int) -> str:
    # In whole seconds, because brokers round a fraction up, and refuse a token from the future.
    now = int(time.time())
    scope = list(dict.fromkeys(part for part in said.get("scope", "").split(",") if part))
    claims = {
        said.get("principalClaimName", "sub"): said["principal"],
        "iat": now,
        "exp": now + life_s,
        **({said.get("scopeClaimName", "scope"): scope} if scope else {}),
    }
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def _encoded(content: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
