"""Named situations, each a short script on a network without surprises: a millisecond one way, quick callbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from membership_client.config import CallbackErrorPolicy
from membership_client.testing.fake_coordinator import CoordinatorSettings
from tests.simulation.script import (
    Action,
    Crash,
    Evict,
    Grow,
    Idle,
    Leave,
    Lose,
    Mood,
    Move,
    Plan,
    Resubscribe,
    Retune,
    Script,
    Shut,
    Start,
    Unname,
)

ORDERS = frozenset({"orders"})
BOTH = frozenset({"orders", "bills"})


@dataclass(frozen=True, slots=True)
class Scenario:
    what: str
    script: Script


SCENARIOS: dict[str, Scenario] = {}


def scenario(write: Callable[[], Script]) -> Callable[[], Script]:
    """Registers a scenario under the name of the function that writes it; its docstring says what happens."""
    SCENARIOS[write.__name__] = Scenario(write.__doc__ or "", write())
    return write


def _script(
    plans: list[Plan],
    actions: list[Action],
    *,
    orders: int = 6,
    calm_at: float = 20.0,
    settings: CoordinatorSettings | None = None,
    too_old: bool = False,
) -> Script:
    return Script(
        seed=0,
        topics=(("orders", orders), ("bills", 2)),
        plans=tuple(plans),
        actions=tuple(actions),
        calm_at=calm_at,
        settings=settings or CoordinatorSettings(assignment_interval_s=0.0),
        latency_s=(0.001, 0.001),
        callback_s=(0.0, 0.0),
        too_old=too_old,
    )


def _plan(name: str = "a", **wishes: object) -> Plan:
    return Plan(**{"name": name, "topics": ORDERS, **wishes})  # type: ignore[arg-type]


# --- coming and going ------------------------------------------------------------------------------------------------


@scenario
def first_join() -> Script:
    """A lone member joins, learns the topic's name, takes everything and acknowledges it."""
    return _script([_plan()], [Start(0.0, "a")])


@scenario
def second_member() -> Script:
    """A second member joins with nothing, and gets its half as soon as the first has given it up."""
    return _script([_plan("a"), _plan("b")], [Start(0.0, "a"), Start(2.0, "b")])


@scenario
def leave_with_a_reason() -> Script:
    """A member closes with a reason: partitions back first, then a LeaveGroup that carries it, in the broker's log."""
    return _script(
        [_plan("a"), _plan("b")], [Start(0.0, "a"), Start(2.0, "b"), Shut(12.0, "b", reason="scaled down to one")]
    )


@scenario
def unsubscribe_and_resubscribe() -> Script:
    """Out of the group and in again on the same member, with another subscription."""
    return _script([_plan()], [Start(0.0, "a"), Leave(3.0, "a"), Resubscribe(6.0, "a", BOTH)])


@scenario
def partitions_added() -> Script:
    """The topic grows, and the next heartbeat brings the new partitions."""
    return _script([_plan()], [Start(0.0, "a"), Grow(6.0, "orders", 8)])


# --- static members --------------------------------------------------------------------------------------------------


@scenario
def static_restart() -> Script:
    """A static member leaves temporarily and comes back under another member id: same partitions, same epoch."""
    plans = [_plan("a", instance_id="i-a"), _plan("b")]
    return _script(plans, [Start(0.0, "a"), Start(2.0, "b"), Shut(15.0, "a"), Start(18.0, "a")], calm_at=25.0)


@scenario
def crash_and_takeover() -> Script:
    """A static member is killed; its successor releases the instance id on the dead one's behalf and gets its place."""
    plans = [_plan("a", instance_id="i-a", conflict="takeover")]
    return _script(plans, [Start(0.0, "a"), Crash(7.0, "a"), Start(8.0, "a")])


@scenario
def crash_and_wait() -> Script:
    """A static member is killed; its successor names the holder and waits until the dead one's session has ended."""
    plans = [_plan("a", instance_id="i-a")]
    settings = CoordinatorSettings(assignment_interval_s=0.0, session_timeout_s=6.0)
    return _script(plans, [Start(0.0, "a"), Crash(7.0, "a"), Start(8.0, "a")], settings=settings)


