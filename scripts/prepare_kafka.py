"""Makes this machine ready to start Kafka brokers. Does nothing the second time.

Without arguments the versions that all tests need, and what they need beside Spark; with some, these Kafkas:
`.venv/bin/python scripts/prepare_kafka.py 3.9.1`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import warm_kafka
from fetch_jars import Bundle, FetchError, fetch_once
from membership_client.testing.jars import KAFKA_VERSION, OLD_KAFKA_VERSION, cache_directory, kafka_directory

# Without an slf4j 1.7 binding a broker that cannot start says nothing at all, hence log4j-slf4j-impl.
# Of the tools only those for groups are run, and these need nothing that brokers do not bring.
KAFKA = """\
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}"/>
    <dependency org="org.apache.kafka" name="kafka-tools" rev="{version}" transitive="false"/>
    <dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4"/>"""

# The newest that is published; what it stands on is in pip's pyspark.
AVRO_VERSION = "4.1.1"
AVRO = f"""\
    <dependency org="org.apache.spark" name="spark-avro_2.13" rev="{AVRO_VERSION}" transitive="false"/>"""


def kafka(version: str) -> Bundle:
    return Bundle(
        f"Kafka {version} (40 MB)",
        kafka_directory(version),
        f"kafka-jars-{version}.sha256",
        KAFKA.format(version=version),
    )


def avro() -> Bundle:
    name = f"spark-avro-{AVRO_VERSION}"
    return Bundle(f"Spark's from_avro {AVRO_VERSION}", cache_directory() / name, f"{name}.sha256", AVRO)


versions = sys.argv[1:] or [KAFKA_VERSION, OLD_KAFKA_VERSION]
bundles = [*map(kafka, versions), *([] if sys.argv[1:] else [avro()])]
try:
    # Most of the time is spent waiting for one small file after the other, so all at once take as long as one.
    with ThreadPoolExecutor(len(bundles)) as pool:
        list(pool.map(fetch_once, bundles))
except FetchError as error:
    sys.exit(f"error: Jars could not be fetched. Check the network and run this again.\n{error}")
if KAFKA_VERSION in versions:
    # Others start once in a run, if at all, and would not make up for the time that this takes.
    warm_kafka.warm_once()
