"""What a member is called."""

from __future__ import annotations

import os
import socket
from dataclasses import replace

import pytest

from membership_client.core.member import Member
from membership_client.member_names import member_name, told_apart
from membership_client.runtime.local_name import local_name
from tests.core.play import config


@pytest.mark.parametrize(
    ("instance", "client", "pid", "name"),
    [
        ("till-1", "shop", 17, "till-1"),
        (None, "shop", 17, "shop@node-1:17"),
        (None, "membership-client", 17, "node-1:17"),
        (None, "rdkafka", None, "node-1"),
        (None, "shop", None, "shop@node-1"),
        (None, "", 17, "node-1:17"),
    ],
)
def test_a_name_says_which_process_it_is(instance: str | None, client: str, pid: int | None, name: str) -> None:
    """The instance id says it alone; a client id that the application did not choose says nothing."""
    assert member_name(instance, client, "node-1", pid) == name


def test_members_of_one_name_are_told_apart_by_the_ends_of_their_ids() -> None:
    """In full where the ends are the same, too; no other name becomes longer."""
    names = {1: "h:1", 2: "h:1", 3: "h:2"}
    ids = {1: "consumer-1-aaaabbbb", 2: "consumer-1-ccccdddd", 3: "x"}
    assert told_apart(names, ids) == {1: "h:1 (aaaabbbb)", 2: "h:1 (ccccdddd)", 3: "h:2"}
    ids[2] = "consumer-2-aaaabbbb"
    assert told_apart(names, ids)[2] == "h:1 (consumer-2-aaaabbbb)"


def test_the_second_member_of_a_process_has_its_id_in_its_name() -> None:
    """The first has the plain one, and keeps it."""
    first = Member(config=config(**{"client.id": "twice"}), member_id="first-member")
    second = replace(first, member_id="second-member")
    plain = f"twice@{socket.gethostname()}:{os.getpid()}"
    assert [local_name(one) for one in (first, second, first)] == [plain, f"{plain} (d-member)", plain]
