"""scripts/provide.py verifies what is there, and installs nothing on the system without consent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fetch_pyspark
import provide
from fetch_jars import Bundle
from membership_client.testing.jars import KAFKA_VERSION, kafka_directory
from system_packages import APT, MissingProgramError, Program

SCRIPT = Path(provide.__file__)


def run_provide(thing: str, cache: Path) -> subprocess.Popen[str]:
    environ = os.environ | {"MEMBERSHIP_CLIENT_CACHE": str(cache)}
    command: list[str | Path] = [sys.executable, SCRIPT, thing]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def apt_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package manager that records its calls; an installation makes the file `installed`."""
    calls, apt = tmp_path / "calls", tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text(
        f'#!/bin/sh\necho "$@" >>{calls}\n'
        f'case "$*" in *--simulate*old) exit 1;; *--simulate*) ;; install*) : >{tmp_path / "installed"};; esac\n'
    )
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt.parent}:/usr/bin:/bin")
    monkeypatch.setattr("os.getuid", lambda: 0)
    for name in ("CI", "MEMBERSHIP_CLIENT_INSTALL"):
        monkeypatch.delenv(name, raising=False)
    return calls


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program("Thing 3", (tmp_path / "installed").exists, {APT: ("thing-old", "thing-new", "thing-default")})


def test_without_consent_a_missing_program_is_named_with_its_command(program: Program, apt_calls: Path) -> None:
    """Nothing is installed; the user can type the command, or allow it."""
    with pytest.raises(MissingProgramError, match=r"Thing 3 .* 'apt-get install --yes .* thing-new', or pass --yes"):
        program.install_once()
    assert all("--simulate" in call for call in apt_calls.read_text().splitlines())


@pytest.mark.parametrize("variable", ["CI=true", "MEMBERSHIP_CLIENT_INSTALL=yes"])
def test_with_consent_it_is_installed(
    program: Program, apt_calls: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package lists are read, and the first package that the manager knows is installed, once."""
    monkeypatch.setenv(*variable.split("="))
    program.install_once()
    program.install_once()
    done = [call for call in apt_calls.read_text().splitlines() if "--simulate" not in call]
    assert done == ["update --quiet --quiet", "install --yes --no-install-recommends thing-new"]


def test_an_installation_that_brings_nothing_is_an_error(apt_calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text has the command and its exit code."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(MissingProgramError, match=r"thing' ended with code 0 and Thing 3 was not found"):
        Program("Thing 3", lambda: False, {APT: ("thing",)}).install_once()


@pytest.mark.kafka
@pytest.mark.parametrize("spoil", ["alter", "remove", "add"])
def test_cached_jars_are_compared_with_their_checksums(tmp_path: Path, spoil: str) -> None:
    """A truncated jar once stayed in the cache, because only its presence was checked."""
    for jar in kafka_directory().glob("*.jar"):
        (tmp_path / jar.name).hardlink_to(jar)
    bundle = Bundle("Kafka", tmp_path, f"kafka-jars-{KAFKA_VERSION}.sha256", "")
    assert bundle.is_complete()
    spoilt = tmp_path / "more.jar" if spoil == "add" else min(tmp_path.glob("*.jar"))
    spoilt.unlink(missing_ok=True)
    if spoil != "remove":
        spoilt.write_bytes(b"not a jar")
    assert not bundle.is_complete()


def test_two_processes_do_not_provide_the_same_thing_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The later one says that it waits, and goes on when the first has ended."""
    monkeypatch.setenv("MEMBERSHIP_CLIENT_CACHE", str(tmp_path))
    with provide.one_process_at_a_time("system-packages"):
        later = run_provide("java", tmp_path)
        assert later.stdout is not None
        assert "waiting for another process that provides system-packages" in later.stdout.readline()
    later.communicate(timeout=60)
    assert later.returncode == 0


@pytest.mark.parametrize("thing", ["kafak", "kafka-", "kafka-2.8.2/../../x", "--help"])
def test_an_unknown_thing_is_refused_with_the_list(thing: str, tmp_path: Path) -> None:
    """The error comes before anything is provided."""
    _, told = run_provide(thing, tmp_path).communicate(timeout=60)
    assert told.startswith(f"error: {thing} is unknown. This provides: java, browser, prometheus, spark")


def test_a_cache_that_cannot_be_used_is_told_in_a_sentence(tmp_path: Path) -> None:
    """A file has its name, for instance, or the user may not write there."""
    (tmp_path / "file").touch()
    _, told = run_provide("java", tmp_path / "file").communicate(timeout=60)
    assert told.startswith("error: [Errno 17] File exists")
    assert "Set MEMBERSHIP_CLIENT_CACHE to a directory that you may write to." in told


def test_another_pyspark_is_that_of_its_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation from an older lock file, or an interrupted one, does not count."""
    lock = tmp_path / "requirements-pyspark-9.9.txt"
    monkeypatch.setattr(fetch_pyspark, "lock_of", lambda _: lock)
    lock.write_text("pyspark==9.9 --hash=new\n")
    target = tmp_path / "pyspark-9.9"
    target.mkdir()
    assert not fetch_pyspark.is_installed("9.9", target)
    (target / fetch_pyspark.STAMP).write_text("pyspark==9.9 --hash=old\n")
    assert not fetch_pyspark.is_installed("9.9", target)
    (target / fetch_pyspark.STAMP).write_text(lock.read_text())
    assert fetch_pyspark.is_installed("9.9", target)
