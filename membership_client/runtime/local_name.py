"""What a member is called in the log and the telemetry of its own process."""

from __future__ import annotations

import functools
import os
import socket

from membership_client.core.member import Member
from membership_client.member_names import member_name, with_member_id

_first: dict[tuple[str, str], str] = {}
"""By group and name, the first member of this process that had the name. It grows with the number of client ids only."""


def local_name(member: Member) -> str:
    """The name by the rules of `member_names`. Any thread may call it.

    The second member of this process with the same name, and each one after it, has the end of its member id in its name.
    """
    config = member.config
    return config.group_instance_id or _dynamic_name(config.group_id, config.client_id, member.member_id)


@functools.lru_cache(maxsize=1024)
def _dynamic_name(group: str, client_id: str, member_id: str) -> str:
    """Cached, because it is needed at every step. A forked process has members, and so member ids, of its own."""
    name = member_name(None, client_id, socket.gethostname(), os.getpid())
    return name if _first.setdefault((group, name), member_id) == member_id else with_member_id(name, member_id)
