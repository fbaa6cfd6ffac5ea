"""Messages between a member's process and the demonstration are read as they were written."""

from __future__ import annotations

import pytest

from membership_client import LeaveMode, MemberState
from membership_client.demo.events import (
    LeaveRequest,
    MemberReport,
    MemberRole,
    decode_leave,
    decode_report,
    decode_role,
    encode_leave,
    encode_report,
    encode_role,
)
from tests.demo.recorded import closed, seen, takes


@pytest.mark.parametrize(
    "told", [seen(1.5, "a", 1, MemberState.RECONCILING), takes(2.5, "a", 1, 0, 3), closed(3.5, "a", 1)]
)
def test_what_is_told_arrives_as_it_was(told: MemberReport) -> None:
    line = encode_report(told)
    assert "\n" not in line
    assert decode_report(line) == told


def test_roles_and_farewells_arrive_as_they_were() -> None:
    role = MemberRole(name="a", bootstrap_servers="h:1", group="g", topic="t", instance_id=None, takes_over=True)
    leave = LeaveRequest(LeaveMode.TEMPORARY, "two\nlines")
    assert decode_role(encode_role(role)) == role
    assert decode_leave(encode_leave(leave)) == leave
    assert "\n" not in encode_leave(leave)
