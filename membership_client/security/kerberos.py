"""GSSAPI (RFC 4752), through the package gssapi, which is imported only when a configuration needs it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from membership_client.security.optional_library import require_library
from membership_client.security.tokens import TokenError

_NO_SECURITY_LAYER = 1
"""The bit for 'no security layer' among the layers that a broker offers; Kafka uses no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """Service, principal and keytab; without a keytab the ticket cache of the process is used."""

    service: str = "kafka"
    principal: str | None = None
    keytab: str | None = None


class KerberosError(Exception):
    """A message of the broker is wrong, or cannot be verified."""


def require_gssapi(default: str = "") -> None:
    """ConfigError if the package gssapi is not installed."""
    require_library("gssapi", "gssapi", f"sasl.mechanism=GSSAPI{default}")


def initiate(kerberos: Kerberos, host: str) -> Generator[bytes, bytes, None]:
    """Yields the client's messages and receives the broker's. May block while the key distribution centre answers.

    Raises:
        TokenError: there is no ticket now: the cache has none, or the key distribution centre does not answer.
        KerberosError: a message of the broker is wrong.
    """
    import gssapi  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an optional package

    try:
        context = _context(gssapi, kerberos, host)
        message = context.step() or b""
    except gssapi.exceptions.GSSError as error:
        raise TokenError(f"no Kerberos ticket for {kerberos.service}@{host}: {error}") from None
    try:
        while not context.complete:
            message = context.step((yield message)) or b""
        offer = context.unwrap((yield message)).message
        if len(offer) != 4 or not offer[0] & _NO_SECURITY_LAYER:
            raise KerberosError("the broker wants a security layer after authentication, which Kafka does not have")
        # Maximum size 0, because nothing will be wrapped; no authorization id.
        yield context.wrap(bytes([_NO_SECURITY_LAYER, 0, 0, 0]), False).message
    except gssapi.exceptions.GSSError as error:
        raise KerberosError(str(error)) from None


def _context(gssapi: Any, kerberos: Kerberos, host: str) -> Any:
    target = gssapi.Name(f"{kerberos.service}@{host}", gssapi.NameType.hostbased_service)
    flags = gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.integrity
    return gssapi.SecurityContext(name=target, creds=_credentials(gssapi, kerberos), usage="initiate", flags=flags)


def _credentials(gssapi: Any, kerberos: Kerberos) -> Any:
    """Credentials for the principal and keytab; None for the default of the process."""
    if kerberos.principal is None and kerberos.keytab is None:
        return None
    name = None if kerberos.principal is None else gssapi.Name(kerberos.principal, gssapi.NameType.user)
    store = None if kerberos.keytab is None else {"client_keytab": kerberos.keytab}
    return gssapi.Credentials(name=name, usage="initiate", store=store)
