"""A rebalance that an asyncio application asks for is linked to the span of the task that asked, on any thread."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry import trace

from membership_client import MemberState, aio
from tests.integration.members import PATIENCE_S, Group
from tests.telemetry.recorder import Recorder, facts

pytestmark = pytest.mark.kafka


def asked_by(recorder: Recorder, cause: str) -> list[int]:
    """The spans that are linked to rebalances of that cause."""
    told = [span for span in recorder.spans("membership.rebalance") if facts(span)["membership.cause.kind"] == cause]
    return [link.context.span_id for span in told for link in span.links]


def current() -> int:
    return trace.get_current_span().get_span_context().span_id


async def owning(consumer: aio.Consumer, topic: str, **hooks: Any) -> None:
    consumer.subscribe([topic], **hooks)
    async with asyncio.timeout(PATIENCE_S):
        # A rebalance that is not over would be the one that the next thing asked for belongs to.
        while len(await consumer.assignment()) < 6 or consumer.snapshot.state is not MemberState.STABLE:
            await consumer.getmany(timeout_s=0.05)


def test_a_consumer(group: Group, recorder: Recorder) -> None:
    """The links were once missing, because the consumer's own thread leaves the group; callbacks of a close run inside its span."""
    seen = asyncio.run(leave_twice(group, recorder))
    assert asked_by(recorder, "unsubscribed") == [seen["unsubscribe"]]
    assert asked_by(recorder, "closed") == [seen["close"]]
    assert seen["revoked"] == seen["close"]


async def leave_twice(group: Group, recorder: Recorder) -> dict[str, int]:
    config = {"bootstrap.servers": group.bootstrap_servers, "group.id": group.id}
    seen: dict[str, int] = {}
    consumer = aio.Consumer(config)
    await owning(consumer, group.topic)
    with recorder.tracer.start_as_current_span("unsubscribe"):
        seen["unsubscribe"] = current()
        await consumer.unsubscribe()
    async with asyncio.timeout(PATIENCE_S):
        while consumer.snapshot.state is not MemberState.UNSUBSCRIBED:
            await consumer.getmany(timeout_s=0.05)
    await owning(consumer, group.topic, on_revoke=lambda *_: seen.update(revoked=current()))
    with recorder.tracer.start_as_current_span("close"):
        seen["close"] = current()
        await consumer.close()
    return seen


def test_a_member(group: Group, recorder: Recorder) -> None:
    """Its close waits on a thread that is made for it."""
    closing = asyncio.run(join_and_close(group, recorder))
    assert asked_by(recorder, "closed") == [closing]


async def join_and_close(group: Group, recorder: Recorder) -> int:
    member = aio.GroupMember({"bootstrap.servers": group.bootstrap_servers, "group.id": group.id})
    member.subscribe([group.topic])
    await member.wait_until(MemberState.STABLE, PATIENCE_S)
    with recorder.tracer.start_as_current_span("close"):
        await member.close()
        return current()
