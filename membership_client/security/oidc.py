"""Tokens from a token endpoint, by the client-credentials flow (RFC 6749, 4.4). Loaded only where it is used."""

from __future__ import annotations

import base64
import http.client
import json
import math
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from membership_client.security.secret import Secret
from membership_client.security.tls_context import trust
from membership_client.security.tokens import Token, TokenError

_TIMEOUT_S = 10.0
_MOST_BYTES = 1_000_000
_BEARER = re.compile(r"[!-~]+")
"""Visible ASCII: anything else would end the message in which the token is sent, or begin another one."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The client's secret is for the endpoint that was configured, and for nobody that it names."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcTokens:
    url: str
    client_id: str
    client_secret: Secret
    scope: str | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    ca_location: str | None = None
    ca_pem: str | None = None

    def __call__(self) -> Token:
        """A new token. Blocks; raises TokenError."""
        now = time.time()
        try:
            with self._opener().open(self._request(), timeout=_TIMEOUT_S) as answer:
                return self._token(answer.read(_MOST_BYTES), now)
        except urllib.error.HTTPError as error:
            with error:
                self._fail(f"HTTP status {error.code}{_reason(error)}")
        except Exception as error:  # noqa: BLE001 - whatever the endpoint says, its words come out through `_fail` only
            self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, why: str) -> NoReturn:
        """An endpoint may say back to us what it was told, in either form."""
        hidden = self._identity().hide_in(self.client_secret.hide_in(why))
        raise TokenError(f"{self.url} gave no token: {hidden}") from None

    def _identity(self) -> Secret:
        return Secret(base64.b64encode(f"{self.client_id}:{self.client_secret.reveal()}".encode()).decode())

    def _opener(self) -> urllib.request.OpenerDirector:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust(context, self.ca_location, self.ca_pem, "https.ca")
        return urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))

    def _request(self) -> urllib.request.Request:
        form = {"grant_type": "client_credentials", **({"scope": self.scope} if self.scope else {})}
        headers = {"Authorization": f"Basic {self._identity().reveal()}", "Accept": "application/json"}
        return urllib.request.Request(self.url, urllib.parse.urlencode(form).encode(), headers)  # noqa: S310 - checked

    def _token(self, body: bytes, now: float) -> Token:
        answer = json.loads(body)
        if not isinstance(answer, dict):
            raise TypeError("its answer is no JSON object")
        text, expires_in = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(text, str) or not _BEARER.fullmatch(text):
            raise ValueError("its answer has no access_token, or one that no bearer token can be")
        life_s = _expiry_in(text) - now if expires_in is None else float(expires_in)
        if not math.isfinite(life_s):
            raise ValueError("its token has a life that is no number of seconds")
        return Token(text=Secret(text), life_s=life_s, extensions=self.extensions)


def _reason(error: urllib.error.HTTPError) -> str:
    """The OAuth error in the body of a refusal (RFC 6749, 5.2); empty if the body has none or cannot be read."""
    try:
        said = json.loads(error.read(_MOST_BYTES))
        return "".join(f", {said[key]}" for key in ("error", "error_description") if key in said)
    except (OSError, http.client.HTTPException, RecursionError, ValueError, TypeError):
        return ""


def _expiry_in(token: str) -> float:
    """The `exp` of a JWT, for endpoints that do not say it outside."""
    claims = token.split(".")[1]
    return float(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"])
