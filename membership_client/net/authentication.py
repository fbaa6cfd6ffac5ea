"""SASL on a connection: the handshake, then the messages of the mechanism, in Kafka's frames (KIP-43, KIP-152, KIP-368)."""

from __future__ import annotations

import time
from typing import Any

from kio.schema.sasl_authenticate import v0, v1, v2
from kio.schema.sasl_handshake.v1 import SaslHandshakeRequest

from membership_client.net.channel import Channel, time_left
from membership_client.net.codec import frame, read_answer
from membership_client.security.conversations import ConversationError, converse
from membership_client.security.secret import Secret
from membership_client.security.settings import Sasl
from membership_client.security.tokens import TokenError

_HANDSHAKE, _AUTHENTICATE = 17, 36
_ILLEGAL_STATE, _UNSUPPORTED_MECHANISM = 34, 33
_REQUESTS: dict[int, Any] = {
    0: v0.SaslAuthenticateRequest,
    1: v1.SaslAuthenticateRequest,
    2: v2.SaslAuthenticateRequest,
}
_RENEW_AT = 0.85
"""After this part of a session's life we authenticate again, which leaves time for a slow network."""
_SOONEST_S = 1.1
"""Brokers answer with an error if a client authenticates again within a second."""


class Denied(Exception):  # noqa: N818 - it is an answer
    """The broker refused the credentials, or failed to prove that it knows them. The text holds no secret."""


def authenticate(channel: Channel, sasl: Sasl, deadline: float) -> float | None:
    """Authenticate, and return when to do it again, by the monotonic clock; None for never. Blocks.

    Raises:
        Denied: repeating it will not help.
        TokenError: there is no token at the moment, or the broker refused one that it accepted before.
        OSError, NotKafka, Undecodable: as `Channel.exchange`.
    """
    _choose_mechanism(channel, sasl.mechanism, deadline)
    if sasl.tokens is None:
        return _exchange_proofs(channel, sasl, deadline)
    try:
        renew_at = _exchange_proofs(channel, sasl, deadline)
    except Denied as denied:
        if sasl.tokens.forget():
            raise TokenError(f"it {denied}; it accepted the same token before, so the token has expired") from None
        raise
    sasl.tokens.accepted()
    return renew_at


def _exchange_proofs(channel: Channel, sasl: Sasl, deadline: float) -> float | None:
    conversation, secret = converse(sasl, channel.address.host, time_left(deadline))
    request = _REQUESTS[min(2, channel.offer[_AUTHENTICATE][1])]
    message = next(conversation)
    while True:
        began = time.monotonic()
        answer = _ask(channel, request(auth_bytes=message), deadline)
        if answer.error_code:
            said = _without_secret(secret, answer.error_message or f"error {int(answer.error_code)}")
            raise Denied(f"refuses {sasl.mechanism} authentication{_user_clause(sasl)}: {said}")
        try:
            message = conversation.send(answer.auth_bytes)
        except StopIteration:
            return _renew_at(began, answer)
        except ConversationError as error:
            raise Denied(
                f"failed at {sasl.mechanism}{_user_clause(sasl)}: {_without_secret(secret, str(error))}"
            ) from None


def _without_secret(secret: Secret | None, text: str) -> str:
    return text if secret is None else secret.hide_in(text)


def _choose_mechanism(channel: Channel, mechanism: str, deadline: float) -> None:
    if not {_HANDSHAKE, _AUTHENTICATE} <= channel.offer.keys():
        raise Denied("offers no SaslAuthenticate, which Kafka 1.0 and later have")
    answer = _ask(channel, SaslHandshakeRequest(mechanism=mechanism), deadline)
    if answer.error_code == _UNSUPPORTED_MECHANISM:
        raise Denied(
            f"does not offer {mechanism}, but {', '.join(answer.mechanisms) or 'no mechanism'}: check sasl.mechanism"
        )
    if answer.error_code == _ILLEGAL_STATE:
        raise Denied("does not want SASL on this port: is security.protocol right?")
    if answer.error_code:
        raise Denied(f"refuses SASL with error {int(answer.error_code)}")


def _ask(channel: Channel, request: Any, deadline: float) -> Any:
    payload = channel.exchange(lambda correlation_id: frame(request, correlation_id, channel.client_id), deadline)
    return read_answer(request.__api_key__, request.__version__, payload)


def _user_clause(sasl: Sasl) -> str:
    return f" of {sasl.username}" if sasl.username else ""


def _renew_at(began: float, answer: Any) -> float | None:
    # Version 0 has no such field. A lifetime of 0 means that the session never ends.
    lifetime_ms = getattr(answer, "session_lifetime", 0)
    return began + max(_SOONEST_S, lifetime_ms / 1000 * _RENEW_AT) if lifetime_ms > 0 else None
