"""What is said in each SASL mechanism: a generator yields our messages and is sent the broker's."""

from __future__ import annotations

from collections.abc import Generator

from membership_client.security.kerberos import Kerberos, KerberosError, initiate
from membership_client.security.secret import Secret
from membership_client.security.settings import Sasl
from membership_client.security.tokens import Token

Conversation = Generator[bytes, bytes, None]


class ConversationError(Exception):
    """The broker said what nobody says who knows our password, or would not take our token."""


def converse(sasl: Sasl, host: str, within_s: float) -> tuple[Conversation, Secret | None]:
    """A new conversation with that host, and the secret in it, if any, which must not come back in an error.

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
    import scramp  # noqa: PLC0415 - who has another mechanism need not load it

    try:
        client = scramp.ScramClient([mechanism], username, password.reveal())
        client.set_server_first((yield client.get_client_first().encode()).decode())
        client.set_server_final((yield client.get_client_final().encode()).decode())
    except (scramp.ScramException, UnicodeDecodeError) as error:
        raise ConversationError(str(error)) from None


def _bearer(token: Token) -> Conversation:
    """RFC 7628: a broker that refuses the token says why in a challenge, and waits for us to say that we have seen it."""
    extensions = "".join(f"\1{name}={value}" for name, value in token.extensions.items())
    challenge = yield f"n,,\1auth=Bearer {token.text.reveal()}{extensions}\1\1".encode()
    if challenge:
        raise ConversationError(f"the token is refused: {challenge.decode(errors='replace')}")


def _ticket(kerberos: Kerberos, host: str) -> Conversation:
    try:
        yield from initiate(kerberos, host)
    except KerberosError as error:
        raise ConversationError(str(error)) from None
