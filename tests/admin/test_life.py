"""A GroupAdmin in a forked child, and after its end."""

from __future__ import annotations

import os

import pytest

from membership_client import MemberClosedError
from membership_client.admin import GroupAdmin
from membership_client.testing import KafkaCluster

pytestmark = [
    pytest.mark.kafka,
    # Python 3.12 warns of forks beside threads, and that is what is tested.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

QUESTIONS = 20


def ask_often(admin: GroupAdmin) -> None:
    for _ in range(QUESTIONS):
        admin.list()


def test_parent_and_forked_child_ask_at_the_same_time(kafka: KafkaCluster) -> None:
    """They once shared a connection, read each other's answers, and failed after their timeouts."""
    with GroupAdmin(kafka.bootstrap_servers) as admin:
        admin.list()
        if (child := os.fork()) == 0:
            try:
                ask_often(admin)
            except BaseException:  # noqa: BLE001 - the parent reads the exit code
                os._exit(1)
            os._exit(0)
        try:
            ask_often(admin)
        finally:
            _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_closed_one_says_so(kafka: KafkaCluster) -> None:
    """The error once was a RuntimeError of the transport."""
    admin = GroupAdmin(kafka.bootstrap_servers)
    admin.close()
    admin.close()
    with pytest.raises(MemberClosedError, match="This GroupAdmin is closed"):
        admin.list()
