"""Tokens without a signature (RFC 7515, A.5), as librdkafka makes them for tests. Imported only when needed."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from membership_client.errors import ConfigError
from membership_client.security.secret import Secret
from membership_client.security.tokens import Token

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
    # Whole seconds: brokers round a fraction up, and then refuse a token from the future.
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
