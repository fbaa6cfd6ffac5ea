"""How long a token is kept, and what is done while there is no new one."""

from __future__ import annotations

import time

import pytest

from membership_client.security.oidc import OidcTokens
from membership_client.security.secret import Secret
from membership_client.security.tokens import CallbackTokens, Token, TokenCache, TokenError
from tests.security.secure_kafka import CLIENT_SECRET, USER, make_token
from tests.security.token_endpoint import TokenEndpoint


class Source:
    """Gives tokens with these lives in turn, and then none."""

    def __init__(self, *lives_s: float) -> None:
        self._lives_s = list(lives_s)

    def __call__(self) -> Token:
        if not self._lives_s:
            raise TokenError("nobody answers")
        life_s = self._lives_s.pop(0)
        return Token(text=Secret(f"token of {life_s}"), expires_at=time.time() + life_s)


def test_a_token_is_kept_until_it_grows_old() -> None:
    """One serves many connections."""
    cache = TokenCache(Source(3600, 7200))
    assert cache.token() is cache.token()


def test_an_old_token_is_replaced_before_it_ends() -> None:
    """At four fifths of its life."""
    cache = TokenCache(Source(1.0, 3600))
    first = cache.token()
    time.sleep(0.85)
    assert cache.token() is not first


def test_an_old_token_is_better_than_none() -> None:
    """An identity provider that is away for a while harms nobody, as long as the token is good."""
    cache = TokenCache(Source(1.5))
    first = cache.token()
    time.sleep(1.25)
    assert cache.token() is first
    time.sleep(0.5)
    with pytest.raises(TokenError):
        cache.token()


def test_a_token_that_was_refused_is_not_shown_again() -> None:
    """Or a member that starts over would fail by the same one until it grows old."""
    cache = TokenCache(Source(3600, 3600))
    first = cache.token()
    cache.forget()
    assert cache.token() is not first


def test_extensions_of_a_callback() -> None:
    """The principal between is confluent-kafka's affair."""
    tokens = CallbackTokens(lambda config: ("abc", 1.0, "alice", {"tenant": config}), "red")
    assert tokens().extensions == {"tenant": "red"}


def oidc(url: str) -> OidcTokens:
    return OidcTokens(url=url, client_id=USER, client_secret=Secret(CLIENT_SECRET), scope="kafka")


def test_the_client_credentials_flow(endpoint: TokenEndpoint) -> None:
    """The scope is asked for; the life is what the endpoint says."""
    token = oidc(endpoint.url)()
    assert token.text.reveal() == endpoint.given[-1]
    assert endpoint.scopes[-1] == ["kafka"]
    assert 3500 < token.expires_at - time.time() <= 3600


def test_the_life_may_be_in_the_token_itself(endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every endpoint says it outside."""
    monkeypatch.setattr(endpoint, "_answer", lambda *_: (200, {"access_token": make_token(life_s=100)}))
    assert 90 < oidc(endpoint.url)().expires_at - time.time() <= 100


@pytest.mark.parametrize(
    "answer",
    [(200, {}), (200, []), (200, {"access_token": 7}), (302, {}), (500, "oh"), (200, {"access_token": "a.b.c"})],
)
def test_what_is_no_token(answer: tuple[int, object], endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is, a TokenError; a redirect is not followed, for the secret is not meant for where it leads."""
    monkeypatch.setattr(endpoint, "_answer", lambda *_: answer)
    with pytest.raises(TokenError, match="gave no token"):
        oidc(endpoint.url)()
