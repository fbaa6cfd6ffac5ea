"""Makes ready what tests need beside Python's base packages: `.venv/bin/python scripts/provide.py kafka browser`.

Tests call this when they first need something (tests/needs.py), so each thing is there only if a chosen test needs it.
What is there already takes a moment: jars are compared with their checksums, packages with their lock file. Processes
that ask for the same thing at the same time wait for the first of them.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import fetch_pyspark
import warm_kafka
from fetch_jars import Bundle, FetchError, fetch_anew
from membership_client.testing.jars import KAFKA_VERSION, cache_directory, kafka_directory
from membership_client.testing.java import find_java
from system_packages import APK, APT, BREW, DNF, MissingProgramError, Program

ROOT = Path(__file__).parent.parent

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

# Table formats are published for a Spark some months after it: each has the newest pyspark that it runs on.
# Ivy would also bring a Hadoop, a Jackson and a Scala, which are in pyspark.
DELTA_VERSION = "4.4.0"
DELTA_PYSPARK = "4.2.0"
DELTA = f"""\
    <dependency org="io.delta" name="delta-spark_4.2_2.13" rev="{DELTA_VERSION}" transitive="false"/>
    <dependency org="io.delta" name="delta-storage" rev="{DELTA_VERSION}" transitive="false"/>
    <dependency org="io.delta" name="delta-kernel-api" rev="{DELTA_VERSION}" transitive="false"/>
    <dependency org="io.delta" name="delta-kernel-defaults" rev="{DELTA_VERSION}" transitive="false"/>
    <dependency org="io.delta" name="delta-kernel-unitycatalog" rev="{DELTA_VERSION}" transitive="false"/>
    <dependency org="io.unitycatalog" name="unitycatalog-client" rev="0.6.0" transitive="false"/>"""
ICEBERG_VERSION = "1.12.0"
ICEBERG_PYSPARK = "4.1.4"
ICEBERG = f"""\
    <dependency org="org.apache.iceberg" name="iceberg-spark-runtime-4.1_2.13" rev="{ICEBERG_VERSION}" transitive="false"/>"""

# Hadoop's MiniYARNCluster, and what that needs beside pip's pyspark.
YARN_VERSION = "3.5.0"
YARN = f"""\
    <dependency org="org.apache.hadoop" name="hadoop-client-minicluster" rev="{YARN_VERSION}" transitive="false"/>
    <dependency org="org.junit.jupiter" name="junit-jupiter-api" rev="5.11.4" transitive="false"/>
    <dependency org="org.junit.platform" name="junit-platform-commons" rev="1.11.4" transitive="false"/>
    <dependency org="org.opentest4j" name="opentest4j" rev="1.3.0" transitive="false"/>
    <dependency org="org.bouncycastle" name="bcpkix-jdk18on" rev="1.78.1" transitive="false"/>
    <dependency org="org.bouncycastle" name="bcprov-jdk18on" rev="1.78.1" transitive="false"/>
    <dependency org="org.bouncycastle" name="bcutil-jdk18on" rev="1.78.1" transitive="false"/>"""

# PostgreSQL's JDBC driver.
POSTGRES_JDBC_VERSION = "42.7.14"
POSTGRES_JDBC = f"""\
    <dependency org="org.postgresql" name="postgresql" rev="{POSTGRES_JDBC_VERSION}" transitive="false"/>"""

# The newest that are published, by now for a Spark of before; all that they stand on besides is in pip's pyspark.
CONNECTOR_VERSION = "4.2.0"
CONNECTOR = f"""\
    <dependency org="org.apache.spark" name="spark-sql-kafka-0-10_2.13" rev="{CONNECTOR_VERSION}" transitive="false"/>
    <dependency org="org.apache.spark" name="spark-token-provider-kafka-0-10_2.13" rev="4.0.0" transitive="false"/>
    <dependency org="org.apache.kafka" name="kafka-clients" rev="4.2.0" transitive="false"/>
    <dependency org="org.apache.commons" name="commons-pool2" rev="2.12.0" transitive="false"/>"""

JAVA = Program(
    "Java 17 or newer",
    lambda: find_java() is not None,
    {
        APT: ("openjdk-21-jre-headless", "openjdk-17-jre-headless", "openjdk-25-jre-headless", "default-jre-headless"),
        DNF: ("java-21-openjdk-headless",),
        APK: ("openjdk21-jre-headless",),
        BREW: ("openjdk@21",),
    },
)


def has_browser() -> bool:
    return subprocess.run([sys.executable, "-P", ROOT / "tests/report/chromium.py"], check=False).returncode == 0


BROWSER = Program(
    "Chromium or Chrome",
    has_browser,
    {APT: ("chromium",), DNF: ("chromium-headless",), APK: ("chromium",), BREW: ("google-chrome",)},
)


PROMETHEUS = Program(
    "Prometheus",
    lambda: all(map(shutil.which, ("prometheus", "promtool"))),
    {APT: ("prometheus",), DNF: ("golang-github-prometheus",), APK: ("prometheus",), BREW: ("prometheus",)},
)


def has_postgres() -> bool:
    return (
        subprocess.run([sys.executable, "-P", ROOT / "tests/spark/postgres/programs.py"], check=False).returncode == 0
    )


POSTGRES = Program(
    "PostgreSQL",
    has_postgres,
    {APT: ("postgresql",), DNF: ("postgresql-server",), APK: ("postgresql",), BREW: ("postgresql@17",)},
)

DEBOOTSTRAP = Program("debootstrap", lambda: shutil.which("debootstrap") is not None, {APT: ("debootstrap",)})


@contextmanager
def one_process_at_a_time(name: str) -> Iterator[None]:
    """Across all processes of this user; says so when it has to wait."""
    folder = cache_directory()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"  waiting for another process that provides {name}", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def java() -> None:
    """Installs one where that is allowed."""
    with one_process_at_a_time("system-packages"):
        JAVA.install_once()


def browser() -> None:
    """Installs one where that is allowed."""
    with one_process_at_a_time("system-packages"):
        BROWSER.install_once()


def prometheus() -> None:
    """Installs one where that is allowed."""
    with one_process_at_a_time("system-packages"):
        PROMETHEUS.install_once()


def debootstrap() -> None:
    """Installs it where that is allowed, on Debian and Ubuntu."""
    with one_process_at_a_time("system-packages"):
        DEBOOTSTRAP.install_once()


def spark() -> None:
    """The packages of requirements-spark.txt, in this .venv, and a Java to run them."""
    java()
    with one_process_at_a_time("spark"):
        subprocess.run(["bash", "-c", '. "$0/scripts/lib.sh" && set_up_spark', ROOT], check=True)


def docs() -> None:
    """The packages of requirements-docs.txt, in this .venv."""
    with one_process_at_a_time("docs"):
        subprocess.run(["bash", "-c", '. "$0/scripts/lib.sh" && set_up_docs', ROOT], check=True)


def spark_archive() -> None:
    """Worth its minute only where many of Spark's JVMs are started."""
    spark()
    with one_process_at_a_time("spark-archive"):
        subprocess.run([sys.executable, "-m", "tests.spark.clusters.class_archive"], cwd=ROOT, check=True)


