"""Logs the weaknesses of a security configuration, each once per process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from membership_client.security.settings import Sasl, Security

logger = logging.getLogger("membership_client")

_NOT_VERIFIED = (
    "enable.ssl.certificate.verification=false: certificates of brokers are not verified, so anyone in between can read "
    "and change everything. Set ssl.ca.location to the authority that has signed them."
)
_ANY_HOST = (
    "ssl.endpoint.identification.algorithm=none: a broker's certificate may be for any host, so anyone with a certificate of the "
    "same authority can act as a broker. Name the brokers' hosts in their certificates."
)
_PLAIN_PASSWORD = (
    "sasl.mechanism=PLAIN without TLS: the password crosses the network readable to anyone in between. "  # noqa: S105
    "Use security.protocol=sasl_ssl, or SCRAM."
)
_PLAIN_TOKEN = (
    "sasl.mechanism=OAUTHBEARER without TLS: the token crosses the network readable to anyone in between. "  # noqa: S105
    "Use security.protocol=sasl_ssl."
)
_PLAIN_ENDPOINT = (
    "sasl.oauthbearer.token.endpoint.url is http: the tokens, and the client's secret if there is one, cross the network "
    "readable to anyone in between. Use https."
)

_UNSECURED_TOKEN = (
    "enable.sasl.oauthbearer.unsecure.jwt=true: the tokens have no signature, so anyone can make one for any principal. "  # noqa: S105
    "Use it in tests only; else oauth_cb or sasl.oauthbearer.method=oidc."
)

_said: set[str] = set()


def warn_of_weaknesses(security: Security) -> None:
    """Log what this process has not logged yet. Any thread; shows no secret."""
    for weakness in weaknesses_of(security):
        if weakness not in _said:
            _said.add(weakness)
            logger.warning("%s", weakness)


def weaknesses_of(security: Security) -> tuple[str, ...]:
    """One text for each weakness: what it is, and what to do about it."""
    tls = security.tls
    found = [_NOT_VERIFIED] if tls is not None and not tls.verifies else []
    if tls is not None and tls.verifies and not tls.checks_host:
        found.append(_ANY_HOST)
    if security.sasl is not None:
        found += _of_sasl(security.sasl, is_plain=tls is None)
    return tuple(found)


def _of_sasl(sasl: Sasl, *, is_plain: bool) -> Iterator[str]:
    if is_plain and sasl.mechanism == "PLAIN":
        yield _PLAIN_PASSWORD
    if is_plain and sasl.tokens is not None:
        yield _PLAIN_TOKEN
    if not sasl.is_signed:
        yield _UNSECURED_TOKEN
    if sasl.token_endpoint is not None and sasl.token_endpoint.lower().startswith("http:"):
        yield _PLAIN_ENDPOINT
