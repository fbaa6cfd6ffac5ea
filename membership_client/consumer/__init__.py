"""Consumer: records from confluent-kafka, membership from a GroupMember."""

from membership_client.consumer.consumer import Consumer

__all__ = ["Consumer"]