def kafka(version: str = KAFKA_VERSION) -> None:
    """The jars of that Kafka, fetched by the Ivy inside pyspark."""
    name = f"kafka-jars-{version}"
    jars(Bundle(f"Kafka {version} (40 MB)", kafka_directory(version), f"{name}.sha256", KAFKA.format(version=version)))
    if version == KAFKA_VERSION:
        # Brokers of other versions start once in a run, if at all, and would not make up for the time that this takes.
        with one_process_at_a_time("kafka-archive"):
            warm_kafka.warm_once()


def avro() -> None:
    """Spark's from_avro, which pip's pyspark lacks."""
    name = f"spark-avro-{AVRO_VERSION}"
    jars(Bundle(f"Spark's from_avro {AVRO_VERSION}", cache_directory() / name, f"{name}.sha256", AVRO))


def delta() -> None:
    """Delta Lake, and the pyspark that it runs on."""
    name = f"delta-{DELTA_VERSION}"
    jars(Bundle(f"Delta Lake {DELTA_VERSION} (13 MB)", cache_directory() / name, f"{name}.sha256", DELTA))
    pyspark(DELTA_PYSPARK)


def iceberg() -> None:
    """Iceberg, the pyspark that it runs on, and a database for its catalog."""
    postgres()
    name = f"iceberg-{ICEBERG_VERSION}"
    jars(Bundle(f"Iceberg {ICEBERG_VERSION} (48 MB)", cache_directory() / name, f"{name}.sha256", ICEBERG))
    pyspark(ICEBERG_PYSPARK)


