"""A member whose thread ended by a bug: what it says, and what the application is told to have lost."""

from __future__ import annotations

from membership_client.core.events import CallbackKind, RunCallback, TellLost
from membership_client.core.fencing import crashed
from membership_client.errors import ProblemKind
from membership_client.partitions import NOTHING
from membership_client.types import MemberState, TopicPartition
from tests.core.play import Play, orders


def lost(play: Play) -> list[int]:
    """What the lost callback is given."""
    _, effects = crashed(play.member, "KeyError", play.now)
    calls = [effect for effect in effects if isinstance(effect, RunCallback)]
    assert all(call.kind is CallbackKind.LOST for call in calls)
    return [partition.partition for call in calls for partition in call.partitions]


def test_a_crashed_member_is_fatal_owns_nothing_and_says_what_ended_it() -> None:
    """It once looked STABLE for ever, with partitions that others had by then."""
    play = Play.new().stable(0, 1)
    member, effects = crashed(play.member, "KeyError", play.now)
    assert (member.state, bool(member.owned), member.target, member.call) == (MemberState.FATAL, False, None, None)
    assert member.problem is not None
    assert (member.problem.kind, "KeyError" in member.problem.detail) == (ProblemKind.CRASHED, True)
    (call,) = effects
    assert isinstance(call, RunCallback)
    assert call.partitions == (TopicPartition("orders", 0), TopicPartition("orders", 1))
    assert call.deadline is None


def test_a_member_that_owned_nothing_has_nothing_to_tell() -> None:
    """No callback with nothing in it."""
    assert crashed(Play.new().joining().member, "KeyError", 0.0)[1] == ()


def test_partitions_whose_revoke_runs_are_not_lost_a_second_time() -> None:
    """The running callback takes them away, and learns that it is too late to commit."""
    play = Play.new().stable(0, 1).told(orders(0))
    _, effects = crashed(play.member, "KeyError", play.now)
    assert play.member.call is not None
    assert effects[0] == TellLost(play.member.call.call_id)
    assert lost(play) == [0]


def test_a_callback_that_still_runs_is_not_waited_for() -> None:
    """Nothing takes its return into account, so nothing of it is shown either."""
    member, _ = crashed(Play.new().stable(0, 1).told(orders(0)).member, "KeyError", 0.0)
    assert (member.call, member.owned) == (None, NOTHING)


def test_partitions_whose_assign_runs_are_lost_too() -> None:
    """The application sets something up for them at this moment."""
    play = Play.new().stable(0).told(orders(0, 1))
    assert lost(play) == [0, 1]
