"""A machine that crashes while a line is written, and starts again."""

from __future__ import annotations

from pathlib import Path

import pytest

from membership_client import MemberConfig
from membership_client.core.member import Member
from membership_client.trace import Journal, read_trace
from membership_client.trace.trace_file import TraceFile

MEMBER = Member(config=MemberConfig(bootstrap_servers="b:1", group_id="shop"), member_id="m1")


@pytest.mark.parametrize("half", ['{"at":1.0,"no', '{"at":1.0,"event":{"is":"Tick"}', '{"at":1.0,"effects":[{}'])
def test_a_run_after_a_torn_line_begins_on_a_line_of_its_own(half: str, tmp_path: Path) -> None:
    """Both runs can be read, and the first is marked as torn; once it was not if its last line ended in a brace."""
    path = tmp_path / "t"
    Journal(MEMBER, TraceFile(path, max_bytes=10**9, keep=1)).close()
    with path.open("a") as file:
        file.write(half)
    journal = Journal(MEMBER, TraceFile(path, max_bytes=10**9, keep=1))
    journal.note("commit", partitions=3)
    journal.close()
    first, second = read_trace(path)
    assert (first.torn, second.torn) == (True, False)
    assert (second.line, len(second.entries)) == (3, 1)


def test_a_run_after_a_torn_header_is_the_first(tmp_path: Path) -> None:
    """Only half a header was written of the run before it."""
    path = tmp_path / "t"
    path.write_text('{"trace":1,"group":"sh')
    Journal(MEMBER, TraceFile(path, max_bytes=10**9, keep=1)).close()
    (section,) = read_trace(path)
    assert (section.line, section.torn) == (2, False)
