"""The messages of each SASL mechanism, as generators: they yield the client's messages and receive the broker's."""

from __future__ import annotations

from collections.abc import Generator

from membership_client.security.kerberos import Kerberos, KerberosError, initiate
from membership_client.security.secret import Secret
from membership_client.security.settings import Sasl
from membership_client.security.tokens import Token

Conversation = Generator[bytes, bytes, None]


class ConversationError(Exception):
    """The broker could not prove that it knows the password, or refused the token or the ticket."""


def converse(sasl: Sasl, host: str, within_s: float) -> tuple[Conversation, Secret | None]:
    """A new conversation with that host, and its secret, or None. The caller must hide the secret in errors.

    May block; raises TokenError.
    """
    if sasl.kerberos is not None:
        return _ticket(sasl.kerberos, host), None
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


def _ticket(kerberos: Kerberos, host: str) -> Conversation:
    try:
        yield from initiate(kerberos, host)
    except KerberosError as error:
        raise ConversationError(str(error)) from None
