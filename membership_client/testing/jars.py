"""Where Kafka's published jars lie once `scripts/test` has fetched them. Nothing here downloads."""

from __future__ import annotations

import os
from pathlib import Path

KAFKA_VERSION = "4.3.1"


def cache_directory() -> Path:
    """MEMBERSHIP_CLIENT_CACHE, or `membership-client` in the user's cache directory."""
    if explicit := os.environ.get("MEMBERSHIP_CLIENT_CACHE"):
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "membership-client"


def kafka_directory() -> Path:
    """Where the jars of the Kafka version we test with belong. It exists only when it is complete.

    Named after what is in it: one that an earlier version of this project filled lacks Kafka's tools.
    """
    return cache_directory() / f"kafka-{KAFKA_VERSION}-with-tools"


def cached_kafka_jars() -> list[Path] | None:
    """Kafka's jars in a fixed order (a class archive is valid for one order only), or None if not fetched yet."""
    return sorted(kafka_directory().glob("*.jar")) or None
