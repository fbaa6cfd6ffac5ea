"""GroupMember and Consumer for asyncio: callbacks may be coroutines, and nothing blocks the loop."""

from membership_client.aio.consumer import Consumer
from membership_client.aio.member import GroupMember

__all__ = ["Consumer", "GroupMember"]
