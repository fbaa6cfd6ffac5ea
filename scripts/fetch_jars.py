"""Brings published jars into the cache, once, and checks each against a lock file beside this one.

The Ivy inside pyspark does the download, from where Ivy goes by default, so neither Maven nor an address is needed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from membership_client.testing import find_java

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

MODULE = """\
<ivy-module version="2.0">
  <info organisation="membership-client" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies defaultconf="default->default,runtime">
{dependencies}
  </dependencies>
</ivy-module>
"""

Digests = dict[str, str]
"""Of jars, by their names."""


@dataclass(frozen=True)
class Bundle:
    """Jars that are fetched together."""

    name: str
    """For people: what it is, and of which size."""
    target: Path
    """Exists only when it is complete."""
    lock: str
    """The file beside this one that has their digests, as sha256sum writes them."""
    dependencies: str
    """In Ivy's words."""

    def is_complete(self) -> bool:
        """All jars are there, none is altered, and there are no others."""
        return not _wrong_jars(self.target, locked(self))


class FetchError(Exception):
    """The download did not give what was asked for; another attempt may."""


def fetch_anew(bundle: Bundle) -> None:
    """Replaces whatever is there. Raises FetchError when all attempts have failed."""
    if bundle.target.exists():
        print(f"  {bundle.target} does not match {bundle.lock} and is replaced", flush=True)
        shutil.rmtree(bundle.target)
    bundle.target.parent.mkdir(parents=True, exist_ok=True)
    print(f"  fetching {bundle.name} into {bundle.target}", flush=True)
    prefix = f"fetch-{bundle.target.name}-"
    for interrupted in bundle.target.parent.glob(f"{prefix}*"):
        shutil.rmtree(interrupted)
    # In the cache, not in the system's temporary directory: the final rename must stay on one file system.
    with tempfile.TemporaryDirectory(prefix=prefix, dir=bundle.target.parent) as scratch:
        fetch(bundle, locked(bundle), Path(scratch))
        Path(scratch, "jars").rename(bundle.target)


def locked(bundle: Bundle) -> Digests:
    """The jars it consists of, from its lock file."""
    lock = Path(__file__).with_name(bundle.lock)
    if not lock.exists():
        known = ", ".join(sorted(path.name for path in lock.parent.glob("kafka-jars-*.sha256")))
        sys.exit(f"error: Which jars {bundle.name} consists of is not locked: there is no {lock.name}, only {known}.")
    return {name: digest for digest, name in map(str.split, lock.read_text().splitlines())}


@retry(
    retry=retry_if_exception_type(FetchError),
    stop=stop_after_attempt(4),
    wait=wait_exponential(multiplier=2, max=20),
    before_sleep=lambda attempt: print(f"  attempt {attempt.attempt_number} failed, trying again", flush=True),
    reraise=True,
)
def fetch(bundle: Bundle, expected: Digests, scratch: Path) -> None:
    """One attempt. What an earlier attempt brought is kept in Ivy's cache and not downloaded again."""
    shutil.rmtree(scratch / "jars", ignore_errors=True)
    run_ivy(bundle, scratch)
    verify(scratch / "jars", expected)


def run_ivy(bundle: Bundle, scratch: Path) -> None:
    """Resolves and retrieves into `scratch`."""
    (scratch / "ivysettings.xml").write_text(SETTINGS)
    (scratch / "ivy.xml").write_text(MODULE.format(dependencies=bundle.dependencies))
    pattern = f"{scratch}/jars/[artifact]-[revision](-[classifier]).[ext]"
    command: list[str | Path] = [java(), f"-Duser.home={scratch}", "-jar", ivy_jar()]
    command += ["-settings", scratch / "ivysettings.xml", "-cache", scratch / "cache", "-ivy", scratch / "ivy.xml"]
    command += ["-confs", "default", "-retrieve", pattern]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as ivy:
        assert ivy.stdout is not None
        log = follow(bundle, ivy.stdout)
    if ivy.returncode != 0:
        raise FetchError(f"Ivy ended with code {ivy.returncode}:\n{''.join(log[-30:])}")


def follow(bundle: Bundle, lines: Iterable[str]) -> list[str]:
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
            print(f"  {bundle.name}: {found} jars found, {fetched} fetched, {shown - started:.0f} s", flush=True)
    return log


def verify(directory: Path, expected: Digests) -> None:
    """Raises FetchError unless the jars are exactly those that are expected."""
    if wrong := _wrong_jars(directory, expected):
        raise FetchError(f"these jars are missing, unexpected or altered: {', '.join(wrong)}. Check the network.")


def _wrong_jars(directory: Path, expected: Digests) -> list[str]:
    actual = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in directory.glob("*.jar")}
    return sorted({name for name, _ in expected.items() ^ actual.items()})


def java() -> Path:
    """The Java to run Ivy with."""
    found = find_java()
    if found is None:
        sys.exit(
            "error: Java 17 or newer is needed to fetch jars and to run them. Run scripts/test, which installs it or says how."
        )
    return found


def ivy_jar() -> Path:
    """The Ivy that pyspark brings along."""
    pyspark = find_spec("pyspark")
    jars = sorted(Path(pyspark.origin).parent.glob("jars/ivy-*.jar")) if pyspark and pyspark.origin else []
    if not jars:
        sys.exit("error: pyspark, whose Ivy fetches jars, is not installed. Run scripts/test, which installs it.")
    return jars[0]
