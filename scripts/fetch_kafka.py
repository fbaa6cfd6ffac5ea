"""Brings a Kafka's published jars into the cache, once, and checks each against scripts/kafka-jars-VERSION.sha256.

The Ivy inside pyspark does the download, from where Ivy goes by default, so neither Maven nor an address is needed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from membership_client.testing import find_java
from membership_client.testing.jars import cached_kafka_jars, kafka_directory

if TYPE_CHECKING:
    from collections.abc import Iterable

PROGRESS_INTERVAL_S = 2

# No user-local repository is consulted: Maven leaves descriptors without jars there, and Ivy would trust them.
SETTINGS = """\
<ivysettings>
  <settings defaultResolver="default"/>
  <resolvers><ibiblio name="default" m2compatible="true"/></resolvers>
</ivysettings>
"""

# Without an slf4j 1.7 binding a broker that cannot start says nothing at all, hence log4j-slf4j-impl.
# Of the tools only those for groups are run, and these need nothing that brokers do not bring.
DEPENDENCIES = """\
<ivy-module version="2.0">
  <info organisation="membership-client" module="kafka"/>
  <configurations><conf name="default"/></configurations>
  <dependencies defaultconf="default->default,runtime">
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}"/>
    <dependency org="org.apache.kafka" name="kafka-tools" rev="{version}" transitive="false"/>
    <dependency org="org.apache.logging.log4j" name="log4j-slf4j-impl" rev="2.25.4"/>
  </dependencies>
</ivy-module>
"""

Digests = dict[str, str]
"""Of jars, by their names."""


class FetchError(Exception):
    """The download did not give what was asked for; another attempt may."""


def fetch_once(version: str) -> None:
    """Fetches the jars unless they are there. Raises FetchError when all attempts have failed."""
    if cached_kafka_jars(version) is not None:
        return
    expected = locked(version)
    target = kafka_directory(version)
    target.parent.mkdir(parents=True, exist_ok=True)
    print(f"  fetching Kafka {version}, about 40 MB, into {target}", flush=True)
    # In the cache, not in the system's temporary directory: the final rename must stay on one file system.
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=target.parent) as scratch:
        fetch(version, expected, Path(scratch))
        publish(version, Path(scratch, "jars"))


def locked(version: str) -> Digests:
    """The jars of that version, from its lock file."""
    lock = Path(__file__).with_name(f"kafka-jars-{version}.sha256")
    if not lock.exists():
        known = ", ".join(sorted(path.stem.rpartition("-")[2] for path in lock.parent.glob("kafka-jars-*.sha256")))
        sys.exit(f"error: Which jars Kafka {version} consists of is not locked; it is of {known}.")
    return {name: digest for digest, name in map(str.split, lock.read_text().splitlines())}


@retry(
    retry=retry_if_exception_type(FetchError),
    stop=stop_after_attempt(4),
    wait=wait_exponential(multiplier=2, max=20),
    before_sleep=lambda attempt: print(f"  attempt {attempt.attempt_number} failed, trying again", flush=True),
    reraise=True,
)
def fetch(version: str, expected: Digests, scratch: Path) -> None:
    """One attempt. What an earlier attempt brought is kept in Ivy's cache and not downloaded again."""
    shutil.rmtree(scratch / "jars", ignore_errors=True)
    run_ivy(version, scratch)
    verify(scratch / "jars", expected)


def run_ivy(version: str, scratch: Path) -> None:
    """Resolves and retrieves into `scratch`."""
    (scratch / "ivysettings.xml").write_text(SETTINGS)
    (scratch / "ivy.xml").write_text(DEPENDENCIES.format(version=version))
    pattern = f"{scratch}/jars/[artifact]-[revision](-[classifier]).[ext]"
    command: list[str | Path] = [java(), f"-Duser.home={scratch}", "-jar", ivy_jar()]
    command += ["-settings", scratch / "ivysettings.xml", "-cache", scratch / "cache", "-ivy", scratch / "ivy.xml"]
    command += ["-confs", "default", "-retrieve", pattern]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ivy:
        assert ivy.stdout is not None
        log = follow(version, ivy.stdout)
    if ivy.returncode != 0:
        raise FetchError(f"Ivy ended with code {ivy.returncode}:\n{''.join(log[-30:])}")


def follow(version: str, lines: Iterable[str]) -> list[str]:
    """Ivy's output, with a line of progress every few seconds while it comes."""
    log: list[str] = []
    found = fetched = 0
    started = shown = time.monotonic()
    for line in lines:
        log.append(line)
        found += line.startswith("\tfound ")
        fetched += "[SUCCESSFUL ]" in line
        if time.monotonic() - shown > PROGRESS_INTERVAL_S:
            shown = time.monotonic()
            print(f"  Kafka {version}: {found} jars found, {fetched} fetched, {shown - started:.0f} s", flush=True)
    return log


def verify(directory: Path, expected: Digests) -> None:
    """Raises FetchError unless the jars are exactly those that are expected."""
    actual = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in directory.glob("*.jar")}
    if wrong := sorted(name for name, _ in expected.items() ^ actual.items()):
        raise FetchError(f"these jars are missing, unexpected or altered: {', '.join(dict.fromkeys(wrong))}")


def publish(version: str, jars: Path) -> None:
    """Moves the complete directory into place; if another run was faster, its jars are as good as ours."""
    try:
        jars.rename(kafka_directory(version))
    except OSError:
        if cached_kafka_jars(version) is None:
            raise


def java() -> Path:
    """The Java to run Ivy with."""
    found = find_java()
    if found is None:
        sys.exit(
            "error: Java 17 or newer is needed to fetch and run Kafka. Run scripts/test, which installs it or says how."
        )
    return found


def ivy_jar() -> Path:
    """The Ivy that pyspark brings along."""
    pyspark = find_spec("pyspark")
    jars = sorted(Path(pyspark.origin).parent.glob("jars/ivy-*.jar")) if pyspark and pyspark.origin else []
    if not jars:
        sys.exit(
            "error: pyspark, whose Ivy fetches Kafka's jars, is not installed. Run scripts/test, which installs it."
        )
    return jars[0]
