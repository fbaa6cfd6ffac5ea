"""Removals that a broker cannot carry out, and removals whose answers get lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from membership_client.admin import UnknownMemberError, UnsupportedByBrokerError
from membership_client.admin.asking import AdminConnection, Asker
from membership_client.admin.removal import remove
from tests.admin.test_watch import SLOW
from tests.net import answers
from tests.net.answers import Code, module
from tests.net.scripted_broker import MODERN, Peer, ScriptedBroker

UNKNOWN_MEMBER_ID = 25


class Coordinator:
    """A scripted coordinator that hangs up on the first removals, and then no longer knows the member."""

    def __init__(self, *, loses: int = 0, newest: int = 5) -> None:
        self._loses = loses
        self._offer = {**MODERN, answers.LEAVE_GROUP: (0, newest)}
        self.broker = ScriptedBroker(self._serve)

    def _serve(self, peer: Peer) -> None:
        peer.welcome(self._offer)
        node = self.broker.node
        while True:
            asked = peer.request()
            if asked.api_key == answers.FIND_COORDINATOR:
                peer.answer(asked, answers.coordinator(asked.version, group="shop", host=node.host, port=node.port))
            elif self._loses:
                self._loses -= 1
                return
            else:
                peer.answer(asked, _unknown(asked.message.members))


def _unknown(members: tuple[Any, ...]) -> Any:
    wire = module(answers.LEAVE_GROUP, 5)
    named = (
        wire.MemberResponse(
            member_id=m.member_id, group_instance_id=m.group_instance_id, error_code=Code(UNKNOWN_MEMBER_ID)
        )
        for m in members
    )
    return wire.LeaveGroupResponse(error_code=Code(0), members=tuple(named), throttle_time=answers.milliseconds(0))


@contextlib.contextmanager
def asking(coordinator: Coordinator) -> Iterator[Asker]:
    with coordinator.broker:
        asker = Asker(AdminConnection(bootstrap=(coordinator.broker.node,), client_id="test", timeout_s=30))
        with contextlib.closing(asker):
            yield asker


@pytest.mark.parametrize(("loses", "error"), [(0, UnknownMemberError), (1, type(None))])
def test_who_is_unknown_the_second_time_was_removed_the_first(loses: int, error: type) -> None:
    """If the answer to a successful removal gets lost, the outcome is a success; it was once a failure."""
    with asking(Coordinator(loses=loses)) as asker:
        outcomes = remove(asker, "shop", {"till-1": SLOW}, "node lost")
    assert isinstance(outcomes["till-1"].error, error)


def test_a_broker_that_cannot_remove_others_is_named() -> None:
    """Before KIP-345 members could only leave by themselves. The error says what the broker lacks, and since when Kafka has it."""
    with (
        asking(Coordinator(newest=2)) as asker,
        pytest.raises(UnsupportedByBrokerError, match=r"needs LeaveGroup.* \(Kafka .* or later has it\)"),
    ):
        remove(asker, "shop", {"till-1": SLOW}, "node lost")
