"""Stable values for group.instance.id, from numbers that platforms give. Names that change are refused, with the reason."""

from membership_client.identity.host_slot import HostSlot
from membership_client.identity.platforms import (
    SlotsTakenError,
    UnstableIdentityError,
    ecs_id,
    nomad_id,
    numbered_id,
    stateful_set_id,
)

__all__ = [
    "HostSlot",
    "SlotsTakenError",
    "UnstableIdentityError",
    "ecs_id",
    "nomad_id",
    "numbered_id",
    "stateful_set_id",
]
