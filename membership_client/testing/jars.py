"""The directories of Kafka's published jars, into which `scripts/test` downloads them. Nothing in this file downloads."""

from __future__ import annotations

import os
from pathlib import Path

from membership_client.testing.arguments import checked_version

KAFKA_VERSION = "4.3.1"
OLD_KAFKA_VERSION = "2.8.2"
"""The oldest version that starts without ZooKeeper. It has no reasons of joins, few topic ids, and no KIP-848."""


def cache_directory() -> Path:
    """MEMBERSHIP_CLIENT_CACHE, or `membership-client` in the user's cache directory."""
    if explicit := os.environ.get("MEMBERSHIP_CLIENT_CACHE"):
        return Path(explicit).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "membership-client"


def kafka_directory(version: str = KAFKA_VERSION) -> Path:
    """The directory for the jars of that Kafka. It exists only if it is complete.

    The name says that Kafka's tools are in it, because directories of earlier versions of this project lack them.
    """
    return cache_directory() / f"kafka-{version}-with-tools"


def cached_kafka_jars(version: str = KAFKA_VERSION) -> list[Path] | None:
    """Kafka's jars, or None if they were not downloaded yet. The order is fixed, because a class archive is valid for one order."""
    return sorted(kafka_directory(checked_version(version)).glob("*.jar")) or None
