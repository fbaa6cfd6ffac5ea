"""What is played in classic groups, on the fake and on a broker."""

from __future__ import annotations

from collections.abc import Callable

from tests.conformance.classic_lines import Line
from tests.conformance.classic_seats import Seat, settle

Play = Callable[[Line], None]

SHORT_S = 1.0
"""As short as a session may be; whatever waits for its end waits for an answer, not for a clock."""
MEDIUM_S = 4.0
"""Long enough for a member that joins at once."""
LONG_S = 20.0
"""Nobody waits for that. A group waits as long as the most patient of its members."""


def alone(line: Line) -> None:
    """A member comes, stays, is told when it errs, and goes."""
    a = Seat(line, "a").enter()
    a.beat()
    a.beat(generation=7)
    a.hear("sync again", a.sync())
    stranger = Seat(line, "s", member_id="nobody", generation=1)
    stranger.beat()
    stranger.joined(stranger.join())
    stranger.leave()
    a.leave()
    a.beat()


def two(line: Line) -> None:
    """The second is held back until the first has joined again; then both get their share by the leader's plan."""
    a, b = Seat(line, "a").enter(), Seat(line, "b")
    b.joined(b.join())
    held = b.join()
    b.waits("join", held)
    a.beat()
    a.joined(a.join())
    b.joined(held)
    waits = b.sync()
    b.waits("sync", waits)
    a.hear("sync", a.sync(a, b))
    b.hear("sync", waits)
    b.beat()
    b.leave()
    a.beat()


def follower_rejoins(line: Line) -> None:
    """A follower that says nothing new is told what it knows; one that wants other topics has all join again."""
    a, b = settle(Seat(line, "a"), Seat(line, "b"))
    b.joined(b.join())
    b.hear("sync", b.sync())
    held = b.join("bills")
    b.waits("join", held)
    a.beat()
    a.joined(a.join())
    b.joined(held)


def leader_rejoins(line: Line) -> None:
    """A leader that joins again always has all others join."""
    a, b = settle(Seat(line, "a"), Seat(line, "b"))
    held = a.join()
    a.waits("join", held)
    b.beat()
    b.hear("sync", b.sync())
    b.joined(b.join())
    a.joined(held)


def leader_leaves(line: Line) -> None:
    """Whoever is left leads."""
    a, b = settle(Seat(line, "a"), Seat(line, "b"))
    a.leave()
    b.beat()
    b.joined(b.join())
    b.hear("sync", b.sync(b))


def static_follower_returns(line: Line) -> None:
    """It takes the place of its former self, which is fenced; nobody joins again."""
    a, b = settle(Seat(line, "a", "i-a"), Seat(line, "b", "i-b"))
    again = Seat(line, "b2", "i-b")
    again.joined(again.join())
    again.hear("sync", again.sync())
    b.beat()
    b.joined(b.join())
    a.beat()


def static_leader_returns(line: Line) -> None:
    """It is told that its plan stands."""
    a, b = settle(Seat(line, "a", "i-a"), Seat(line, "b", "i-b"))
    again = Seat(line, "a2", "i-a")
    again.joined(again.join())
    again.hear("sync", again.sync())
    again.beat()
    a.beat()
    b.beat()


def static_removed(line: Line) -> None:
    """From outside, by its instance id."""
    a = Seat(line, "a", "i-a").enter()
    Seat(line, "operator", "i-a").leave()
    a.beat()


def session_expires(line: Line) -> None:
    """Who is silent for a session is out, and nobody waits for it any longer."""
    a, b = settle(Seat(line, "a"), Seat(line, "b", session_s=SHORT_S))
    held = a.join()
    line.let_pass(SHORT_S, held.done)
    a.joined(held)
    b.beat()
    a.hear("sync", a.sync(a))


def static_session_expires(line: Line) -> None:
    """The same for a static member: until then its place is kept."""
    a, b = settle(Seat(line, "a", "i-a"), Seat(line, "b", "i-b", session_s=SHORT_S))
    held = a.join()
    line.let_pass(SHORT_S, held.done)
    a.joined(held)
    b.beat()


