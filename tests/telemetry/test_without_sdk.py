"""Without an SDK, or with a sampler that takes nothing, telemetry costs nearly nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from membership_client.core.events import Unsubscribe
from membership_client.core.machine import Step, step
from membership_client.telemetry import Telemetry
from membership_client.telemetry.backend import is_listening
from membership_client.types import MemberState
from tests.telemetry.recorder import Recorder, facts
from tests.worker.scene import Scene

S = MemberState
ROOT = Path(__file__).parent.parent.parent

MEMBER = """
import sys
from membership_client import GroupMember
with GroupMember({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}) as member:
    member.subscribe(["orders"])
"""
NO_SDK = 'assert not [name for name in sys.modules if name.startswith("opentelemetry.sdk")]'
LISTENING = """
from opentelemetry import metrics, trace
from opentelemetry.sdk.{sdk} import {kind}Provider
from membership_client.telemetry.backend import is_listening
assert not is_listening()
{sdk}.set_{name}_provider({kind}Provider())
assert is_listening()
"""


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, cwd=ROOT)


def a_life(rests_s: float = 60.0) -> list[Step]:
    """The steps of a join, heartbeats, a leave and another join."""
    scene = Scene.set(callbacks_s=1.0).stable().pass_time(rests_s)
    scene.worker.post(Unsubscribe())
    scene.until(lambda: scene.worker.member.state is S.UNSUBSCRIBED).stable()
    return scene.steps


def test_the_sdk_is_not_loaded() -> None:
    """Only the application decides whether there is one."""
    run(MEMBER + NO_SDK)


def test_either_provider_is_noticed_when_it_is_set() -> None:
    """There may be metrics without traces, or traces without metrics; the API's own placeholders do not count."""
    run(LISTENING.format(sdk="trace", name="tracer", kind="Tracer"))
    run(LISTENING.format(sdk="metrics", name="meter", kind="Meter"))


def test_nothing_is_recorded_while_nobody_listens() -> None:
    """There is no span and no number."""
    recorder, steps = Recorder(), a_life()
    deaf = replace(recorder.backend, is_listening=lambda: False)
    telemetry = Telemetry(steps[0].before, deaf)
    for taken in steps:
        telemetry.on_step(taken)
    telemetry.end()
    assert recorder.spans() == []
    assert recorder.points("membership.heartbeat.duration") == []


def test_who_comes_later_is_told_whole_rebalances_only() -> None:
    """An SDK that is set while a member joins gets the member's leave, but not the second half of the join."""
    recorder, steps = Recorder(), a_life()
    listening: list[bool] = []
    telemetry = Telemetry(steps[0].before, replace(recorder.backend, is_listening=lambda: bool(listening)))
    for taken in steps:
        telemetry.on_step(taken)
        if taken.after.state is S.RECONCILING:
            listening.append(True)
    kinds = [facts(span)["membership.cause.kind"] for span in recorder.spans("membership.rebalance")]
    assert kinds == ["unsubscribed", "joined"]


def test_who_comes_just_before_a_rebalance_is_told_all_of_it() -> None:
    """A provider is looked for when a rebalance begins, even if the last look was a moment ago."""
    recorder, steps = Recorder(), a_life(rests_s=1.0)
    listening: list[bool] = []
    telemetry = Telemetry(steps[0].before, replace(recorder.backend, is_listening=lambda: bool(listening)))
    for taken in steps:
        telemetry.on_step(taken)
        if taken.after.state is S.STABLE:
            listening.append(True)
    assert len(recorder.spans("membership.rebalance")) == 2


class WithoutRebalances(Sampler):
    """A sampler that takes all spans but rebalances."""

    def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
        sampled = "membership.rebalance" not in args
        return SamplingResult(Decision.RECORD_AND_SAMPLE if sampled else Decision.DROP)

    def get_description(self) -> str:
        return "all but rebalances"


def test_a_rebalance_that_is_not_sampled_is_counted_all_the_same() -> None:
    """It has no span, and no child spans."""
    recorder, steps = Recorder(sampler=WithoutRebalances()), a_life()
    recorder.told(steps, steps[0].before)
    assert recorder.spans() == []
    assert recorder.count("membership.rebalance.duration") == 3


def test_a_step_without_an_sdk_costs_a_fraction_of_itself() -> None:
    """It is compared with the step itself, on the same machine at the same time."""
    assert not is_listening()
    steps = Scene.set().stable().pass_time(500.0).steps
    watching = quickest(lambda: Telemetry(steps[0].before).on_step, steps)
    stepping = quickest(lambda: lambda taken: step(taken.before, taken.event, taken.at), steps)
    assert watching < stepping / 4


def quickest(fresh: Callable[[], Callable[[Step], object]], steps: list[Step]) -> float:
    """The smallest CPU time in seconds for all of the steps."""

    def once() -> float:
        action, began = fresh(), time.process_time()
        for taken in steps:
            action(taken)
        return time.process_time() - began

    return min(once() for _ in range(5))
