"""Chooses the source of tokens for OAUTHBEARER that the configuration names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from membership_client.errors import ConfigError
from membership_client.security import keys
from membership_client.security.keys import BEARER, Given, choice, flag, pairs, refuse, require, seconds, secret, text
from membership_client.security.tokens import CallbackTokens, Token

if TYPE_CHECKING:
    from membership_client.security.assertion import Assertion

Fetch = Callable[[], Token]
"""A function that returns a new token. It may block; it raises TokenError."""


@dataclass(frozen=True, slots=True)
class TokenSource:
    """A source of tokens, and facts for warnings about it."""

    fetch: Fetch
    endpoint: str | None = None
    """The URL to which secrets are sent over the network; None if nothing leaves the host."""
    is_signed: bool = True
    """False if tokens have no signature, so that anyone can make them."""


_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_IMDS_URL = "http://169.254.169.254/metadata/identity/oauth2/token"
"""The address on every virtual machine in Azure; requests to it do not leave the host."""
_EXTENSION = re.compile(r"[A-Za-z]+")


def token_source(given: Given) -> TokenSource:
    """The source that the configuration names. Raises ConfigError, which shows no secret."""
    method = choice(given, f"{BEARER}method", ("default", "oidc"), "default")
    if method == "oidc":
        return _oidc(given)
    refuse(given, keys.OIDC, f"{BEARER}method is not oidc")
    if flag(given, keys.UNSECURED, default=False):
        refuse(given, ("oauth_cb",), f"{keys.UNSECURED} makes tokens itself")
        return TokenSource(_unsecured(given), is_signed=False)
    callback: Callable[[str], Any] | None = given.get("oauth_cb")
    if not callable(callback):
        raise ConfigError(f"OAUTHBEARER needs oauth_cb, a function that returns a token, or {BEARER}method=oidc.")
    return TokenSource(CallbackTokens(callback, secret(given, f"{BEARER}config")))


def _unsecured(given: Given) -> Fetch:
    from membership_client.security.tokens import unsecured_tokens  # noqa: PLC0415 - for tests only

    require(given, (f"{BEARER}config",), keys.UNSECURED)
    return unsecured_tokens(text(given, f"{BEARER}config") or "")


# --- OIDC ------------------------------------------------------------------------------------------------------------


def _oidc(given: Given) -> TokenSource:
    refuse(given, ("oauth_cb",), f"{BEARER}method=oidc asks the token endpoint")
    if flag(given, keys.UNSECURED, default=False):
        raise ConfigError(
            f"{keys.UNSECURED} and {BEARER}method=oidc are both set: each of them is a source of tokens; set one of them."
        )
    kind = choice(given, f"{BEARER}metadata.authentication.type", ("none", "azure_imds", "aws_iam"), "none")
    from membership_client.security.tls_context import check_trust  # noqa: PLC0415 - loads ssl

    check_trust(text(given, "https.ca.location"), text(given, "https.ca.pem"), "https.ca")
    if kind == "aws_iam":
        return TokenSource(_aws(given))
    text(
        given, f"{BEARER}sub.claim.name"
    )  # Only checked: librdkafka uses the name of the claim; this library needs no principal.
    if kind == "azure_imds":
        return TokenSource(_azure(given), _remote(text(given, f"{BEARER}token.endpoint.url")))
    return _of_endpoint(given)


def _of_endpoint(given: Given) -> TokenSource:
    refuse(given, (f"{BEARER}config",), f"{BEARER}method=oidc asks the token endpoint")
    grant = choice(given, f"{BEARER}grant.type", ("client_credentials", _JWT_BEARER), "client_credentials")
    if grant == _JWT_BEARER:
        refuse(given, keys.CLIENT, f"{BEARER}grant.type={_JWT_BEARER} shows an assertion")
        return _jwt_bearer(given)
    refuse(given, keys.ASSERTION, f"{BEARER}grant.type is client_credentials")
    return _client_credentials(given)


def _client_credentials(given: Given) -> TokenSource:
    from membership_client.security.oidc import OidcTokens  # noqa: PLC0415 - loads an HTTP client

    require(given, (*keys.CLIENT, f"{BEARER}token.endpoint.url"), f"{BEARER}method=oidc")
    client_secret = secret(given, f"{BEARER}client.secret")
    assert client_secret
    made = OidcTokens(
        **_endpoint(given),
        client_id=text(given, f"{BEARER}client.id") or "",
        client_secret=client_secret,
        scope=text(given, f"{BEARER}scope"),
    )
    return TokenSource(made, made.url)


def _jwt_bearer(given: Given) -> TokenSource:
    from membership_client.security.oidc import JwtBearerTokens  # noqa: PLC0415 - loads an HTTP client

    require(given, (f"{BEARER}token.endpoint.url",), f"{BEARER}grant.type={_JWT_BEARER}")
    made = JwtBearerTokens(**_endpoint(given), assertion=_assertion(given), scope=text(given, f"{BEARER}scope"))
    return TokenSource(made, made.url)


def _azure(given: Given) -> Fetch:
    from membership_client.security.oidc import ImdsTokens  # noqa: PLC0415 - loads an HTTP client

    refuse(
        given,
        (*keys.CLIENT, *keys.ASSERTION, f"{BEARER}grant.type", f"{BEARER}scope"),
        "Azure identifies the virtual machine itself",
    )
    query = pairs(given, f"{BEARER}config").get("query")
    if query is None and f"{BEARER}token.endpoint.url" not in given:
        raise ConfigError(
            f"{BEARER}config must have query=..., such as query=api-version=2018-02-01&resource=api://..., or "
            f"{BEARER}token.endpoint.url must be set: azure_imds needs one of them."
        )
    return ImdsTokens(**_endpoint(given, _IMDS_URL), query=query)


def _remote(url: str | None) -> str | None:
    """The URL; None for loopback and link-local addresses, on which Azure's agents answer."""
    from ipaddress import ip_address  # noqa: PLC0415 - for Azure only
    from urllib.parse import urlsplit  # noqa: PLC0415

    host = (urlsplit(url).hostname if url else None) or "localhost"
    try:
        address = ip_address(host)
    except ValueError:
        return None if host == "localhost" else url
    return None if address.is_loopback or address.is_link_local else url