def rebalance_times_out(line: Line) -> None:
    """Who does not join in time is out, though its session goes on."""
    a, b = settle(Seat(line, "a"), Seat(line, "b", rebalance_s=SHORT_S))
    a.rebalance_s = SHORT_S
    held = a.join()
    line.let_pass(SHORT_S, held.done)
    a.joined(held)
    b.beat()


def rebalance_without_a_static_member(line: Line) -> None:
    """A static one that does not join in time stays in the group, and catches up without disturbing it."""
    a, b = settle(Seat(line, "a", "i-a"), Seat(line, "b", "i-b", rebalance_s=MEDIUM_S))
    a.rebalance_s = MEDIUM_S
    held = a.join()
    line.let_pass(MEDIUM_S, held.done)
    a.joined(held)
    b.beat()
    a.hear("sync", a.sync(a, b))
    b.rebalance_s = LONG_S
    b.joined(b.join())
    b.hear("sync", b.sync())
    a.beat()


def both_join_again(line: Line) -> tuple[Seat, Seat]:
    """A rebalance up to where the first of them has to bring a plan, and soon."""
    a, b = settle(Seat(line, "a"), Seat(line, "b", rebalance_s=MEDIUM_S))
    a.rebalance_s = MEDIUM_S
    held = a.join()
    b.joined(b.join())
    a.joined(held)
    return a, b


def nobody_plans(line: Line) -> None:
    """A leader that does not bring the plan in time is out, and so is whoever did not ask for a share."""
    a, b = both_join_again(line)
    waits = b.sync()
    line.let_pass(MEDIUM_S, waits.done)
    b.hear("sync", waits)
    a.beat()
    b.joined(b.join())


def share_is_not_asked_for(line: Line) -> None:
    """Who joins and does not ask for its share in time is out, also when the others long have theirs."""
    a, b = both_join_again(line)
    a.hear("sync", a.sync(a, b))
    b.beat()
    line.let_pass(MEDIUM_S, a.is_called_back)
    a.joined(a.join())
    b.beat()


def strategies_are_voted_on(line: Line) -> None:
    """Only what all offer can be chosen, and who offers nothing that the others do is refused."""
    a, b = Seat(line, "a", strategies=("range", "sticky")).enter(), Seat(line, "b", strategies=("sticky",))
    b.joined(b.join())
    held = b.join()
    b.waits("join", held)
    a.joined(a.join())
    b.joined(held)
    stranger = Seat(line, "s", strategies=("roundrobin",))
    stranger.joined(stranger.join())


PLAYS: tuple[Play, ...] = (
    alone,
    two,
    follower_rejoins,
    leader_rejoins,
    leader_leaves,
    static_follower_returns,
    static_leader_returns,
    static_removed,
    session_expires,
    static_session_expires,
    rebalance_times_out,
    rebalance_without_a_static_member,
    nobody_plans,
    share_is_not_asked_for,
    strategies_are_voted_on,
)


# --- in a group that has room for two --------------------------------------------------------------------------------


def full(line: Line) -> None:
    """Newcomers are refused until somebody leaves, and before anybody asks who they are."""
    a, b = settle(Seat(line, "a"), Seat(line, "b"))
    c = Seat(line, "c")
    c.joined(c.join())
    stranger = Seat(line, "s", member_id="nobody")
    stranger.joined(stranger.join())
    b.joined(b.join())
    b.leave()
    c.joined(c.join())
    a.beat()


def full_of_static_members(line: Line) -> None:
    """One that restarts comes under no id, and is refused although it would only take its own place."""
    a, b = settle(Seat(line, "a", "i-a"), Seat(line, "b", "i-b"))
    again = Seat(line, "b2", "i-b")
    again.joined(again.join())
    b.beat()
    b.leave()
    held = again.join()
    again.waits("join", held)
    a.joined(a.join())
    again.joined(held)


def crowded_out(line: Line) -> None:
    """In a rebalance those count who have joined: the last to come finds its place taken, and is out."""
    a, b = settle(Seat(line, "a"), Seat(line, "b"))
    c, first = Seat(line, "c"), a.join()
    c.joined(c.join())
    second = c.join()
    c.waits("join", second)
    b.joined(b.join())
    a.joined(first)
    c.joined(second)
    b.beat()


FULL_PLAYS: tuple[Play, ...] = (full, full_of_static_members, crowded_out)
