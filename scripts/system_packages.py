"""Installs a program of the system where it is missing: only with consent, because that takes root rights.

Consent is CI=true or MEMBERSHIP_CLIENT_INSTALL=yes, which `scripts/test --yes` sets.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

APT = ("apt-get", "install", "--yes", "--no-install-recommends")
DNF = ("dnf", "install", "--assumeyes")
APK = ("apk", "add")
BREW = ("brew", "install")
MANAGERS = (APT, DNF, APK, BREW)


class MissingProgramError(Exception):
    """A program is missing and was not installed; the text says which command installs it."""


@dataclass(frozen=True)
class Program:
    """A program that tests need, and the packages that bring it."""

    name: str
    is_there: Callable[[], bool]
    packages: Mapping[Sequence[str], Sequence[str]]
    """By install command. Of several packages the first that the package manager knows is installed."""

    def install_once(self) -> None:
        """Does nothing where the program is there. Raises MissingProgramError where it is not, and stays missing."""
        if self.is_there():
            return
        command = self._install_command()
        if not _consent():
            typed = " ".join(command)
            raise MissingProgramError(f"{self.name} is needed and was not found. Type '{typed}', or pass --yes.")
        if command[:-1][-len(APT) :] == list(APT):
            # A fresh container has no package lists; without them the right package cannot be chosen.
            subprocess.run([*_as_root(APT), "apt-get", "update", "--quiet", "--quiet"], check=False)
            command = self._install_command()
        print(f"  {self.name} was not found: {' '.join(command)}", flush=True)
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        if not self.is_there():
            raise MissingProgramError(
                f"'{' '.join(command)}' ended with code {ended} and {self.name} was not found after it."
            )

    def _install_command(self) -> list[str]:
        manager = next((manager for manager in MANAGERS if shutil.which(manager[0])), None)
        if manager is None:
            raise MissingProgramError(f"{self.name} is needed and was not found. Install it and run this again.")
        *others, last = self.packages[manager]
        package = next(filter(_apt_knows, others), last)
        return [*_as_root(manager), *manager, package]


def _apt_knows(package: str) -> bool:
    command = ["apt-get", "install", "--simulate", package]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _as_root(manager: Sequence[str]) -> list[str]:
    if os.getuid() == 0 or manager == BREW:
        return []
    # Without a terminal there is no way to type the password that sudo would wait for.
    return ["sudo"] if sys.stdin.isatty() else ["sudo", "-n"]


def _consent() -> bool:
    return os.environ.get("CI") == "true" or os.environ.get("MEMBERSHIP_CLIENT_INSTALL") == "yes"
