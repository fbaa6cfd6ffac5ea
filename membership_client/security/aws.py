"""Tokens of AWS: STS signs who the process is (GetWebIdentityToken), through the package boto3. Loaded only where it is used."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from membership_client.errors import ConfigError
from membership_client.security.optional_library import require_library
from membership_client.security.secret import Secret
from membership_client.security.tokens import Token, TokenError, is_bearer

_KEY = "sasl.oauthbearer.config"
_TAG = "tag_"
_ALGORITHMS = ("ES384", "RS256")
_NAMES = ("region", "audience", "duration_seconds", "signing_algorithm", "sts_endpoint", "aws_debug")
_MOST_TAGS = 50
_CODE = re.compile(r"[A-Za-z0-9.]{1,64}")
"""Other text is not shown: an endpoint chooses it."""


def aws_tokens(said: Mapping[str, str], extensions: Mapping[str, str]) -> Callable[[], Token]:
    """From the pairs of sasl.oauthbearer.config, which are confluent-kafka's. ConfigError."""
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
        """A new token. Blocks; raises TokenError, with the type of what boto3 raised, and the code of AWS."""
        now = time.time()
        try:
            answer = self._ask()
            text, life_s = answer["WebIdentityToken"], answer["Expiration"].timestamp() - now
        except TokenError:
            raise
        except Exception as error:  # noqa: BLE001 - it is another library's, and its text may quote credentials
            raise TokenError(f"AWS STS gave no token: {type(error).__name__}{_code_of(error)}") from None
        if not is_bearer(text):
            raise TokenError("AWS STS gave no token: what it gave can be no bearer token")
        return Token(text=Secret(text), life_s=life_s, extensions=self.extensions)

    def _ask(self) -> dict[str, Any]:
        import boto3  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional package

        more = {} if self.endpoint is None else {"endpoint_url": self.endpoint}
        # A new session every time: one must not be shared by threads, and a token lasts for minutes.
        client = boto3.Session(region_name=self.region).client("sts", region_name=self.region, **more)
        if not hasattr(client, "get_web_identity_token"):
            raise TokenError("AWS STS gave no token: boto3 is older than 1.42.25, the first that can ask for one")
        tags = [{"Key": name, "Value": value} for name, value in self.tags.items()]
        answer: dict[str, Any] = client.get_web_identity_token(
            Audience=[self.audience],
            SigningAlgorithm=self.algorithm,
            DurationSeconds=self.duration_s,
            **({"Tags": tags} if tags else {}),
        )
        return answer


def _code_of(error: Exception) -> str:
    """AWS's code, such as AccessDenied, after a comma. Errors of the network have a response that is None."""
    try:
        code = error.response["Error"]["Code"]  # type: ignore[attr-defined]
    except (AttributeError, LookupError, TypeError):
        return ""
    return f", {code}" if isinstance(code, str) and _CODE.fullmatch(code) else ""
