"""Bytes and sockets: Kafka's wire format, and the connections that carry it."""

from membership_client.net.transport import BrokerTransport

__all__ = ["BrokerTransport"]
