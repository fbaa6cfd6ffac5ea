"""Whatever a token endpoint answers: a TokenError that holds no secret, and no other exception."""

from __future__ import annotations

import base64
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from membership_client.security.oidc import OidcTokens
from membership_client.security.secret import Secret
from membership_client.security.tokens import TokenError

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
}


@contextmanager
def endpoint(answer: bytes, *, reset: bool = False) -> Iterator[str]:
    """Reads a request, sends the answer, and closes the connection, with `reset` so that reading on is an error."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            with accepted:
                # The body comes apart from the headers; closing with bytes unread would reset the connection.
                received = b""
                while not received.endswith(b"grant_type=client_credentials"):
                    received += accepted.recv(65536)
                accepted.sendall(answer)
                if reset:
                    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/token"
        thread.join(30)


def tokens(url: str) -> OidcTokens:
    return OidcTokens(url=url, client_id="clerk", client_secret=Secret(SECRET))


@pytest.mark.parametrize("answer", ROGUE.values(), ids=ROGUE)
def test_a_rogue_answer_is_a_token_error_without_a_secret(answer: bytes) -> None:
    """Python quotes a status line that it cannot read, and the secret was in the error, the log and the trace."""
    with endpoint(answer) as url, pytest.raises(TokenError) as caught:
        tokens(url)()
    assert SECRET not in str(caught.value)
    assert IDENTITY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_refusal_whose_body_cannot_be_read_is_a_token_error() -> None:
    """A connection that was reset while the body of a refusal was read raised ConnectionResetError."""
    refusal = b"HTTP/1.1 400 Bad\r\nContent-Length: 100\r\n\r\n"
    with endpoint(refusal, reset=True) as url, pytest.raises(TokenError):
        tokens(url)()


def test_a_good_answer_is_a_token() -> None:
    """The same endpoint, in its right mind."""
    with endpoint(ok('{"access_token": "abc.def-ghi~+/=", "expires_in": 60}')) as url:
        token = tokens(url)()
    assert (token.text.reveal(), token.life_s) == ("abc.def-ghi~+/=", 60.0)
