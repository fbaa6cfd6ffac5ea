"""Requests of probes, and of other clients, are answered without a socket."""

from __future__ import annotations

import json

import pytest

from membership_client.health.answers import MOST_BYTES, answer_to
from membership_client.health.probe_rules import MemberReport
from membership_client.health.report import Report

END = b" HTTP/1.1\r\nHost: x\r\n\r\n"


def report(*, live: bool = True, ready: bool = True, started: bool = True) -> Report:
    member = MemberReport(
        group_id="shop",
        member_id="m",
        instance_id="till-1",
        state="stable",
        epoch=7,
        partitions=3,
        live=live,
        ready=ready,
        started=started,
        why="stable at epoch 7",
    )
    return Report((member,))


def status(received: bytes, told: Report) -> int:
    answer = answer_to(received, lambda: told)
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 ")
    return int(answer.split(b" ")[1])


@pytest.mark.parametrize(("path", "fact"), [("/livez", "live"), ("/readyz", "ready"), ("/startupz", "started")])
def test_each_path_tells_one_fact(path: str, fact: str) -> None:
    """The status says it, because a kubelet looks at nothing else."""
    assert status(b"GET " + path.encode() + END, report()) == 200
    assert status(b"GET " + path.encode() + END, report(**{fact: False})) == 503
    others = {name: False for name in ("live", "ready", "started") if name != fact}
    assert status(b"GET " + path.encode() + END, report(**others)) == 200


@pytest.mark.parametrize("query", [b"?verbose", b"?verbose=1"])
def test_verbose_is_json(query: bytes) -> None:
    """The JSON has every member: group, state, epoch, number of partitions, and why."""
    answer = answer_to(b"GET /readyz" + query + END, lambda: report(ready=False))
    assert answer is not None
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"503 Service Unavailable" in head
    assert b"application/json" in head
    told = json.loads(body)
    assert (told["live"], told["ready"], told["why"]) == (True, False, "[shop/till-1] stable at epoch 7")
    assert told["members"][0]["partitions"] == 3


def test_without_members_a_process_is_live_and_not_ready() -> None:
    """It may be about to make a member."""
    nothing = Report(())
    found = [status(b"GET " + path + END, nothing) for path in (b"/livez", b"/readyz", b"/startupz")]
    assert found == [200, 503, 503]


def test_a_short_answer_says_nothing_about_the_group() -> None:
    """Other clients may reach the port."""
    answer = answer_to(b"GET /readyz" + END, lambda: report(ready=False)) or b""
    assert b"shop" not in answer
    assert answer.endswith(b"failed; ?verbose says why\n")


def test_head_has_no_body() -> None:
    """Load balancers send HEAD."""
    answer = answer_to(b"HEAD /livez" + END, report) or b""
    assert b"Content-Length: 3" in answer
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (b"\x16\x03\x01\x02\x00", 400),  # TLS
        (b"POST /livez HTTP/1.1\r\n\r\n", 400),
        (b"GET  HTTP/1.1\r\n\r\n", 400),
        (b"GET /livez HTTP/9.9\r\n\r\n", 400),
        (b"GET /liv\xffez HTTP/1.1\r\n\r\n", 400),
        (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", 404),
        (b"GET / HTTP/1.0\n\n", 404),
        (b"GET /" + b"x" * MOST_BYTES, 431),
        (b"GET /livez HTTP/1.1\r\n" + b"a: b\r\n" * 2000, 431),
    ],
)
def test_what_strangers_send(received: bytes, expected: int) -> None:
    """The answer has one line, and never a traceback."""
    assert status(received, report()) == expected


@pytest.mark.parametrize("received", [b"G", b"GET /li", b"GET /livez HTTP/1.1\r\nHost: x\r\n", b"HEA"])
def test_a_request_that_is_not_complete(received: bytes) -> None:
    """The server waits for the rest."""
    assert answer_to(received, report) is None
