"""GSSAPI: the conversation of RFC 4752, through the package gssapi. Loaded only where it is used."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from membership_client.security.optional_library import require_library
from membership_client.security.tokens import TokenError

_NO_SECURITY_LAYER = 1
"""The bit of the layers that a broker offers by which nothing is wrapped after authentication; Kafka has no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """As whom, and with what: without a keytab the ticket cache of the process is used."""

    service: str = "kafka"
    principal: str | None = None
    keytab: str | None = None


class KerberosError(Exception):
    """The broker's part of the conversation cannot be right."""


def require_gssapi(default: str = "") -> None:
    """ConfigError if there is no library for it."""
    require_library("gssapi", "gssapi", f"sasl.mechanism=GSSAPI{default}")


def initiate(kerberos: Kerberos, host: str) -> Generator[bytes, bytes, None]:
    """Yields our messages and is sent the broker's. May block, for the key distribution centre.

    Raises:
        TokenError: there is no ticket at the moment: the cache has none, or the key distribution centre is away.
        KerberosError: see there.
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
        # No maximum size, because nothing will be wrapped, and nobody else to act for.
        yield context.wrap(bytes([_NO_SECURITY_LAYER, 0, 0, 0]), False).message
    except gssapi.exceptions.GSSError as error:
        raise KerberosError(str(error)) from None


def _context(gssapi: Any, kerberos: Kerberos, host: str) -> Any:
    target = gssapi.Name(f"{kerberos.service}@{host}", gssapi.NameType.hostbased_service)
    flags = gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.integrity
    return gssapi.SecurityContext(name=target, creds=_credentials(gssapi, kerberos), usage="initiate", flags=flags)


def _credentials(gssapi: Any, kerberos: Kerberos) -> Any:
    """None for what the process has."""
    if kerberos.principal is None and kerberos.keytab is None:
        return None
    name = None if kerberos.principal is None else gssapi.Name(kerberos.principal, gssapi.NameType.user)
    store = None if kerberos.keytab is None else {"client_keytab": kerberos.keytab}
    return gssapi.Credentials(name=name, usage="initiate", store=store)
