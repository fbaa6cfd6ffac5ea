"""Consumer: our membership, confluent-kafka's records."""

from membership_client.consumer.consumer import Consumer

__all__ = ["Consumer"]
