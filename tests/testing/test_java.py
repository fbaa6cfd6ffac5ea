"""How Java is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from membership_client.testing import KafkaCluster, KafkaUnavailableError, cached_kafka_jars, find_java
from membership_client.testing.jars import cache_directory
from membership_client.testing.java import java_major

if TYPE_CHECKING:
    from pathlib import Path


def fake_java(directory: Path, version: str) -> Path:
    """A `java` that only reports its version."""
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("25", 25), ("1.8.0_402", 8), ("22-ea", 22)])
def test_the_major_version_is_read(tmp_path: Path, version: str, major: int) -> None:
    """Old and new version schemes are both understood."""
    assert java_major(fake_java(tmp_path, version)) == major


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who sets JAVA_HOME wants that Java."""
    java = fake_java(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == java


def test_an_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka 4 does not run on Java 11."""
    java = fake_java(tmp_path, "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() != java


def test_the_cache_may_be_named_from_here_or_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers run in another directory: with a relative path they once found none of their classes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("cache", "./cache", "~/cache"):
        monkeypatch.setenv("MEMBERSHIP_CLIENT_CACHE", name)
        assert cache_directory() == tmp_path / "cache"


def test_missing_jars_are_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an empty cache no cluster can be made, and the message names the command."""
    monkeypatch.setenv("MEMBERSHIP_CLIENT_CACHE", str(tmp_path))
    assert cached_kafka_jars() is None
    with pytest.raises(KafkaUnavailableError, match=r"scripts/provide\.py kafka-3\.9\.1"):
        KafkaCluster(java=tmp_path / "java", version="3.9.1")
