"""Who gets a slot, when several incarnations want it: every rule, and every order of events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from membership_client_spark.incarnation import Incarnation
from membership_client_spark.leases.ledger import Ending, Ledger, MayJoin, MustEnd, Order

GRACE_S = 10.0
OLD, NEW, NEWEST = Incarnation(1, 5), Incarnation(1, 6), Incarnation(2, 0)


def held_by(holder: Incarnation) -> Ledger:
    ledger = Ledger(GRACE_S)
    assert list(ledger.claim(0, holder, 0.0)) == [MayJoin(0, holder)]
    return ledger


def stopped(orders: list[Order]) -> list[tuple[Incarnation, Ending]]:
    return [(order.to, order.ending) for order in orders if isinstance(order, MustEnd)]


def test_a_free_slot_is_granted_at_once() -> None:
    """Nobody waits where nobody was."""
    assert list(Ledger(GRACE_S).claim(3, OLD, 0.0)) == [MayJoin(3, OLD)]


def test_the_newer_one_waits_until_the_older_has_closed() -> None:
    """The holder is told to stop first; only when it is gone may its successor join."""
    ledger = held_by(OLD)
    orders = list(ledger.claim(0, NEW, 1.0))
    assert stopped(orders) == [(OLD, Ending.SUPERSEDED)]
    assert len(orders) == 1
    assert list(ledger.tick(1.0 + GRACE_S - 0.1)) == []
    assert list(ledger.gone(0, OLD)) == [MayJoin(0, NEW)]


def test_who_claims_again_keeps_its_place() -> None:
    """As each does whose line broke and was mended: the holder has its turn, and who waits is not told to end."""
    ledger = held_by(OLD)
    assert list(ledger.claim(0, OLD, 1.0)) == [MayJoin(0, OLD)]
    assert stopped(list(ledger.claim(0, NEW, 2.0))) == [(OLD, Ending.SUPERSEDED)]
    assert list(ledger.claim(0, NEW, 3.0)) == []


def test_who_waited_and_went_is_not_granted_the_slot() -> None:
    """It would be held by nobody until its grace period is over."""
    ledger = held_by(OLD)
    list(ledger.claim(0, NEW, 1.0))
    assert list(ledger.gone(0, NEW)) == []
    assert list(ledger.tick(1.0 + 2 * GRACE_S)) == []
    assert list(ledger.gone(0, OLD)) == []
    assert ledger.holder(0) is None


def test_a_silent_holder_is_not_waited_for_longer_than_the_grace_period() -> None:
    """A zombie cannot keep its slot by saying nothing; the group fences it when the new one joins."""
    ledger = held_by(OLD)
    list(ledger.claim(0, NEW, 1.0))
    assert list(ledger.tick(1.0 + GRACE_S)) == [MayJoin(0, NEW)]
    assert list(ledger.gone(0, OLD)) == []


def test_the_older_one_never_gets_the_slot_back() -> None:
    """An attempt that comes late, or comes back, is sent away."""
    ledger = held_by(NEW)
    assert stopped(list(ledger.claim(0, OLD, 1.0))) == [(OLD, Ending.SUPERSEDED)]
    assert ledger.holder(0) == NEW


def test_a_third_one_sends_the_one_that_waits_away() -> None:
    """Only the newest waits, and from when the holder was first told to stop."""
    ledger = held_by(OLD)
    list(ledger.claim(0, NEW, 1.0))
    assert stopped(list(ledger.claim(0, NEWEST, 5.0))) == [(NEW, Ending.SUPERSEDED)]
    assert list(ledger.tick(1.0 + GRACE_S)) == [MayJoin(0, NEWEST)]


def test_a_holder_whose_line_was_mended_keeps_its_slot() -> None:
    """A broken connection is not the end of an incarnation that comes back before anybody else."""
    ledger = held_by(OLD)
    assert list(ledger.gone(0, OLD)) == []
    assert list(ledger.claim(0, OLD, 2.0)) == [MayJoin(0, OLD)]


def test_an_ended_slot_is_granted_to_nobody_until_it_is_opened_again() -> None:
    """A retry that Spark starts while we scale down must not join."""
    ledger = held_by(OLD)
    assert stopped(list(ledger.end(0, Ending.REMOVED, "scaled down"))) == [(OLD, Ending.REMOVED)]
    assert stopped(list(ledger.claim(0, NEW, 1.0))) == [(NEW, Ending.REMOVED)]
    ledger.reopen(0)
    list(ledger.gone(0, OLD))
    assert list(ledger.claim(0, NEWEST, 2.0)) == [MayJoin(0, NEWEST)]


def test_a_moved_slot_is_granted_to_the_next() -> None:
    """A move ends the holder and nothing else."""
    ledger = held_by(OLD)
    assert stopped(list(ledger.end(0, Ending.MOVED, "decommissioned"))) == [(OLD, Ending.MOVED)]
    list(ledger.claim(0, NEW, 1.0))
    assert list(ledger.gone(0, OLD)) == [MayJoin(0, NEW)]


INCARNATIONS = st.builds(Incarnation, st.integers(1, 3), st.integers(0, 4))
EVENTS = st.lists(st.tuples(st.sampled_from(["claim", "gone", "tick"]), INCARNATIONS), max_size=60)


@given(EVENTS)
def test_in_any_order_the_newest_that_stays_has_the_slot(events: list[tuple[str, Incarnation]]) -> None:
    """A slot never goes back to an older incarnation while a newer one is there, and waiting ends with the grace period."""
    ledger, now, present = Ledger(GRACE_S), 0.0, set[Incarnation]()
    for kind, who in events:
        now += 1.0
        before = ledger.holder(0)
        if kind == "claim":
            orders, present = list(ledger.claim(0, who, now)), present | {who}
        elif kind == "gone":
            orders, present = list(ledger.gone(0, who)), present - {who}
        else:
            orders = list(ledger.tick(now))
        granted = {order.to for order in orders if isinstance(order, MayJoin)}
        assert before not in present or all(before is not None and one >= before for one in granted)
        present -= {to for to, _ in stopped(orders)}
    list(ledger.tick(now + GRACE_S))
    holder = ledger.holder(0)
    assert all(holder is not None and one <= holder for one in present)
