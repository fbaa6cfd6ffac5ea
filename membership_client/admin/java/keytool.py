"""Java's own keytool, which reads Java's stores."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping

from membership_client.errors import ConfigError

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_TIMEOUT_S = 60
_JVM = ("-J-Duser.language=en", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""In English, because it is read here; and as quick as a JVM can be that has little to do."""


def find_keytool() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (shutil.which("keytool", path=f"{home}/bin") if home else None) or shutil.which("keytool")


def run_keytool(keytool: str, arguments: list[str], passwords: Mapping[str, str], complaint: str) -> str:
    """What it prints; ConfigError that begins with `complaint` if it cannot do it.

    `passwords` are by option, such as `-storepass`. They are told in its environment: command lines can be seen by everybody on
    the machine.
    """
    told = {f"MEMBERSHIP_CLIENT_{option.strip('-').upper()}": text for option, text in passwords.items()}
    options = [word for option, name in zip(passwords, told, strict=True) for word in (f"{option}:env", name)]
    try:
        done = subprocess.run(
            [keytool, *_JVM, *arguments, *options],
            env=os.environ | told,
            input="\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{complaint}: {keytool} did not answer ({type(error).__name__}).") from None
    if done.returncode:
        raise ConfigError(f"{complaint}: {done.stdout.strip()}")
    return done.stdout


def certificates_in(listing: str) -> list[str]:
    """As PEM, of what `keytool -list -rfc` prints."""
    return _CERTIFICATE.findall(listing)
