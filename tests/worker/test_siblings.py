"""The members of a process: which of them are told of a change, how often, and which are not."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref

import pytest

from membership_client import GroupMember, MemberState
from membership_client.core.events import Close, Send, SiblingChange, SiblingChanged, Tick
from membership_client.core.machine import Step
from membership_client.runtime.siblings import Siblings, siblings_of_process
from membership_client.runtime.worker import Worker
from membership_client.testing import EmbeddedKafka
from tests.worker.scene import Scene

PATIENCE_S = 40.0


def stable_siblings() -> tuple[Siblings, list[Scene]]:
    """Stable members that know of each other. Each has brokers of its own, at the same addresses."""
    siblings = Siblings()
    scenes = [Scene.set().stable() for _ in range(2)]
    for scene in scenes:
        siblings.add(scene.worker)
    return siblings, scenes


def leaves(scene: Scene) -> Step:
    """The step with which it has left."""
    scene.worker.post(Close(timeout_s=5.0))
    scene.until(lambda: scene.worker.stopped)
    return next(step for step in scene.steps if step.before.enrolled and not step.after.enrolled)


def told(scene: Scene) -> list[SiblingChanged]:
    """What it was told, once it has taken it in."""
    scene.pass_time(0.0)
    return [step.event for step in scene.steps if isinstance(step.event, SiblingChanged)]


def test_a_member_that_leaves_tells_the_others_which_ask_at_once() -> None:
    """And not itself: its thread has ended by then."""
    siblings, (first, second) = stable_siblings()
    sent = len(second.heartbeats())
    siblings.tell(first.worker, leaves(first))
    assert told(first) == []
    assert told(second) == [SiblingChanged(SiblingChange.LEFT, 0)]
    assert len(second.heartbeats()) == sent + 1


def test_a_step_without_a_change_wakes_no_member() -> None:
    """Nearly all steps are like that."""
    siblings, (first, second) = stable_siblings()
    first.pass_time(30.0)
    for step in first.steps:
        if isinstance(step.event, Tick):
            siblings.tell(first.worker, step)
    assert told(second) == []


def test_members_of_other_groups_and_clusters_are_not_told() -> None:
    """A process may have members of many groups."""
    siblings, (first, _) = stable_siblings()
    others = [Scene.set(callbacks_s=0.0, **{"group.id": "another"}).stable(), Scene.set()]
    for other in others:
        siblings.add(other.worker)
    siblings.tell(first.worker, leaves(first))
    assert [told(other) for other in others] == [[], []]


def test_the_same_change_waits_once_in_a_members_inbox() -> None:
    """A busy member takes it in once, and may then be told the same again."""
    _, (first, _) = stable_siblings()
    event = SiblingChanged(SiblingChange.GAVE_BACK, 3)
    for _ in range(99):
        first.worker.sibling_changed(event)
    assert told(first) == [event]
    first.worker.sibling_changed(event)
    assert told(first) == [event, event]


def test_a_member_that_has_ended_is_told_nothing() -> None:
    """Its transport is closed."""
    siblings, (first, second) = stable_siblings()
    step = leaves(first)
    leaves(second)
    siblings.tell(first.worker, step)
    assert not second.worker._inbox


def test_a_member_that_the_application_dropped_is_gone() -> None:
    """Nothing here keeps it alive."""
    siblings, scenes = stable_siblings()
    first, gone = scenes[0], weakref.ref(scenes[1].worker)
    scenes.clear()
    gc.collect()
    assert gone() is None
    siblings.tell(first.worker, leaves(first))


def test_members_come_and_go_while_others_tell() -> None:
    """A set that grows under an iteration raises, and membership threads make and end members all the time."""
    siblings, (first, _) = stable_siblings()
    step, stop, raised = leaves(first), threading.Event(), list[BaseException]()

    def come_and_go() -> None:
        try:
            while not stop.is_set():
                worker = Worker(first.worker.member, first.brokers)
                siblings.add(worker)
                siblings.remove(worker)
        except BaseException as error:  # noqa: BLE001 - whatever it is fails the test
            raised.append(error)

    threads = [threading.Thread(target=come_and_go) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        siblings.tell(first.worker, step)
    stop.set()
    for thread in threads:
        thread.join()
    assert raised == []


def test_a_forked_child_has_no_siblings_of_its_parent() -> None:
    """Its copies of them have no threads: what a member of the child told them would wait for ever."""
    worker = Scene.set().worker
    siblings_of_process().add(worker)
    pid = os.fork()
    if not pid:
        os._exit(len(list(siblings_of_process()._workers)))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert worker in siblings_of_process()._workers
    siblings_of_process().remove(worker)


@pytest.mark.parametrize("keeper", ["off", "process"])
def test_a_callback_that_never_ends_holds_up_no_sibling(keeper: str) -> None:
    """Telling only hands over an event. A member that cannot take it in keeps its partitions, and the others theirs."""
    release, heartbeats = threading.Event(), list[float]()

    class Stuck:
        def on_partitions_revoked(self, partitions: object, context: object) -> None:
            release.wait(PATIENCE_S)

    def count(step: Step) -> None:
        heartbeats.extend(step.at for effect in step.effects if isinstance(effect, Send))

    with EmbeddedKafka() as kafka:
        kafka.create_topic("orders", 6)
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "group.protocol": "consumer"}
        first = GroupMember(config | {"heartbeat.keeper": keeper}, listener=Stuck(), observers=[count])
        with first, GroupMember(config) as second:
            first.subscribe(["orders"])
            first.wait_until(MemberState.STABLE, PATIENCE_S)
            second.subscribe(["orders"])
            first.wait_until(MemberState.RECONCILING, PATIENCE_S)
            began = len(heartbeats)
            time.sleep(1.0)
            assert len(heartbeats) - began <= 2
            release.set()
            second.wait_until(lambda snapshot: len(snapshot.owned) == 3, PATIENCE_S)
