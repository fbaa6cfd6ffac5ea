"""The orders of a worker to its keeper, and the reports that it reads first, with a recorded link and a virtual clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from membership_client.core.events import Answered, Effect, HeartbeatAccepted, KeeperReported, Send, Tick
from membership_client.core.keeper import GRACE, Watch, until, watch_of
from membership_client.core.machine import step
from membership_client.core.member import Member
from membership_client.keeper.order_state import KeeperReport
from membership_client.runtime.keeper_control import KeeperControl
from membership_client.types import MemberState
from membership_client.values import replace
from tests.core.classic_play import in_classic_state
from tests.core.play import INTERVAL_S, Play, in_state


@dataclass
class Written:
    """A link that records its messages."""

    told: list[object] = field(default_factory=list)
    awaited: list[int] = field(default_factory=list)
    coming: list[KeeperReport] | None = field(default_factory=list)
    is_opening: bool = False

    def prepare(self) -> None: ...

    def order(self, number: int, watch: Watch, until: float) -> bool:
        self.told.append((number, watch.at))
        return True

    def stop(self, number: int) -> None:
        self.told.append(number)

    def await_stop(self, number: int) -> None:
        assert self.told[-1] == number
        self.awaited.append(number)

    def reports(self) -> list[KeeperReport] | None:
        found = self.coming
        self.coming = self.coming and []
        return found

    def reset(self) -> None:
        self.coming = None

    def close(self) -> None: ...
    def abandon(self) -> None: ...


class Scene:
    """A stable member, its keeper control, and the time."""

    def __init__(self) -> None:
        self.play: Play = in_state(MemberState.STABLE)
        self.link = Written()
        self.now = self.play.now
        self.control = KeeperControl(self.link, lambda: self.now)
        self.offer(self.play.member)

    def offer(self, member: Member, *effects: Effect) -> KeeperReported | None:
        return self.control.before(Tick(), member, effects, held=False)

    def next_step(self) -> KeeperReported | None:
        """The step that sends the next heartbeat now."""
        return self.offer(*self.stepped())

    def stepped(self) -> tuple[Member, *tuple[Effect, ...]]:
        member, effects = step(self.play.member, Tick(), max(self.now, self.play.member.heartbeat_due))
        assert any(isinstance(effect, Send) for effect in effects)
        return member, *effects


def test_a_member_in_time_replaces_the_order() -> None:
    """There is one message per heartbeat, and no report."""
    scene = Scene()
    first = scene.play.member.heartbeat_due + GRACE * INTERVAL_S
    scene.now = scene.play.member.heartbeat_due
    assert scene.next_step() is None
    assert scene.link.told == [(1, first), (2, first + INTERVAL_S)]


def test_a_late_member_hears_the_keeper_first() -> None:
    """The order is stopped, and the report is handled before the step."""
    scene = Scene()
    scene.now = scene.play.member.heartbeat_due + GRACE * INTERVAL_S
    scene.link.coming = [KeeperReport(1, 9, scene.now, settled=False)]
    report = scene.next_step()
    assert report == KeeperReported(scene.play.member.epoch, 9, scene.now)
    assert scene.link.told[-1] == 2
    assert scene.link.awaited == [2]
    assert scene.control.news(10.0) is None


def test_no_order_until_the_stop_is_confirmed() -> None:
    """Every heartbeat is full meanwhile, because one of the keeper's may still be under way."""
    scene = Scene()
    scene.now = scene.play.member.heartbeat_due + GRACE * INTERVAL_S
    assert scene.next_step() is not None
    told = len(scene.link.told)
    assert scene.next_step() is not None
    assert len(scene.link.told) == told
    scene.link.coming = [KeeperReport(2, scene.play.member.epoch, None, settled=True)]
    assert scene.control.news(10.0) is not None
    assert scene.next_step() is None
    assert len(scene.link.told) == told + 1


def test_a_keeper_that_is_gone_may_have_sent_something() -> None:
    """After this was handled, the next order goes to another keeper."""
    scene = Scene()
    scene.now = scene.play.member.heartbeat_due + GRACE * INTERVAL_S
    scene.link.coming = None
    assert scene.next_step() is not None
    assert scene.next_step() is None


def test_a_keeper_that_does_not_answer_is_parted_with() -> None:
    """If it is stopped for ever, every heartbeat would otherwise be full."""
    scene = Scene()
    scene.now = scene.play.member.heartbeat_due + GRACE * INTERVAL_S
    scene.next_step()
    scene.now += 9.9
    assert scene.control.news(10.0) is None
    assert scene.link.coming is not None
    scene.now += 0.1
    assert scene.control.news(10.0) is not None
    assert scene.link.coming is None


# --- the core --------------------------------------------------------------------------------------------------------


def test_only_a_member_that_the_coordinator_counts_is_watched() -> None:
    """The keeper does nothing for a join, a leave or a fence."""
    for state in MemberState:
        watch = watch_of(in_state(state).member)
        expected = state in {MemberState.RECONCILING, MemberState.ACK, MemberState.STABLE}
        assert (watch is not None) is expected or state is MemberState.LEAVING, state


def test_the_keepalive_says_what_is_owned() -> None:
    """Then the coordinator also accepts the previous epoch: the answer with a new one may not have been read."""
    watch = watch_of(in_state(MemberState.STABLE).member)
    assert watch is not None
    assert getattr(watch.request, "owned", None)


def test_the_keeper_has_the_applications_budget_and_no_more() -> None:
    """The budget counts from the last poll; during a hold, or without polls, from now on."""
    member = in_state(MemberState.STABLE).member
    assert until(member, 50.0, held=False) == 50.0 + member.poll_interval_s
    polling = replace(member, polled_at=40.0)
    assert until(polling, 50.0, held=False) == 40.0 + member.poll_interval_s
    assert until(polling, 50.0, held=True) == 50.0 + member.poll_interval_s


def test_a_report_makes_the_next_heartbeat_full_under_the_newest_epoch() -> None:
    """The coordinator sends a target once, and may have sent it to the keeper."""
    play = in_state(MemberState.STABLE)
    epoch = play.member.epoch
    play.do(KeeperReported(epoch, epoch + 2, play.now))
    heartbeat = play.open_sends()[-1].request
    assert (getattr(heartbeat, "epoch", None), getattr(heartbeat, "rebalance_timeout_s", None) is not None) == (
        epoch + 2,
        True,
    )


def test_an_answer_from_before_the_report_counts_as_none() -> None:
    """A full heartbeat follows, because the target that came to the keeper is newer than that answer."""
    play = in_state(MemberState.STABLE)
    play.advance(INTERVAL_S)
    asked = play.open_sends()[-1]
    play.do(KeeperReported(play.member.epoch, play.member.epoch, play.now))
    assert play.open_sends()[-1] is asked
    play.do(Answered(asked.request_id, HeartbeatAccepted(epoch=play.member.epoch, interval_s=INTERVAL_S)))
    assert getattr(play.open_sends()[-1].request, "rebalance_timeout_s", None) is not None


def test_a_kept_classic_member_does_not_end_its_session() -> None:
    """Its own session counts from the last heartbeat that was sent for it, also by the keeper."""
    play = in_classic_state(MemberState.STABLE)
    member = play.member
    later = play.now + member.session_timeout_s - 1
    after, _ = step(member, KeeperReported(member.epoch, member.epoch, later), later + 2)
    assert after.state is MemberState.STABLE
