"""The judge of the other tests is judged here: it must notice what it is there for."""

from __future__ import annotations

import pytest

from membership_client import TopicPartition
from tests.peers.history import History, assert_never_shared, unowned_s

ONE, TWO = TopicPartition("orders", 1), TopicPartition("orders", 2)


def history(*changes: tuple[object, ...]) -> History:
    made = History()
    for kind, at, *partitions in changes:
        made.add(kind, partitions, at)  # type: ignore[arg-type]
    return made


def test_two_owners_are_noticed() -> None:
    """Even for an instant, and also when neither has given the partition back."""
    first = history(("assigned", 1.0, ONE, TWO), ("revoked", 3.0, TWO))
    for second in (history(("assigned", 2.9, TWO)), history(("assigned", 5.0, ONE))):
        with pytest.raises(AssertionError, match="held twice"):
            assert_never_shared([first, second])


def test_one_owner_after_the_other() -> None:
    """Given back, lost or left by death: the next may have it from that moment on."""
    first = history(("assigned", 1.0, ONE, TWO), ("revoked", 3.0, TWO), ("died", 4.0))
    second = history(("assigned", 3.0, TWO), ("lost", 5.0, TWO), ("assigned", 6.0, ONE, TWO))
    assert_never_shared([first, second])
    assert second.owned == {ONE, TWO}
    assert first.owned == frozenset()


def test_time_without_an_owner() -> None:
    """Counted for every partition between two owners, not before the first or after the last; or from some moment on."""
    first = history(("assigned", 1.0, ONE, TWO), ("revoked", 3.0, ONE, TWO))
    second = history(("assigned", 3.5, ONE), ("assigned", 5.0, TWO), ("revoked", 9.0, TWO))
    assert unowned_s([first, second]) == pytest.approx(0.5 + 2.0)
    assert unowned_s([first, second], since=3.1) == 0
