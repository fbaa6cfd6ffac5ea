"""An identity provider that gives tokens to clients that know the client's secret."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

import trustme

from tests.security.assertions import claims_of
from tests.security.secure_kafka import CLIENT_SECRET, USER, make_token


class TokenEndpoint:
    """Counts what it was asked, and remembers what it gave. `life_s` may be changed at any time.

    With a certificate it speaks HTTPS.
    """

    def __init__(self, certificate: trustme.LeafCert | None = None) -> None:
        self.life_s = 3600.0
        self.given: list[str] = []
        self.scopes: list[list[str]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._tell(*endpoint._answer(self.headers["Authorization"], parse_qs(body)))

            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query)
                self._tell(*endpoint._identify(self.headers["Metadata"], query))

            def _tell(self, status: int, answer: object) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def handle(self) -> None:
                with contextlib.suppress(ssl.SSLError, ConnectionError):
                    super().handle()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "http" if certificate is None else "https"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            certificate.configure_cert(context)
            # Who does not trust us says so in the handshake, which must not hold up the next one.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}/token"

    def _identify(self, metadata: str | None, query: dict[str, list[str]]) -> tuple[int, dict[str, object]]:
        """Answer as Azure's metadata service does, which any process of the machine may ask."""
        if metadata != "true" or query.get("resource") != ["api://kafka"]:
            return 400, {"error": "invalid_request", "error_description": "Required metadata header not specified"}
        status, answer = self._give(query)
        return status, {**answer, "expires_in": str(int(self.life_s))}

    def _answer(self, authorization: str | None, form: dict[str, list[str]]) -> tuple[int, dict[str, object]]:
        if form.get("grant_type") == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]:
            claims = claims_of(form["assertion"][0])
            return self._give(form) if claims and claims["iss"] == USER else (401, {"error": "invalid_grant"})
        known = base64.b64encode(f"{USER}:{CLIENT_SECRET}".encode()).decode()
        if authorization != f"Basic {known}" or form.get("grant_type") != ["client_credentials"]:
            return 401, {"error": "invalid_client", "error_description": f"who is {authorization}?"}
        return self._give(form)

    def _give(self, form: dict[str, list[str]]) -> tuple[int, dict[str, object]]:
        token = make_token(self.life_s)
        self.given.append(token)
        self.scopes.append(form.get("scope", []))
        return 200, {"access_token": token, "expires_in": self.life_s, "token_type": "Bearer"}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
