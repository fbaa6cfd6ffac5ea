"""Stable identities for the slots of a Spark job."""

from __future__ import annotations

from membership_client.identity import numbered_id


def slot_instance_id(name: str, slot: int) -> str:
    """The `group.instance.id` of one slot: `<name>-<slot>`, the same whichever executor the slot runs on.

    `name` belongs to the job and is chosen by its author, because everything Spark could offer instead (executor id,
    host, attempt, application id) changes when an executor is replaced, and with it would change the identity.
    Raises ConfigError if the result is not an instance id Kafka accepts.
    """
    return numbered_id(name, slot)
