"""Tokens from AWS STS (GetWebIdentityToken), through the package boto3. Imported only when a configuration needs it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from membership_client.errors import ConfigError
from membership_client.security.keys import require_library
from membership_client.security.secret import Secret
from membership_client.security.tokens import Token, TokenError, is_bearer

_KEY = "sasl.oauthbearer.config"
_TAG = "tag_"
_ALGORITHMS = ("ES384", "RS256")
_NAMES = ("region", "audience", "duration_seconds", "signing_algorithm", "sts_endpoint", "aws_debug")
_MOST_TAGS = 50
_CODE = re.compile(r"[A-Za-z0-9.]{1,64}")
"""The form of AWS error codes. Other text of the endpoint is not shown, because it may contain anything."""


def aws_tokens(said: Mapping[str, str], extensions: Mapping[str, str]) -> Callable[[], Token]:
    """The source of tokens for sasl.oauthbearer.config, whose names are confluent-kafka's. Raises ConfigError."""
    require_library("boto3", "aws", "sasl.oauthbearer.metadata.authentication.type=aws_iam")
    tags = {name.removeprefix(_TAG): value for name, value in said.items() if name.startswith(_TAG)}
    unknown = [name for name in said if name not in _NAMES and not name.startswith(_TAG)]
    if unknown or "" in tags or len(tags) > _MOST_TAGS:
        raise ConfigError(
            f"{_KEY} takes {', '.join(_NAMES)} and up to {_MOST_TAGS} of {_TAG}NAME, separated by commas."
        )
    if missing := [name for name in ("region", "audience") if not said.get(name)]:
        raise ConfigError(
            f"{_KEY} must have {' and '.join(missing)}: aws_iam needs {'it' if len(missing) == 1 else 'them'}."
        )
    return AwsTokens(
        region=said["region"],
        audience=said["audience"],
        duration_s=_duration_s(said.get("duration_seconds", "300")),
        algorithm=_algorithm(said.get("signing_algorithm", "ES384")),
        endpoint=said.get("sts_endpoint"),
        tags=tags,
        extensions=extensions,
    )


def _duration_s(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 60 <= int(text[:12]) <= 3600:
        raise ConfigError(f"{_KEY}: duration_seconds must be a whole number from 60 to 3600.")
    return int(text)


def _algorithm(text: str) -> str:
    if text not in _ALGORITHMS:
        raise ConfigError(f"{_KEY}: signing_algorithm must be one of {', '.join(_ALGORITHMS)}.")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsTokens:
    region: str
    audience: str
    duration_s: int = 300
    algorithm: str = "ES384"
    endpoint: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    extensions: Mapping[str, str] = field(default_factory=dict)

    def __call__(self) -> Token:
        """A new token. Blocks. Raises TokenError, with the type of boto3's exception and AWS's error code."""
        now = time.time()
        try:
            answer = self._ask()
            text, life_s = answer["WebIdentityToken"], answer["Expiration"].timestamp() - now
        except TokenError:
            raise
        except Exception as error:  # noqa: BLE001 - boto3 raises many types, and some texts quote credentials
            raise TokenError(f"AWS STS gave no token: {type(error).__name__}{_code_of(error)}") from None
        if not is_bearer(text):
            raise TokenError("AWS STS gave no token: its answer is not a bearer token")
        return Token(text=Secret(text), life_s=life_s, extensions=self.extensions)

    def _ask(self) -> dict[str, Any]:
        import boto3  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional package

        more = {} if self.endpoint is None else {"endpoint_url": self.endpoint}
        # A new session for each token: threads must not share a session, and a token lasts for minutes.
        client = boto3.Session(region_name=self.region).client("sts", region_name=self.region, **more)
        if not hasattr(client, "get_web_identity_token"):
            raise TokenError("AWS STS gave no token: it needs boto3 1.42.25 or newer")
        tags = [{"Key": name, "Value": value} for name, value in self.tags.items()]
        answer: dict[str, Any] = client.get_web_identity_token(
            Audience=[self.audience],
            SigningAlgorithm=self.algorithm,
            DurationSeconds=self.duration_s,
            **({"Tags": tags} if tags else {}),
        )
        return answer


def _code_of(error: Exception) -> str:
    """A comma and AWS's error code, such as AccessDenied; empty without a code, as in network errors."""
    try:
        code = error.response["Error"]["Code"]  # type: ignore[attr-defined]
    except (AttributeError, LookupError, TypeError):
        return ""
    return f", {code}" if isinstance(code, str) and _CODE.fullmatch(code) else ""
