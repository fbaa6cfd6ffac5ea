"""What one member learned of topics serves all members of the process."""

from __future__ import annotations

from uuid import UUID

import pytest

from membership_client.runtime import topic_names
from membership_client.runtime.topic_names import TopicNames

A, B = UUID(int=1), UUID(int=2)


def test_names_are_known_all_or_not_at_all() -> None:
    """A question is saved only if the whole answer is known."""
    names = TopicNames()
    names.learn({A: "orders"})
    assert names.all_of(frozenset({A})) == {A: "orders"}
    assert names.all_of(frozenset({A, B})) is None
    names.learn({B: "bills"})
    assert names.all_of(frozenset({A, B})) == {A: "orders", B: "bills"}


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that sees topics come and go for years forgets, and asks again."""
    monkeypatch.setattr(topic_names, "_MOST", 2)
    names = TopicNames()
    names.learn({A: "orders", B: "bills"})
    names.learn({UUID(int=3): "stock"})
    assert names.all_of(frozenset({A})) is None
    assert names.all_of(frozenset({UUID(int=3)})) == {UUID(int=3): "stock"}
