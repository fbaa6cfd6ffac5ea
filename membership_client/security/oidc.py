"""Tokens from an HTTP endpoint: client credentials, signed assertions, and the identity of a virtual machine in Azure.

RFC 6749 (4.4) and RFC 7523. Imported only when a configuration needs it.
"""

from __future__ import annotations

import base64
import http.client
import json
import math
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from membership_client.cli.terminal_text import excerpt
from membership_client.errors import ConfigError
from membership_client.security.secret import Secret
from membership_client.security.tls_context import trust
from membership_client.security.tokens import Token, TokenError, is_bearer

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


_MOST_BYTES = 1_000_000
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class _UnusableError(Exception):
    """The endpoint's answer cannot be used. The text quotes nothing of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _EndpointTokens:
    """Base class of the sources in this file: an endpoint, its trusted authorities, and extensions for the broker."""

    url: str
    extensions: Mapping[str, str] = field(default_factory=dict)
    ca_location: str | None = None
    ca_pem: str | None = None

    def _fetch(
        self, request: urllib.request.Request, secrets: tuple[Secret, ...], names: tuple[str, ...] = ("access_token",)
    ) -> Token:
        """The token in the endpoint's answer. Raises TokenError, which shows none of the secrets."""
        now = time.time()
        try:
            with self._opener().open(request, timeout=TIMEOUT_S) as answer:
                return self._token(answer.read(_MOST_BYTES), now, names)
        except urllib.error.HTTPError as error:
            with error:
                self._fail(f"HTTP status {error.code}{_reason(error)}", secrets)
        except (_UnusableError, ConfigError) as error:
            self._fail(str(error), secrets)
        except OSError as error:
            self._fail(f"{type(error).__name__}: {error}", secrets)
        except Exception as error:  # noqa: BLE001 - whatever an answer causes is a TokenError
            # Only the type: Python's texts quote status lines and headers, which may hold a secret in another encoding.
            self._fail(type(error).__name__, secrets)

    def _fail(self, why: str, secrets: tuple[Secret, ...]) -> NoReturn:
        """Raise TokenError without secrets. The endpoint may send back a secret, and the URL's query may hold one."""
        for secret in secrets:
            why = secret.hide_in(why)
        raise TokenError(f"{self.url.partition('?')[0]} gave no token: {excerpt(why)}") from None

    def _opener(self) -> urllib.request.OpenerDirector:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self.url.startswith(
            "https:"
        ):  # Only then, because loading the system's authorities takes a tenth of a second.
            trust(context, self.ca_location, self.ca_pem, "https.ca")
        return new_opener(context)

    def _post(self, form: Mapping[str, str], headers: Mapping[str, str]) -> urllib.request.Request:
        encoded = urllib.parse.urlencode(form).encode()
        return urllib.request.Request(self.url, encoded, {"Accept": "application/json", **headers})  # noqa: S310 - checked

    def _token(self, body: bytes, now: float, names: tuple[str, ...]) -> Token:
        answer = _object_in(body)
        text = _chosen(answer, names)
        life_s = _life_s(text, answer.get("expires_in"), now)
        return Token(text=Secret(text), life_s=life_s, extensions=self.extensions)


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcTokens(_EndpointTokens):
    """Gets tokens for the client's id and secret."""

    client_id: str
    client_secret: Secret
    scope: str | None = None

    def __call__(self) -> Token:
        """A new token. Blocks; raises TokenError."""
        return self._fetch(self._request(), (self.client_secret, self._identity()))

    def _identity(self) -> Secret:
        return Secret(base64.b64encode(f"{self.client_id}:{self.client_secret.reveal()}".encode()).decode())

    def _request(self) -> urllib.request.Request:
        form = {"grant_type": "client_credentials", **({"scope": self.scope} if self.scope else {})}
        return self._post(form, {"Authorization": f"Basic {self._identity().reveal()}"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtBearerTokens(_EndpointTokens):
    """Gets tokens for a signed assertion."""

    assertion: Callable[[], Secret]
    scope: str | None = None

    def __call__(self) -> Token:
        """A new token for a new assertion. Blocks; raises TokenError."""
        shown = self.assertion()
        form = {"grant_type": _JWT_BEARER, "assertion": shown.reveal(), **({"scope": self.scope} if self.scope else {})}
        # Some endpoints, such as Google's, return an id_token, alone or beside an access_token that only they can read.
        return self._fetch(self._post(form, {}), (shown,), ("access_token", "id_token"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImdsTokens(_EndpointTokens):
    """Gets tokens for the identity of a virtual machine in Azure."""

    query: str | None = None

    def __call__(self) -> Token:
        """A new token. Blocks; raises TokenError."""
        joined = "&" if urllib.parse.urlsplit(self.url).query else "?"
        url = f"{self.url}{joined}{self.query}" if self.query else self.url
        return self._fetch(urllib.request.Request(url, headers={"Metadata": "true"}), ())  # noqa: S310 - checked


def _object_in(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise _UnusableError("its answer is not a JSON object")
    return answer


def _chosen(answer: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first token that is a JWT, which brokers can read; otherwise the first token."""
    found = [text for name in names if is_bearer(text := answer.get(name))]
    if not found:
        raise _UnusableError(f"its answer has no {' or '.join(names)}, or it is not a bearer token")
    return next((text for text in found if text.count(".") == 2), found[0])


def _reason(error: urllib.error.HTTPError) -> str:
    """The OAuth error in the body of a refusal (RFC 6749, 5.2); empty if the body has none or cannot be read."""
    try:
        said = json.loads(error.read(_MOST_BYTES))
        return "".join(f", {said[key]}" for key in ("error", "error_description") if key in said)
    except (OSError, http.client.HTTPException, RecursionError, ValueError, TypeError):
        return ""


def _life_s(token: str, expires_in: object, now: float) -> float:
    try:
        life_s = _expiry_in(token) - now if expires_in is None else float(str(expires_in))
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        life_s = math.nan
    if not math.isfinite(life_s):
        raise _UnusableError("neither expires_in nor the token says for how many seconds the token is valid")
    return life_s


def _expiry_in(token: str) -> float:
    """The `exp` claim of a JWT, for endpoints without expires_in."""
    claims = token.split(".")[1]
    return float(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"])


# --- HTTP with a time limit for the whole answer ---------------------------------------------------------------------


TIMEOUT_S = 10.0
"""Limit for the connection, and again for the whole answer. A socket's own timeout restarts with each byte."""


def new_opener(context: ssl.SSLContext) -> urllib.request.OpenerDirector:
    """An opener that follows no redirects. Changes `context`, which belongs to the opener from now on."""
    context.sslsocket_class = _TlsSocket
    return urllib.request.build_opener(_NoRedirects, _PlainHandler, urllib.request.HTTPSHandler(context=context))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the client's secret must reach the configured endpoint only."""

    def redirect_request(self, *_: object) -> None:
        return None


class _PlainSocket(socket.socket):
    _ends_at: float | None = None

    def recv_into(self, buffer: WriteableBuffer, nbytes: int = 0, flags: int = 0, /) -> int:
        self._ends_at = _wait_until(self, self._ends_at)
        return super().recv_into(buffer, nbytes, flags)


class _TlsSocket(ssl.SSLSocket):
    _ends_at: float | None = None

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        self._ends_at = _wait_until(self, self._ends_at)
        return super().recv_into(buffer, nbytes, flags)


def _wait_until(reading: socket.socket, ends_at: float | None) -> float:
    """Limit the next read to the time that is left since the first read. TimeoutError if no time is left."""
    now = time.monotonic()
    ends_at = now + TIMEOUT_S if ends_at is None else ends_at
    if now >= ends_at:
        raise TimeoutError(f"the answer was not complete within {TIMEOUT_S:g} s")
    reading.settimeout(ends_at - now)
    return ends_at


class _PlainConnection(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = _PlainSocket(fileno=self.sock.detach())
        self.sock.settimeout(TIMEOUT_S)


class _PlainHandler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_PlainConnection, req)
