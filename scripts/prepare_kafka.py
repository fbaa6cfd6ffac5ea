"""Makes this machine ready to start Kafka brokers. Does nothing the second time.

Without arguments the versions that all tests need; with some, these: `.venv/bin/python scripts/prepare_kafka.py 3.9.1`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import fetch_kafka
import warm_kafka
from membership_client.testing.jars import KAFKA_VERSION, OLD_KAFKA_VERSION

versions = sys.argv[1:] or [KAFKA_VERSION, OLD_KAFKA_VERSION]
try:
    # Most of the time is spent waiting for one small file after the other, so all at once take as long as one.
    with ThreadPoolExecutor(len(versions)) as pool:
        list(pool.map(fetch_kafka.fetch_once, versions))
except fetch_kafka.FetchError as error:
    sys.exit(f"error: Kafka's jars could not be fetched. Check the network and run this again.\n{error}")
if KAFKA_VERSION in versions:
    # Others start once in a run, if at all, and would not make up for the time that this takes.
    warm_kafka.warm_once()