def pyspark(version: str) -> None:
    """Another one than that of .venv."""
    target = cache_directory() / f"pyspark-{version}"
    with one_process_at_a_time(target.name):
        if not fetch_pyspark.is_installed(version, target):
            fetch_pyspark.install(version, target)


def postgres() -> None:
    """PostgreSQL, which tests start by themselves, and its JDBC driver."""
    with one_process_at_a_time("system-packages"):
        POSTGRES.install_once()
    name = f"postgresql-jdbc-{POSTGRES_JDBC_VERSION}"
    what = f"PostgreSQL's JDBC driver {POSTGRES_JDBC_VERSION}"
    jars(Bundle(what, cache_directory() / name, f"{name}.sha256", POSTGRES_JDBC))


def yarn() -> None:
    """A YARN in one JVM."""
    name = f"yarn-{YARN_VERSION}"
    jars(Bundle(f"YARN {YARN_VERSION} (65 MB)", cache_directory() / name, f"{name}.sha256", YARN))


def connector() -> None:
    """Spark's own Kafka source, which pip's pyspark lacks."""
    name = f"spark-sql-kafka-{CONNECTOR_VERSION}"
    what = f"Spark's Kafka source {CONNECTOR_VERSION} (12 MB)"
    jars(Bundle(what, cache_directory() / name, f"{name}.sha256", CONNECTOR))


def jars(bundle: Bundle) -> None:
    """Compares those in the cache with their checksums; fetches them if any is missing or altered."""
    java()
    with one_process_at_a_time(bundle.lock):
        if not bundle.is_complete():
            spark()
            fetch_anew(bundle)


THINGS: dict[str, Callable[[], None]] = {
    "java": java,
    "browser": browser,
    "prometheus": prometheus,
    "spark": spark,
    "docs": docs,
    "spark-archive": spark_archive,
    "debootstrap": debootstrap,
    "kafka": kafka,
    "avro": avro,
    "delta": delta,
    "iceberg": iceberg,
    "postgres": postgres,
    "connector": connector,
    "yarn": yarn,
}


VERSION = re.compile(r"kafka-(\d+(?:\.\d+)+)")


def provide(name: str) -> None:
    """One of THINGS, or `kafka-VERSION`: the jars of that version."""
    if found := VERSION.fullmatch(name):
        kafka(found[1])
    else:
        THINGS[name]()


def main(names: list[str]) -> None:
    """Ends with a sentence if something could not be provided."""
    known = f"This provides: {', '.join(THINGS)}, kafka-VERSION."
    if not names:
        sys.exit(known)
    if unknown := [name for name in names if name not in THINGS and not VERSION.fullmatch(name)]:
        sys.exit(f"error: {unknown[0]} is unknown. {known}")
    try:
        for name in names:
            provide(name)
    except (FetchError, MissingProgramError) as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {error} Its output is above; check the network and run this again.")
    except OSError as error:
        sys.exit(f"error: {error}. Set MEMBERSHIP_CLIENT_CACHE to a directory that you may write to.")
    except KeyboardInterrupt:
        sys.exit("error: interrupted; what is not complete is fetched again the next time.")


if __name__ == "__main__":
    main(sys.argv[1:])
