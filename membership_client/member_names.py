"""Names of members for the log, the debugger, `watch`, `groups` and telemetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)

DEFAULT_CLIENT_ID = "membership-client"
DEFAULT_CLIENT_IDS = frozenset({"", DEFAULT_CLIENT_ID, "rdkafka"})
"""What clients send if the application has set no client.id. These names tell no member from others."""

_SHORT = 8
"""How many letters of a member id are shown, to tell it from others."""


def member_name(instance_id: str | None, client_id: str, host: str, pid: int | None) -> str:
    """The instance id; else `client.id@host:process`; else `host:process`. `pid` is None if it is not known."""
    if instance_id:
        return instance_id
    place = host.removeprefix("/") if pid is None else f"{host}:{pid}"
    return place if client_id in DEFAULT_CLIENT_IDS else f"{client_id}@{place}"


def with_member_id(name: str, member_id: str) -> str:
    """The name with the end of the member id, for a member whose name another one has, too. Classic ids differ at the end."""
    return f"{name} ({member_id[-_SHORT:]})"


def told_apart(names: Mapping[_Key, str], member_ids: Mapping[_Key, str]) -> dict[_Key, str]:
    """Names with the end of the member id wherever several members have the same name; in full where the ends are the same."""
    counts = Counter(names.values())
    found = {key: with_member_id(name, member_ids[key]) if counts[name] > 1 else name for key, name in names.items()}
    counts = Counter(found.values())
    return {key: f"{names[key]} ({member_ids[key]})" if counts[name] > 1 else name for key, name in found.items()}