def _aws(given: Given) -> Fetch:
    from membership_client.security.aws import aws_tokens  # noqa: PLC0415 - for AWS only

    refuse(
        given,
        (*keys.CLIENT, *keys.ASSERTION, f"{BEARER}grant.type", f"{BEARER}scope", f"{BEARER}token.endpoint.url"),
        "aws_iam asks AWS STS",
    )
    require(given, (f"{BEARER}config",), f"{BEARER}metadata.authentication.type=aws_iam")
    return aws_tokens(pairs(given, f"{BEARER}config"), _extensions(given))


def _endpoint(given: Given, default: str = "") -> dict[str, Any]:
    """Arguments for all sources that use HTTP."""
    url = text(given, f"{BEARER}token.endpoint.url") or default
    if not url.startswith(("https://", "http://")) or "@" in url or not _has_host(url):
        raise ConfigError(
            f"{BEARER}token.endpoint.url must be a URL that begins with https:// or http://, without a password."
        )
    return {
        "url": url,
        "extensions": _extensions(given),
        "ca_location": text(given, "https.ca.location"),
        "ca_pem": text(given, "https.ca.pem"),
    }


def _has_host(url: str) -> bool:
    """True if the URL has a host, a valid port or none, and no character that would end the line of an HTTP request."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - only endpoints need it

    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0 and url.isprintable() and " " not in url
    except ValueError:  # For example "http://[::1", or a port that is not a number.
        return False


def _extensions(given: Given) -> dict[str, str]:
    key = f"{BEARER}extensions"
    try:
        found = pairs(given, key)
    except ConfigError:
        found = {"": ""}
    if not all(_EXTENSION.fullmatch(name) for name in found):
        raise ConfigError(f"{key} must be name=value pairs separated by commas, the names letters only.")
    return found


# --- assertions ------------------------------------------------------------------------------------------------------


def _assertion(given: Given) -> Assertion:
    from membership_client.security.assertion import AssertionFile, SignedAssertion  # noqa: PLC0415 - seldom needed

    prefix = f"{BEARER}assertion."
    if (file := text(given, f"{prefix}file")) is not None:
        refuse(given, keys.SIGNING, f"{prefix}file has a signed assertion already")
        return AssertionFile(file)
    if (f"{prefix}private.key.file" in given) == (f"{prefix}private.key.pem" in given):
        raise ConfigError(
            f"{BEARER}grant.type={_JWT_BEARER} needs one of {prefix}file, {prefix}private.key.file and "
            f"{prefix}private.key.pem."
        )
    made = SignedAssertion(
        key_file=text(given, f"{prefix}private.key.file"),
        key_pem=secret(given, f"{prefix}private.key.pem"),
        passphrase=secret(given, f"{prefix}private.key.passphrase"),
        algorithm=choice(given, f"{prefix}algorithm", ("RS256", "ES256"), "RS256"),
        template_file=text(given, f"{prefix}jwt.template.file"),
        claims={name: found for name in ("sub", "iss", "aud") if (found := text(given, f"{prefix}claim.{name}"))},
        expires_in_s=seconds(given, f"{prefix}claim.exp.seconds", 300, least=1),
        valid_before_s=seconds(given, f"{prefix}claim.nbf.seconds", 60, least=0),
        has_id=flag(given, f"{prefix}claim.jti.include", default=False),
    )
    made.check()
    return made