@scenario
def lost_join_answer() -> Script:
    """A static member's join is accepted, the answer is lost, and the group refuses the member because of itself."""
    return _script([_plan("a", instance_id="i-a")], [Lose(at=0.0, who="a"), Start(0.0, "a")], calm_at=25.0)


@scenario
def lost_join_answer_of_a_dynamic_member() -> Script:
    """Without an instance id the repeated join is simply accepted again."""
    return _script([_plan()], [Lose(at=0.0, who="a"), Start(0.0, "a")], calm_at=25.0)


@scenario
def superseded() -> Script:
    """A second process takes the instance id over while the first lives: the first ends, and knows to whom it lost."""
    plans = [_plan("a", instance_id="i"), _plan("b", instance_id="i", conflict="takeover")]
    return _script(plans, [Start(0.0, "a"), Start(7.0, "b")])


# --- being refused ---------------------------------------------------------------------------------------------------


@scenario
def fenced_and_rejoined() -> Script:
    """An operator removes the member: its partitions are lost, and it joins again."""
    return _script([_plan()], [Start(0.0, "a"), Evict(7.0, "a")])


@scenario
def group_full() -> Script:
    """The group is at its limit: the second member ends, and says what can be done."""
    settings = CoordinatorSettings(assignment_interval_s=0.0, max_size=1)
    return _script([_plan("a"), _plan("b")], [Start(0.0, "a"), Start(2.0, "b")], settings=settings)


@scenario
def group_full_and_patient() -> Script:
    """With retry_when_full_s the second member tries until there is room."""
    settings = CoordinatorSettings(assignment_interval_s=0.0, max_size=1)
    plans = [_plan("a"), _plan("b", retry_when_full_s=2.0)]
    return _script(plans, [Start(0.0, "a"), Start(2.0, "b"), Shut(6.0, "a")], settings=settings)


@scenario
def bad_pattern() -> Script:
    """A member states a pattern that the coordinator cannot read: it ends and leaves, and the other one has everything."""
    bad = Resubscribe(15.0, "a", regex="((")
    return _script([_plan("a"), _plan("b")], [Start(0.0, "a"), Start(1.0, "b"), bad])


@scenario
def broker_too_old() -> Script:
    """The brokers do not know the consumer protocol: the member ends with that, and not with silence."""
    return _script([_plan()], [Start(0.0, "a")], too_old=True)


# --- callbacks -------------------------------------------------------------------------------------------------------


def _raising(policy: CallbackErrorPolicy) -> Script:
    return _script([_plan(callback_errors=policy)], [Mood(at=0.0, until=2.0, fails=1.0), Start(0.0, "a")])


@scenario
def callback_raises_raise() -> Script:
    """An assigned callback raises and is tried again with growing pauses; nothing is owned until it returns."""
    return _raising("raise")


@scenario
def callback_raises_continue() -> Script:
    """The same under "continue": the partitions are taken all the same."""
    return _raising("continue")


@scenario
def callback_raises_leave() -> Script:
    """The same under "leave": the member leaves with that reason and ends."""
    return _raising("leave")


@scenario
def new_target_during_a_callback() -> Script:
    """A third member joins while the first still revokes for the second: the newest target counts when it returns."""
    plans = [_plan("a"), _plan("b"), _plan("c")]
    slow = Mood(at=4.0, until=6.0, who="a", slow_s=9.0)
    return _script(plans, [Start(0.0, "a"), slow, Start(2.0, "b"), Start(8.0, "c")], calm_at=40.0)


@scenario
def poll_expiry_and_return() -> Script:
    """The application stops polling, is warned, leaves the group, and is let in again with its next poll."""
    return _script([_plan(polls=True, poll_interval_s=8.0)], [Start(0.0, "a"), Idle(1.0, "a", 15.0)], calm_at=22.0)


# --- answers and brokers that go astray ------------------------------------------------------------------------------


