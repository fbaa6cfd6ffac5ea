"""A run as text, and a mismatch as the shortest run found that shows one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from membership_client.core.error_codes import Code
from membership_client.core.events import Heartbeat, HeartbeatAccepted, Refused
from membership_client.partitions import Partitions
from membership_client.testing.described import GroupDescription
from tests.conformance.exchange import Answer, Exchange
from tests.conformance.names import Names
from tests.conformance.play import Pairing, Run, play
from tests.conformance.script import Script
from tests.conformance.shrink import shrink


def describe_mismatch(run: Run, pairing: Pairing) -> str:
    shortest = _shortest(run, pairing)
    return "\n".join(
        [
            f"Script {run.script.name}: the fake and the broker differ at request {len(run.exchanges)}.",
            "Mend the fake, or list the difference with its reason in tests/conformance/differences.py.",
            f"The shortest script found that shows a difference has {len(shortest.script.steps)} steps:",
            "",
            transcript(shortest),
        ]
    )


def _shortest(run: Run, pairing: Pairing) -> Run:
    found = run

    def fails(script: Script) -> bool:
        nonlocal found
        shorter = play(script, pairing)
        found = shorter if shorter.mismatch else found
        return shorter.mismatch

    shrink(replace(run.script, steps=run.script.steps[: len(run.exchanges)]), fails)
    return found


def transcript(run: Run) -> str:
    """Every request with the answer, and with both where they differ."""
    lines = (line for at, exchange in enumerate(run.exchanges, 1) for line in _lines(at, exchange, run.names))
    topics = ", ".join(f"{symbol} ({topic.partitions})" for symbol, topic in run.names.topics.items())
    return "\n".join([f"topics {topics}; {run.script.terms}", *lines])


def _lines(at: int, exchange: Exchange, names: Names) -> Iterator[str]:
    yield f"{at:4}  {_request(exchange, names)}"
    if exchange.differs:
        yield f"        fake:   {told(exchange.fake, names)}"
        yield f"        broker: {told(exchange.broker, names)}"
    else:
        yield f"        {told(exchange.fake, names)}"


def _request(exchange: Exchange, names: Names) -> str:
    request = exchange.request
    if isinstance(request, str):
        return request
    if isinstance(request, Heartbeat):
        return f"{request.member_id[:20] or '(empty)'} heartbeat at {request.epoch} {_said(request, names)}".rstrip()
    return names.symbolic(str(request))


def _said(request: Heartbeat, names: Names) -> str:
    """What a heartbeat says besides who sends it; null fields, and the script's own group, are left out."""
    untold = {"member_id", "epoch"} | ({"group_id"} if request.group_id == names.group_id else set())
    said = ((field.name, getattr(request, field.name)) for field in fields(request) if field.name not in untold)
    shown = ((name, value) for name, value in said if value is not None)
    parts = (f"{name}={names.partitions(v) if isinstance(v, Partitions) else repr(v)}" for name, v in shown)
    return names.symbolic(" ".join(parts))


def told(answer: Answer, names: Names) -> str:
    """An answer in a line, or a group in a few."""
    match answer:
        case HeartbeatAccepted():
            news = "no news" if answer.assignment is None else f"told {names.partitions(answer.assignment)}"
            return f"accepted at {answer.epoch}, {news}; next in {answer.interval_s:g} s"
        case Refused():
            return f"refused {_code(answer.code)}: {names.symbolic(str(answer.message))}"
        case GroupDescription():
            return names.symbolic("\n            ".join(_picture(answer)))
        case _:
            return names.symbolic(str(answer))


def _picture(group: GroupDescription) -> Iterator[str]:
    yield f"{group.state}, epoch {group.epoch}, assigned for {group.assignment_epoch}"
    for member in group.members:
        current, target = (" ".join(sorted(map(str, part))) or "nothing" for part in (member.current, member.target))
        yield f"{member.member_id[:20]} ({member.instance_id}) at {member.epoch}: has {current}; to have {target}"


def _code(code: int) -> str:
    return Code(code).name if code in set(Code) else str(code)
