"""TLS and SASL of connections to brokers, configured by librdkafka's keys."""

from membership_client.security.settings import PLAINTEXT, Security, split_security

__all__ = ["PLAINTEXT", "Security", "split_security"]
