"""Makes brokers start in half the time, once per Java: leaves two files beside Kafka's jars.

One is the archive of the classes a broker loads (Java's own class data sharing), the other the feature levels of a new
cluster, which would otherwise cost a JVM per broker. Brokers start without either, only later.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from membership_client.testing import ClusterAdmin, KafkaCluster, cached_kafka_jars, find_java
from membership_client.testing.jvm import Jvm
from membership_client.testing.storage import CHECKPOINT


def warm_once() -> None:
    """Does nothing where both files are there already."""
    java, jars = find_java(), cached_kafka_jars()
    if java is None or jars is None:
        sys.exit("error: Java or Kafka's jars are missing. Run scripts/test, which brings both.")
    archive = Jvm(java, tuple(jars)).class_archive
    if archive.exists() and archive.with_name(CHECKPOINT).exists():
        return
    print("  teaching Java to start brokers twice as fast, ten seconds once", flush=True)
    with tempfile.TemporaryDirectory(prefix="warm-", dir=archive.parent) as scratch:
        train(Path(scratch))
        # A Java without class data sharing leaves nothing: the empty file says that this has been tried.
        (Path(scratch) / "classes.jsa").touch()
        # Renamed, so that a run that ends in between leaves no half-written file behind.
        (Path(scratch) / "classes.jsa").rename(archive)
        shutil.move(Path(scratch) / "broker-1" / "data" / CHECKPOINT, archive.with_name(CHECKPOINT))


def train(directory: Path) -> None:
    """Runs one broker through its life, so that the archive holds what brokers load."""
    options = [f"-XX:ArchiveClassesAtExit={directory / 'classes.jsa'}"]
    with KafkaCluster(directory=directory, jvm_options=options) as kafka:
        ClusterAdmin(kafka.bootstrap_servers).create_topic("warm-up", partitions=1)
        kafka.terminate(1)
