"""Stable identities for the slots of a Spark job."""

from __future__ import annotations

import re

_MAX_LENGTH = 249
_ALLOWED = re.compile(r"[a-zA-Z0-9._-]+")


def slot_instance_id(name: str, slot: int) -> str:
    """The `group.instance.id` of one slot: `<name>-<slot>`, the same whichever executor the slot runs on.

    `name` belongs to the job and is chosen by its author, because everything Spark could offer instead (executor id,
    host, attempt, application id) changes when an executor is replaced, and with it would change the identity.
    Raises ValueError if the result is not an instance id Kafka accepts.
    """
    if not name:
        raise ValueError("the name of the job's slots is empty; give one that stays the same over restarts")
    if slot < 0:
        raise ValueError(f"slot {slot} is negative; slots are numbered from 0, as Spark numbers partitions")
    instance_id = f"{name}-{slot}"
    if not _ALLOWED.fullmatch(instance_id):
        raise ValueError(f"{name!r} cannot name slots: Kafka allows ASCII letters, digits, '.', '_' and '-' only")
    if len(instance_id) > _MAX_LENGTH:
        raise ValueError(
            f"{instance_id!r} has {len(instance_id)} characters, Kafka allows {_MAX_LENGTH}; shorten the name"
        )
    return instance_id