@scenario
def coordinator_moves_while_reconciling() -> Script:
    """The coordinator moves while a revoked callback runs: the member finds it again and tells it everything."""
    slow = Mood(at=4.0, until=6.0, who="a", slow_s=6.0)
    move = Move(at=6.0, to=2, loading_s=0.5)
    return _script([_plan("a"), _plan("b")], [Start(0.0, "a"), slow, Start(2.0, "b"), move], calm_at=30.0)


@scenario
def lost_ack() -> Script:
    """The answer to an acknowledgement is lost: everything is said again, and accepted at the epoch before."""
    lose = Lose(at=5.0085, who="a")
    return _script([_plan("a"), _plan("b")], [Start(0.0, "a"), Start(2.0, "b"), lose], calm_at=30.0)


@scenario
def batched_assignment() -> Script:
    """Assignments are computed once a second: who joins in between gets nothing at first, and asks early for more."""
    settings = CoordinatorSettings(assignment_interval_s=1.0)
    return _script([_plan("a"), _plan("b")], [Start(0.0, "a"), Start(0.4, "b")], settings=settings)


@scenario
def unresolved_topic() -> Script:
    """The brokers do not yet tell the name of one topic: the other is taken meanwhile, that one when its name comes."""
    return _script([_plan(topics=BOTH)], [Unname(0.0, "bills", 3.0), Start(0.0, "a")])


@scenario
def interval_changed() -> Script:
    """The operator changes the heartbeat interval, and the member keeps to the new one from the next answer on."""
    return _script([_plan()], [Start(0.0, "a"), Retune(7.0, heartbeat_interval_s=2.0)])


# --- the classic protocol --------------------------------------------------------------------------------------------


def _classic(name: str = "a", strategy: str = "range", **wishes: object) -> Plan:
    return _plan(name, strategy=strategy, **wishes)


@scenario
def classic_first_join() -> Script:
    """A lone member is given an id, joins under it, leads, looks at the topics, and sends itself the plan."""
    return _script([_classic()], [Start(0.0, "a")])


@scenario
def classic_second_member_eager() -> Script:
    """A second member joins: the first hears of it, gives everything back, joins again, and both get their half."""
    return _script([_classic("a"), _classic("b")], [Start(0.0, "a"), Start(2.0, "b")])


@scenario
def classic_second_member_cooperative() -> Script:
    """The first keeps its half throughout; what it gives up is given away by a second rebalance."""
    plans = [_classic("a", "cooperative-sticky"), _classic("b", "cooperative-sticky")]
    return _script(plans, [Start(0.0, "a"), Start(2.0, "b")])


@scenario
def classic_static_restart() -> Script:
    """A static leader closes without a word and comes back: its plan stands, and the other member notices nothing."""
    plans = [_classic("a", instance_id="i-a"), _classic("b", instance_id="i-b")]
    return _script(plans, [Start(0.0, "a"), Start(2.0, "b"), Shut(12.0, "a"), Start(14.0, "a")])


@scenario
def classic_newcomer_wins() -> Script:
    """A second process with the same instance id takes the place of the first, which ends."""
    plans = [_classic("a", instance_id="i"), _classic("b", instance_id="i")]
    return _script(plans, [Start(0.0, "a"), Start(3.0, "b")])


@scenario
def classic_leader_killed() -> Script:
    """The session of a leader that was killed expires; the other member leads, and takes everything."""
    return _script([_classic("a"), _classic("b")], [Start(0.0, "a"), Start(2.0, "b"), Crash(12.0, "a")], calm_at=60.0)


@scenario
def classic_coordinator_moves_in_a_rebalance() -> Script:
    """A member that waits for others learns that the coordinator has moved, finds it, and joins again."""
    slow = Mood(at=0.5, until=6.0, who="a", slow_s=4.0)
    move = Move(at=7.0, to=2, loading_s=0.5)
    return _script([_classic("a"), _classic("b")], [Start(0.0, "a"), slow, Start(2.0, "b"), move], calm_at=30.0)
