"""Any answer of a token endpoint gives a token or a TokenError without secrets, and no other exception."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote, quote_plus

import pytest
import trustme

from membership_client.security import oidc
from membership_client.security.oidc import ImdsTokens, JwtBearerTokens, OidcTokens
from membership_client.security.secret import Secret
from membership_client.security.tokens import Token, TokenError

SECRET = "s3cr3t-of-the-client"
IDENTITY = base64.b64encode(f"clerk:{SECRET}".encode()).decode()


def ok(body: str, *, headers: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nConnection: close\r\n{headers}\r\n{body}".encode()


ROGUE = {
    "nothing": b"",
    "no http": b"hello\r\n\r\n",
    "the header in the status line": f"HTTP/1.1 Basic {IDENTITY}\r\n\r\n".encode(),
    "the header instead of a status line": f"Authorization: Basic {IDENTITY}\r\n\r\n".encode(),
    "the secret as the reason of a refusal": f"HTTP/1.1 401 {SECRET}\r\n\r\n".encode(),
    "the secret as the error": b'HTTP/1.1 400 Bad\r\n\r\n{"error": "' + SECRET.encode() + b'"}',
    "nesting without end in a refusal": b"HTTP/1.1 400 Bad\r\n\r\n" + b"[" * 100_000,
    "a refusal that ends early": b"HTTP/1.1 400 Bad\r\nContent-Length: 100\r\n\r\n{",
    "the header in a redirect": f"HTTP/1.1 302 Found\r\nLocation: http://x/{IDENTITY}\r\n\r\n".encode(),
    "a status that is no number": b"HTTP/1.1 abc OK\r\n\r\n",
    "a length that is no number": ok("{}", headers=f"Content-Length: {IDENTITY}\r\n"),
    "a chunk that is none": ok(f"{IDENTITY}\r\n", headers="Transfer-Encoding: chunked\r\n"),
    "headers without end": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500,
    "a header without end": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
    "no json": ok(f"Basic {IDENTITY}"),
    "not utf-8": ok("") + b"\xff\xfe",
    "a list": ok("[]"),
    "nesting without end": ok("[" * 100_000),
    "no token": ok("{}"),
    "null for a token": ok('{"access_token": null, "expires_in": 60}'),
    "a number for a token": ok('{"access_token": 5, "expires_in": 60}'),
    "an empty token": ok('{"access_token": "", "expires_in": 60}'),
    "a token with a line break": ok('{"access_token": "a\\nb", "expires_in": 60}'),
    "a token with a separator": ok('{"access_token": "a\\u0001b", "expires_in": 60}'),
    "a life that is no number": ok('{"access_token": "a", "expires_in": "soon"}'),
    "a life without end": ok('{"access_token": "a", "expires_in": 1e999}'),
    "a life that is NaN": ok('{"access_token": "a", "expires_in": NaN}'),
    "no life, and no token that has one": ok('{"access_token": "a"}'),
    "the secret for a life": ok(f'{{"access_token": "a", "expires_in": "{SECRET}"}}'),
    "an end that is a list": ok('{"access_token": "a.eyJleHAiOiBbXX0.c"}'),
    "no body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "another protocol": f"HTTP/1.1 101 {SECRET}\r\n\r\n".encode(),
    "a version that is none": f"HTTP/{IDENTITY} 200 OK\r\n\r\n".encode(),
    "a length below zero": ok("{}", headers="Content-Length: -5\r\n"),
    "a length beyond all memory": ok("{}", headers="Content-Length: 99999999999999999999\r\n"),
    "a chunk beyond all memory": ok("ffffffffffffffff\r\n{}", headers="Transfer-Encoding: chunked\r\n"),
    "a megabyte as the error": b'HTTP/1.1 400 Bad\r\n\r\n{"error": "' + b"x" * 900_000 + b'"}',
    "errors that are objects": b'HTTP/1.1 400 Bad\r\n\r\n{"error": {"a": [1]}, "error_description": null}',
    "letters that steer a terminal": b'HTTP/1.1 400 Bad\r\n\r\n{"error": "\\u001b[2J\\n2026 CRITICAL"}',
    "the header as a URL has it": f'HTTP/1.1 400 Bad\r\n\r\n{{"error": "{quote(IDENTITY)}"}}'.encode(),
}


def read_request(accepted: socket.socket) -> None:
    """Read the whole request. Closing a connection with unread bytes would reset it, and the body may come after the headers."""
    with accepted.makefile("rb") as reader:
        length = 0
        while (line := reader.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        reader.read(length)


@contextmanager
def server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Lets `answer` handle the first connection, then closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            with accepted:
                answer(accepted)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/token"
        thread.join(30)


@contextmanager
def endpoint(said: bytes, *, reset: bool = False) -> Iterator[str]:
    """Reads a request, sends the answer, and closes the connection, with `reset` so that further reads fail."""

    def answer(accepted: socket.socket) -> None:
        read_request(accepted)
        accepted.sendall(said)
        if reset:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with server(answer) as url:
        yield url


def tokens(url: str, secret: str = SECRET) -> OidcTokens:
    return OidcTokens(url=url, client_id="clerk", client_secret=Secret(secret))


@pytest.mark.parametrize("answer", ROGUE.values(), ids=ROGUE)
def test_a_rogue_answer_is_a_token_error_without_a_secret(answer: bytes) -> None:
    """Python quotes a status line that it cannot read, and the secret was once in the error, the log and the trace."""
    with endpoint(answer) as url, pytest.raises(TokenError) as caught:
        tokens(url)()
    said = str(caught.value)
    assert SECRET not in said
    assert IDENTITY not in said
    assert quote(IDENTITY) not in said
    assert said.isprintable()
    assert len(said) < 400
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("secret", ["pa\\ss\"wörd'", "geheim\u20ac", "a b+c%d&e=f"])
@pytest.mark.parametrize(
    "answer",
    [
        lambda secret: f"HTTP/1.1 {secret}\r\n\r\n".encode(),
        lambda secret: f"{secret}\r\n\r\n".encode(),
        lambda secret: ok("{}", headers=f"Content-Length: {secret}\r\n"),
        lambda secret: ok(f"{secret}\r\n", headers="Transfer-Encoding: chunked\r\n"),
        lambda secret: f"HTTP/1.1 400 Bad\r\n\r\n{json.dumps({'error': secret})}".encode(),
        lambda secret: f"HTTP/1.1 400 Bad\r\n\r\n{json.dumps({'error': json.dumps(secret)})}".encode(),
        lambda secret: f"HTTP/1.1 400 Bad\r\n\r\n{json.dumps({'error': quote_plus(secret)})}".encode(),
        lambda secret: ok(json.dumps({"access_token": "a", "expires_in": secret})),
    ],
    ids=["status", "line", "length", "chunk", "error", "error in JSON", "error in a URL", "life"],
)
def test_a_secret_of_any_letters_is_hidden_in_any_form(secret: str, answer: Callable[[str], bytes]) -> None:
    """Python reads a status line as Latin-1 and quotes values by their repr, in which such a secret was once not found."""
    with endpoint(answer(secret)) as url, pytest.raises(TokenError) as caught:
        tokens(url, secret)()
    said = str(caught.value)
    latin_1 = secret.encode().decode("latin-1")
    for form in (
        secret,
        latin_1,
        repr(secret)[1:-1],
        repr(latin_1)[1:-1],
        json.dumps(secret)[1:-1],
        quote_plus(secret),
    ):
        assert form not in said


def test_a_query_in_the_url_is_not_shown() -> None:
    """Some endpoints take a key in the query."""
    with endpoint(b"") as url, pytest.raises(TokenError) as caught:
        tokens(f"{url}?code=hunter2")()
    assert "hunter2" not in str(caught.value)
    assert "/token gave no token" in str(caught.value)


@pytest.mark.parametrize("answer", ROGUE.values(), ids=ROGUE)
def test_other_ways_to_a_token_take_rogue_answers_alike(answer: bytes) -> None:
    """A signed assertion is a secret, too; a machine in Azure sends none."""
    ways: list[Callable[[str], Callable[[], Token]]] = [
        lambda url: JwtBearerTokens(url=url, assertion=lambda: Secret(SECRET)),
        lambda url: ImdsTokens(url=url, query="resource=x"),
    ]
    for way in ways:
        with endpoint(answer) as url, pytest.raises(TokenError) as caught:
            way(url)()
        assert str(caught.value).isprintable()
        assert "assertion" not in str(caught.value)


@pytest.mark.parametrize("is_tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(
    "piece",
    [b"x", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n{"],
    ids=["a line", "interim answers", "a body"],
)
def test_an_answer_without_an_end_is_a_token_error(piece: bytes, is_tls: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte once began the timeout again, so an endpoint could block the thread that fetches tokens for ever."""
    monkeypatch.setattr(oidc, "TIMEOUT_S", 0.5)
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    def drip(accepted: socket.socket) -> None:
        """Send a byte now and then while the client listens; after a while, end it, and with it fail the test."""
        with suppress(OSError), context.wrap_socket(accepted, server_side=True) if is_tls else accepted as line:
            read_request(line)
            give_up_at = time.monotonic() + 20
            while time.monotonic() < give_up_at:
                line.sendall(piece)
                time.sleep(0.05)

    with server(drip) as url:
        where = url.replace("http:", "https:") if is_tls else url
        ours = OidcTokens(
            url=where, client_id="clerk", client_secret=Secret(SECRET), ca_pem=authority.cert_pem.bytes().decode()
        )
        with pytest.raises(TokenError, match=r"TimeoutError"):
            ours()


def test_a_refusal_whose_body_cannot_be_read_is_a_token_error() -> None:
    """A connection that was reset in the body of a refusal once raised ConnectionResetError."""
    refusal = b"HTTP/1.1 400 Bad\r\nContent-Length: 100\r\n\r\n"
    with endpoint(refusal, reset=True) as url, pytest.raises(TokenError):
        tokens(url)()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ok("[]"), "its answer is not a JSON object"),
        (b"HTTP/1.1 400 Bad\r\n\r\nnull", "HTTP status 400$"),
        (b'HTTP/1.1 400 Bad\r\n\r\n{"error": "invalid_client"}', "HTTP status 400, invalid_client"),
    ],
)
def test_what_was_wrong_is_told(answer: bytes, told: str) -> None:
    """The error has more than the type of a Python exception."""
    with endpoint(answer) as url, pytest.raises(TokenError, match=told):
        tokens(url)()


def test_a_good_answer_is_a_token() -> None:
    """The same endpoint gives a valid answer."""
    with endpoint(ok('{"access_token": "abc.def-ghi~+/=", "expires_in": 60}')) as url:
        token = tokens(url)()
    assert (token.text.reveal(), token.life_s) == ("abc.def-ghi~+/=", 60.0)
