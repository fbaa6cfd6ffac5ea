"""What identifies a slot: its instance id, and which of two holders of that id is the newer one."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from membership_client.identity import numbered_id


def slot_instance_id(name: str, slot: int) -> str:
    """The `group.instance.id` of one slot: `<name>-<slot>`, the same whichever executor the slot runs on.

    `name` belongs to the job and is chosen by its author: what Spark has instead (executor id, host, attempt, application
    id) changes when an executor or a driver is replaced.
    Raises ConfigError if the result is not an instance id Kafka accepts.
    """
    return numbered_id(name, slot)


_LAST_EPOCH = 10**15 - 1
"""Epochs are milliseconds since 1970: 15 digits last for 31,000 years."""

_CLIENT_ID = re.compile(r".*@([0-9]{1,15})\.([0-9]{1,19})")
"""Limited to the digits that an epoch and a task attempt can have: int() raises for a number of 5,000 digits."""


@dataclass(frozen=True, slots=True, order=True)
class Incarnation:
    """One attempt to run a slot. The greater one is the newer one.

    Spark numbers the task attempts of an application without repetition, but starts again with each driver; so each driver
    has an epoch, which is compared first.
    """

    driver_epoch: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.driver_epoch}.{self.attempt}"

    def client_id(self, instance_id: str) -> str:
        """The `client.id`, by which brokers, operators and other incarnations recognize this one."""
        return f"{instance_id}@{self}"

    @classmethod
    def of_client(cls, client_id: str) -> Self | None:
        """The incarnation in a client id; None if the client id is not that of a slot."""
        found = _CLIENT_ID.fullmatch(client_id)
        return cls(int(found[1]), int(found[2])) if found else None


def next_driver_epoch(client_ids: Iterable[str]) -> int:
    """Greater than that of every earlier driver with a member in the group, even if clocks differ."""
    known = (Incarnation.of_client(client_id) for client_id in client_ids)
    newest = max([time.time_ns() // 1_000_000, *(one.driver_epoch + 1 for one in known if one)])
    return min(newest, _LAST_EPOCH)
