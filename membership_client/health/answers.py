"""The answer to one request of a probe, as bytes, without sockets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http import HTTPStatus

from membership_client.health.report import Report

MOST_BYTES = 8192
"""The longest head of a request that is read. The head of a probe's request has about two hundred bytes."""

_END = re.compile(rb"\r?\n\r?\n")
_LINE = re.compile(rb"(GET|HEAD) (/[!-~]*) HTTP/1\.[01]\r?\n")

_PROBES: dict[str, Callable[[Report], bool]] = {
    "/livez": lambda report: report.live,
    "/readyz": lambda report: report.ready,
    "/startupz": lambda report: report.started,
}


def answer_to(received: bytes, look: Callable[[], Report]) -> bytes | None:
    """The whole answer to the request; None while the head of the request is not complete."""
    if (found := _LINE.match(received)) is not None and _END.search(received):
        method, target = found[1].decode(), found[2].decode()
        path, _, query = target.partition("?")
        if (probe := _PROBES.get(path)) is None:
            return _answer(HTTPStatus.NOT_FOUND, f"This serves {', '.join(_PROBES)}.\n", method)
        verbose = query.partition("=")[0] == "verbose"
        return _probed(look(), probe, method, verbose=verbose)
    if _END.search(received) or _is_no_request(received):
        return _answer(HTTPStatus.BAD_REQUEST, "This serves GET and HEAD.\n")
    if len(received) >= MOST_BYTES:
        return _answer(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The request is too long.\n")
    return None


def _is_no_request(received: bytes) -> bool:
    return not any(received.startswith(start[: len(received)]) for start in (b"GET /", b"HEAD /"))


def _probed(report: Report, probe: Callable[[Report], bool], method: str, *, verbose: bool) -> bytes:
    good = probe(report)
    status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
    if verbose:
        return _answer(status, json.dumps(report.as_dict(), indent=2) + "\n", method, "application/json")
    return _answer(status, "ok\n" if good else "failed; ?verbose says why\n", method)


def _answer(status: HTTPStatus, text: str, method: str = "GET", kind: str = "text/plain; charset=utf-8") -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else body)
