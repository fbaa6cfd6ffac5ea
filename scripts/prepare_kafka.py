"""Makes this machine ready to start Kafka brokers quickly. Does nothing the second time."""

from __future__ import annotations

import sys

import fetch_kafka
import warm_kafka

try:
    fetch_kafka.fetch_once()
except fetch_kafka.FetchError as error:
    sys.exit(f"error: Kafka's jars could not be fetched. Check the network and run scripts/test again.\n{error}")
warm_kafka.warm_once()
