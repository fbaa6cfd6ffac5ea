"""Telemetry of groups in trouble: the spans of a member always fit into each other."""

from __future__ import annotations

import itertools

import pytest
from opentelemetry.sdk.trace import ReadableSpan

from membership_client.core.events import CallbackReturned
from membership_client.core.machine import Step
from membership_client.runtime.rebalance_tracker import at_rest
from tests.telemetry.recorder import Recorder, facts, id_of, times, virtual
from tests.trace.test_replay import lives

SEEDS = range(40)


@pytest.fixture(scope="module", params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a simulated group. All tests of one seed run before those of the next."""
    number: int = request.param
    return number


def told(steps: list[Step]) -> Recorder:
    """The telemetry of one member, up to its end."""
    recorder = Recorder(virtual(lambda: steps[-1].at))
    recorder.told(steps, steps[0].before).end()
    return recorder


def callbacks_that_returned(steps: list[Step]) -> int:
    answers = (step for step in steps if isinstance(step.event, CallbackReturned) and step.before.call)
    return sum(step.after.call is not step.before.call for step in answers)


def beginnings(steps: list[Step]) -> int:
    return sum(at_rest(step.before) and not at_rest(step.after) for step in steps)


def test_every_rebalance_is_told_once_and_to_its_end(seed: int) -> None:
    """There are as many spans as rebalances and callbacks, none is open, and the counters agree."""
    for steps in lives(seed).values():
        recorder = told(steps)
        rebalances = recorder.spans("membership.rebalance")
        assert recorder.open.count == 0
        assert len(rebalances) == beginnings(steps) == recorder.count("membership.rebalance.duration")
        returned = [span for span in recorder.spans() if facts(span).get("membership.callback.returned")]
        assert len(returned) == callbacks_that_returned(steps) == recorder.count("membership.callback.duration")


def test_children_lie_within_their_parents(seed: int) -> None:
    """No duration is negative, phases fill their rebalance without a gap, and rebalances do not overlap."""
    for steps in lives(seed).values():
        recorder = told(steps)
        spans = {id_of(span): span for span in recorder.spans()}
        for span in spans.values():
            assert_within(span, spans[span.parent.span_id] if span.parent else span)
        for rebalance in recorder.spans("membership.rebalance"):
            phases = [span for span in recorder.children(rebalance) if "membership.phase" in facts(span)]
            assert_filled(rebalance, phases)
        in_turn = [times(span) for span in recorder.spans("membership.rebalance")]
        assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(in_turn))


def assert_within(inner: ReadableSpan, outer: ReadableSpan) -> None:
    (began, ended), (first, last) = times(inner), times(outer)
    assert first <= began <= ended <= last


def assert_filled(whole: ReadableSpan, parts: list[ReadableSpan]) -> None:
    moments = [moment for part in parts for moment in times(part)]
    assert [moments[0], moments[-1]] == list(times(whole))
    assert moments[1:-1:2] == moments[2:-1:2]
