"""Who has no SDK, or samples nothing, does not notice telemetry."""

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
    """A join, heartbeats, a leave and another join."""
    scene = Scene.set(callbacks_s=1.0).stable().pass_time(rests_s)
    scene.worker.post(Unsubscribe())
    scene.until(lambda: scene.worker.member.state is S.UNSUBSCRIBED).stable()
    return scene.steps


def test_the_sdk_is_not_loaded() -> None:
    """Whether there is one is the application's business."""
    run(MEMBER + NO_SDK)


def test_either_provider_is_noticed_when_it_is_set() -> None:
    """Metrics without traces, traces without metrics; the API's own stand-ins do not count."""
    run(LISTENING.format(sdk="trace", name="tracer", kind="Tracer"))
    run(LISTENING.format(sdk="metrics", name="meter", kind="Meter"))


def test_nothing_is_recorded_while_nobody_listens() -> None:
    """Neither a span nor a number."""
    recorder, steps = Recorder(), a_life()
    deaf = replace(recorder.backend, is_listening=lambda: False)
    telemetry = Telemetry(steps[0].before, deaf)
    for taken in steps:
        telemetry.on_step(taken)
    telemetry.end()
    assert recorder.spans() == []
    assert recorder.points("membership.heartbeat.duration") == []


def test_who_comes_later_is_told_whole_rebalances_only() -> None:
    """An SDK that is set while a member joins sees that one's leave, but no half of the join."""
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
    """Its beginning is looked at, however short the last look was ago."""
    recorder, steps = Recorder(), a_life(rests_s=1.0)
    listening: list[bool] = []
    telemetry = Telemetry(steps[0].before, replace(recorder.backend, is_listening=lambda: bool(listening)))
    for taken in steps:
        telemetry.on_step(taken)
        if taken.after.state is S.STABLE:
            listening.append(True)
    assert len(recorder.spans("membership.rebalance")) == 2


class WithoutRebalances(Sampler):
    """Would sample everything else."""

    def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
        sampled = "membership.rebalance" not in args
        return SamplingResult(Decision.RECORD_AND_SAMPLE if sampled else Decision.DROP)

    def get_description(self) -> str:
        return "all but rebalances"


def test_a_rebalance_that_is_not_sampled_is_counted_all_the_same() -> None:
    """No span of it is made, and no child either."""
    recorder, steps = Recorder(sampler=WithoutRebalances()), a_life()
    recorder.told(steps, steps[0].before)
    assert recorder.spans() == []
    assert recorder.count("membership.rebalance.duration") == 3


def test_a_step_without_an_sdk_costs_a_fraction_of_itself() -> None:
    """Compared with the step it watches, which the same machine takes at the same time."""
    assert not is_listening()
    steps = Scene.set().stable().pass_time(500.0).steps
    watching = quickest(lambda: Telemetry(steps[0].before).on_step, steps)
    stepping = quickest(lambda: lambda taken: step(taken.before, taken.event, taken.at), steps)
    assert watching < stepping / 4


def quickest(fresh: Callable[[], Callable[[Step], object]], steps: list[Step]) -> float:
    """CPU seconds for all of them, undisturbed."""

    def once() -> float:
        action, began = fresh(), time.process_time()
        for taken in steps:
            action(taken)
        return time.process_time() - began

    return min(once() for _ in range(5))
