"""How long a token is used, and what happens while there is no new one."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from membership_client.security.oidc import OidcTokens
from membership_client.security.secret import Secret
from membership_client.security.tokens import CallbackTokens, Token, TokenCache, TokenError
from tests.net.patience import LIMIT_S
from tests.security.secure_kafka import CLIENT_SECRET, USER, make_token
from tests.security.token_endpoint import TokenEndpoint


class Clock:
    """A clock that moves only when the test sets it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Source:
    """Gives tokens with these lifetimes in turn, and then none."""

    def __init__(self, *lives_s: float) -> None:
        self._lives_s = list(lives_s)

    def __call__(self) -> Token:
        if not self._lives_s:
            raise TokenError("nobody answers")
        life_s = self._lives_s.pop(0)
        return Token(text=Secret(f"token of {life_s}"), life_s=life_s)


def test_a_token_is_kept_until_it_grows_old() -> None:
    """One token serves many connections."""
    cache = TokenCache(Source(3600, 7200))
    assert cache.token(LIMIT_S) is cache.token(LIMIT_S)


def test_an_old_token_is_replaced_before_it_ends() -> None:
    """It is replaced after four fifths of its lifetime."""
    clock = Clock()
    cache = TokenCache(Source(100, 3600), clock)
    first = cache.token(LIMIT_S)
    clock.now += 79
    assert cache.token(LIMIT_S) is first
    clock.now += 2
    assert cache.token(LIMIT_S) is not first


def test_an_old_token_is_better_than_none() -> None:
    """An identity provider that is away for a while harms nobody, as long as the token is good.

    In its last seconds it is not shown: a broker whose clock is ahead would refuse it, and one that did not would end the
    session sooner than we may renew it.
    """
    clock = Clock()
    cache = TokenCache(Source(100), clock)
    first = cache.token(LIMIT_S)
    clock.now += 97
    assert cache.token(LIMIT_S) is first
    clock.now += 2
    with pytest.raises(TokenError, match="nobody answers"):
        cache.token(LIMIT_S)


@pytest.mark.parametrize("set_by_s", [-86400, 86400])
def test_a_clock_that_is_set(set_by_s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token ages by its lifetime, not by the time of day: it was once used long after its end because the clock was set back."""
    clock, began = Clock(), time.time()
    cache = TokenCache(CallbackTokens(lambda _: (f"until-{began + 100}", began + 100)), clock)
    first = cache.token(LIMIT_S)
    monkeypatch.setattr(time, "time", lambda: began + set_by_s)
    assert cache.token(LIMIT_S) is first
    clock.now += 81
    assert cache.token(LIMIT_S) is not first


def test_a_token_that_was_refused_is_not_shown_again() -> None:
    """Otherwise a member that starts again would fail with the same token until it grows old."""
    cache = TokenCache(Source(3600, 3600))
    first = cache.token(LIMIT_S)
    assert not cache.forget()
    assert cache.token(LIMIT_S) is not first


def test_a_token_that_was_good_once() -> None:
    """A refusal of such a token means that it has expired."""
    cache = TokenCache(Source(3600, 3600))
    cache.token(LIMIT_S)
    cache.accepted()
    assert cache.forget()
    cache.token(LIMIT_S)
    assert not cache.forget()


def test_a_callback_that_does_not_return() -> None:
    """It is not waited for, nor called again meanwhile; the token that it returns at last is used."""
    goes, calls = threading.Event(), list[str]()

    def late(config: str) -> tuple[str, float]:
        calls.append(config)
        assert goes.wait(LIMIT_S)
        return "at-last", time.time() + 3600

    cache = TokenCache(CallbackTokens(late))
    for _ in range(2):
        with pytest.raises(TokenError, match=r"oauth_cb.* has not answered within 0\.05 s"):
            cache.token(0.05)
    goes.set()
    assert cache.token(LIMIT_S).text.reveal() == "at-last"
    assert len(calls) == 1


def test_extensions_of_a_callback() -> None:
    """The principal between token and extensions is ignored."""
    tokens = CallbackTokens(lambda config: ("abc", 1.0, "alice", {"tenant": config}), Secret("red"))
    assert tokens().extensions == {"tenant": "red"}


@pytest.mark.parametrize(
    "given",
    [
        (None, 1e10),
        (b"abc", 1e10),
        (5, 1e10),
        ("", 1e10),
        ("a b", 1e10),
        ("a\1\1b", 1e10),
        ("a\nb", 1e10),
        ("caf\u00e9", 1e10),
        ("abc", float("nan")),
        ("abc", None),
        ("abc",),
        None,
    ],
)
def test_what_a_callback_gives_is_no_token(given: Any) -> None:
    """None was once sent as the token `None`, and control characters went into the message to brokers."""
    with pytest.raises(TokenError, match=r"oauth_cb returned no \(token, expiry\)") as caught:
        CallbackTokens(lambda _: given)()
    assert "abc" not in str(caught.value)


def oidc(url: str) -> OidcTokens:
    return OidcTokens(url=url, client_id=USER, client_secret=Secret(CLIENT_SECRET), scope="kafka")


def test_the_client_credentials_flow(endpoint: TokenEndpoint) -> None:
    """The request has the scope; the lifetime is that in the endpoint's answer."""
    token = oidc(endpoint.url)()
    assert token.text.reveal() == endpoint.given[-1]
    assert endpoint.scopes[-1] == ["kafka"]
    assert token.life_s == 3600


def test_the_life_may_be_in_the_token_itself(endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every endpoint has it in its answer."""
    monkeypatch.setattr(endpoint, "_answer", lambda *_: (200, {"access_token": make_token(life_s=100)}))
    assert 100 <= oidc(endpoint.url)().life_s < 200


@pytest.mark.parametrize(
    "answer",
    [(200, {}), (200, []), (200, {"access_token": 7}), (302, {}), (500, "oh"), (200, {"access_token": "a.b.c"})],
)
def test_what_is_no_token(answer: tuple[int, object], endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every such answer is a TokenError; a redirect is not followed, because the secret must not go elsewhere."""
    monkeypatch.setattr(endpoint, "_answer", lambda *_: answer)
    with pytest.raises(TokenError, match="gave no token"):
        oidc(endpoint.url)()
