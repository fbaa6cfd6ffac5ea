"""How brokers and members know each other: certificates, passwords and tokens, by librdkafka's names."""

from membership_client.security.settings import PLAINTEXT, Security, split_security

__all__ = ["PLAINTEXT", "Security", "split_security"]
