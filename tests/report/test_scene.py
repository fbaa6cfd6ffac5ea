"""What is drawn is what happened."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from membership_client.core.events import (
    Answered,
    CallbackKind,
    Failed,
    FailureKind,
    Heartbeat,
    HeartbeatAccepted,
    Send,
    Subscribe,
)
from membership_client.debugger.commands.report_command import compose
from membership_client.debugger.report.content import ReportContent
from membership_client.trace import read_trace
from membership_client.types import MemberState
from tests.report.simulated import BEGAN, scene
from tests.report.story import Story
from tests.trace.test_replay import lives

S = MemberState


@pytest.fixture(scope="module", params=range(24))
def seed(request: pytest.FixtureRequest) -> int:
    """Of a simulated group in trouble. All tests of one seed run before those of the next."""
    number: int = request.param
    return number


@pytest.fixture(scope="module")
def drawn(seed: int, tmp_path_factory: pytest.TempPathFactory) -> ReportContent:
    return scene(seed, tmp_path_factory.mktemp("traces"))


def test_owners_are_those_of_the_run(seed: int, drawn: ReportContent) -> None:
    """Of a simulated group in trouble, after every step of every member, for every partition that member touched."""
    lanes = {lane.partition: lane for lane in drawn.partitions}
    for steps in lives(seed).values():
        name = steps[0].before.config.group_instance_id or steps[0].before.member_id
        for step, following in itertools.pairwise(steps):
            for partition in step.after.owned.named(step.after.names):
                at = BEGAN + (step.at + following.at) / 2
                spans = [span for span in lanes[partition].owned if span.began <= at <= span.ended]
                assert spans, (name, partition, step.at)


def test_every_moment_of_a_partition_has_one_owner_or_is_marked(drawn: ReportContent) -> None:
    """Between its first owner and the last: none is a gap, two are an overlap, one is neither."""
    for lane in drawn.partitions:
        spans = [(one.began, one.ended) for one in lane.owned] + [(gap.began, gap.ended) for gap in lane.gaps]
        edges = sorted({edge for span in spans for edge in span})
        for began, ended in itertools.pairwise(edges):
            middle = (began + ended) / 2
            owners = [span.owner for span in lane.owned if span.began < middle < span.ended]
            in_gap = any(gap.began < middle < gap.ended for gap in lane.gaps)
            overlap = next((one for one in lane.overlaps if one.began < middle < one.ended), None)
            assert not (in_gap and owners)
            assert (overlap is not None) == (len(owners) > 1)
            assert overlap is None or sorted(overlap.owners) == sorted(owners)


def test_a_member_is_in_one_state_at_a_time(drawn: ReportContent) -> None:
    """States of a lane follow each other, over all runs of the member."""
    for lane in drawn.members:
        for earlier, later in itertools.pairwise(lane.states):
            assert earlier.began <= earlier.ended <= later.began


def test_two_owners_for_less_than_clocks_may_differ_are_doubtful(tmp_path: Path) -> None:
    """On two machines; one machine has one clock."""

    def overlap(host: str) -> bool:
        one = Story("one", host="h1").tell(0.0, S.STABLE).call(1, 2, CallbackKind.ASSIGNED, {"t": [0]})
        two = Story("two", host=host).tell(0.0, S.STABLE).call(3, 4, CallbackKind.ASSIGNED, {"t": [0]})
        one.call(4.5, 5, CallbackKind.REVOKED, {}).tell(9, S.STABLE)
        paths = [one.write(tmp_path / "one"), two.tell(9, S.STABLE).write(tmp_path / "two")]
        drawn = compose([section for path in paths for section in read_trace(path)], 2.0)
        (found,) = drawn.partitions[0].overlaps
        return found.sure

    assert overlap("h1")
    assert not overlap("h2")


def test_a_member_that_vanished_owns_nothing_any_more(tmp_path: Path) -> None:
    """From its last sign of life on; one that is merely between two heartbeats still does."""
    gone = Story("gone").tell(0.0, S.STABLE).call(1, 2, CallbackKind.ASSIGNED, {"t": [0]}).tell(10, S.STABLE)
    quiet = Story("quiet").tell(0.0, S.STABLE).call(1, 2, CallbackKind.ASSIGNED, {"t": [1]}).tell(57, S.STABLE)
    other = Story("other").tell(0.0, S.STABLE).tell(60, S.STABLE)
    paths = [story.write(tmp_path / str(i)) for i, story in enumerate((gone, quiet, other))]
    drawn = compose([section for path in paths for section in read_trace(path)], 2.0)
    first, second = drawn.partitions
    assert [(span.ended - BEGAN) for span in first.owned] == [10]
    assert [(gap.began - BEGAN, gap.ended - BEGAN) for gap in first.gaps] == [(10, 60)]
    assert [mark.kind for mark in drawn.members[0].marks] == ["end"]
    assert [(span.ended - BEGAN) for span in second.owned] == [60]
    assert second.gaps == ()


def test_after_the_end_of_a_saved_trace_nothing_is_claimed(tmp_path: Path) -> None:
    """It was saved out of memory while its member went on: neither an owner nor a gap, nor the end of a process."""
    saved = (
        Story("saved", saved_at=12).tell(0.0, S.STABLE).call(1, 2, CallbackKind.ASSIGNED, {"t": [0]}).tell(10, S.STABLE)
    )
    other = Story("other").tell(0.0, S.STABLE).tell(60, S.STABLE)
    paths = [saved.write(tmp_path / "saved"), other.write(tmp_path / "other")]
    drawn = compose([section for path in paths for section in read_trace(path)], 2.0)
    (lane,) = drawn.partitions
    assert [(span.ended - BEGAN) for span in lane.owned] == [10]
    assert lane.gaps == ()
    assert [lane.marks for lane in drawn.members] == [(), ()]


def test_what_nobody_subscribes_to_any_more_is_no_gap(tmp_path: Path) -> None:
    """Another member of the group that wants other topics does not make it one."""
    one = Story("one").tell(0.0, S.STABLE, Subscribe(frozenset({"t"}))).call(1, 2, CallbackKind.ASSIGNED, {"t": [0]})
    one.call(8, 9, CallbackKind.REVOKED, {}).tell(9, S.UNSUBSCRIBED)

    def gaps(wish: Subscribe) -> int:
        other = Story("other").tell(0.0, S.STABLE, wish).tell(20, S.STABLE)
        paths = [one.write(tmp_path / "one"), other.write(tmp_path / "other")]
        drawn = compose([section for path in paths for section in read_trace(path)], 2.0)
        return len(drawn.partitions[0].gaps)

    assert gaps(Subscribe(frozenset({"u"}))) == 0
    assert gaps(Subscribe(regex="t.*")) == 1


def test_times_in_which_a_member_was_alone_are_drawn(tmp_path: Path) -> None:
    """It stood still although its heartbeat was due, or it asked and nobody answered."""
    heartbeat = Heartbeat(group_id="g", member_id="m", epoch=1)
    story = Story("m").tell(0, S.STABLE).tell(1, S.STABLE, effects=(Send(1, None, heartbeat),))
    story.tell(2, S.STABLE, Failed(1, FailureKind.DISCONNECTED, "b:9092 closed the connection"))
    story.tell(3, S.STABLE, effects=(Send(2, None, heartbeat),))
    story.tell(4, S.STABLE, Answered(2, HeartbeatAccepted(epoch=1, interval_s=5.0))).tell(30, S.STABLE)
    (lane,) = compose(read_trace(story.write(tmp_path / "trace")), 2.0).members
    drawn = [(one.kind, one.began - BEGAN, one.ended - BEGAN) for one in lane.stretches]
    assert drawn == [("silent", 4, 30), ("unanswered", 1, 4)]
    assert lane.stretches[1].detail == "disconnected: b:9092 closed the connection"


def test_a_restarted_member_stays_in_its_lane_and_a_double_does_not(tmp_path: Path) -> None:
    """Two runs of an instance id at the same time are two lanes, each with its process in the label."""
    first = Story("a-1", instance="a").tell(0, S.STABLE).tell(5, S.STABLE).write(tmp_path / "1")
    second = Story("a-2", instance="a").tell(6, S.STABLE).tell(12, S.STABLE).write(tmp_path / "2")
    double = Story("a-3", instance="a", host="h2").tell(7, S.STABLE).tell(12, S.STABLE).write(tmp_path / "3")

    def labels(*paths: Path) -> list[str]:
        drawn = compose([section for path in paths for section in read_trace(path)], 2.0)
        return [lane.label for lane in drawn.members]

    assert labels(first, second) == ["a"]
    assert labels(first, second, double) == ["a (h1:1)", "a (h2:1)"]


def test_a_state_is_explained_once(tmp_path: Path) -> None:
    """The cause of a run begins with what the state machine calls the transition, and says more."""
    story = Story("one").tell(0.0, S.STABLE, epoch=1).tell(9.0, S.STALE, cause="poll interval exceeded: 300 s")
    (lane,) = compose(read_trace(story.write(tmp_path / "one.jsonl")), 2.0).members
    assert lane.states[-1].reason == "poll interval exceeded: 300 s"
