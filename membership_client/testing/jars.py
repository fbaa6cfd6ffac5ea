"""Where Kafka's published jars lie once `scripts/test` has fetched them. Nothing here downloads."""

from __future__ import annotations

import os
from pathlib import Path

from membership_client.testing.arguments import checked_version

KAFKA_VERSION = "4.3.1"
OLD_KAFKA_VERSION = "2.8.2"
"""The oldest that starts without ZooKeeper: joins have no reasons, topics hardly have ids, and KIP-848 is unknown."""


def cache_directory() -> Path:
    """MEMBERSHIP_CLIENT_CACHE, or `membership-client` in the user's cache directory."""
    if explicit := os.environ.get("MEMBERSHIP_CLIENT_CACHE"):
        return Path(explicit).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "membership-client"


def kafka_directory(version: str = KAFKA_VERSION) -> Path:
    """Where the jars of that Kafka belong. It exists only when it is complete.

    Named after what is in it: one that an earlier version of this project filled lacks Kafka's tools.
    """
    return cache_directory() / f"kafka-{version}-with-tools"


def cached_kafka_jars(version: str = KAFKA_VERSION) -> list[Path] | None:
    """Kafka's jars in a fixed order (a class archive is valid for one order only), or None if not fetched yet."""
    return sorted(kafka_directory(checked_version(version)).glob("*.jar")) or None
