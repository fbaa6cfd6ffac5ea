"""The messages of each SASL mechanism, as generators: they yield the client's messages and receive the broker's."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from membership_client.security.keys import require_library
from membership_client.security.secret import Secret
from membership_client.security.settings import Sasl
from membership_client.security.tokens import Token, TokenError

Conversation = Generator[bytes, bytes, None]


class ConversationError(Exception):
    """The broker could not prove that it knows the password, or refused the token or the ticket."""


def converse(sasl: Sasl, host: str, within_s: float) -> tuple[Conversation, Secret | None]:
    """A new conversation with that host, and the secret in it, if any. The caller must hide the secret in errors.

    It may block; it raises TokenError.
    """
    if sasl.kerberos is not None:
        return initiate(sasl.kerberos, host), None
    if sasl.tokens is not None:
        token = sasl.tokens.token(within_s)
        return _bearer(token), token.text
    assert sasl.password is not None
    if sasl.mechanism == "PLAIN":
        return _plain(sasl.username, sasl.password), sasl.password
    return _scram(sasl.mechanism, sasl.username, sasl.password), sasl.password


def _plain(username: str, password: Secret) -> Conversation:
    yield f"\0{username}\0{password.reveal()}".encode()


def _scram(mechanism: str, username: str, password: Secret) -> Conversation:
    import scramp  # noqa: PLC0415 - only SCRAM needs it

    try:
        client = scramp.ScramClient([mechanism], username, password.reveal())
        client.set_server_first((yield client.get_client_first().encode()).decode())
        client.set_server_final((yield client.get_client_final().encode()).decode())
    except (scramp.ScramException, UnicodeDecodeError) as error:
        raise ConversationError(str(error)) from None


def _bearer(token: Token) -> Conversation:
    """RFC 7628: a broker that refuses the token sends the reason as a challenge."""
    extensions = "".join(f"\1{name}={value}" for name, value in token.extensions.items())
    challenge = yield f"n,,\1auth=Bearer {token.text.reveal()}{extensions}\1\1".encode()
    if challenge:
        raise ConversationError(f"the token is refused: {challenge.decode(errors='replace')}")


# --- GSSAPI (RFC 4752) -----------------------------------------------------------------------------------------------


_NO_SECURITY_LAYER = 1
"""The bit for 'no security layer' among the layers that a broker offers. Kafka uses no other layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """Service, principal and keytab. Without a keytab the ticket cache of the process is used."""

    service: str = "kafka"
    principal: str | None = None
    keytab: str | None = None


def require_gssapi(default: str = "") -> None:
    """ConfigError if the package gssapi is not installed."""
    require_library("gssapi", "gssapi", f"sasl.mechanism=GSSAPI{default}")


def initiate(kerberos: Kerberos, host: str) -> Conversation:
    """The conversation for a ticket. May block while the key distribution centre answers.

    The package gssapi is imported here, because only some configurations need it.

    Raises:
        TokenError: there is no ticket now: the cache has none, or the key distribution centre does not answer.
        ConversationError: a message of the broker is wrong, or cannot be verified.
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
            raise ConversationError("the broker wants a security layer after authentication, which Kafka does not have")
        # Maximum size 0, because nothing will be wrapped; no authorization id.
        yield context.wrap(bytes([_NO_SECURITY_LAYER, 0, 0, 0]), False).message
    except gssapi.exceptions.GSSError as error:
        raise ConversationError(str(error)) from None


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
