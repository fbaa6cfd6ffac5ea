"""Runs Java's keytool, which reads Java's key and trust stores."""

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
"""English, because the output is parsed here; the other two options make a short run fast."""


def find_keytool() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (shutil.which("keytool", path=f"{home}/bin") if home else None) or shutil.which("keytool")


def run_keytool(keytool: str, arguments: list[str], passwords: Mapping[str, str], complaint: str) -> str:
    """The output of keytool. ConfigError that begins with `complaint` if it fails.

    `passwords` are by option, such as `-storepass`. keytool gets them in its environment, because all users of the machine can
    see command lines.
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
    """The certificates, as PEM, in the output of `keytool -list -rfc`."""
    return _CERTIFICATE.findall(listing)


def trusted_certificates(keytool: str, location: str, password: str | None) -> str:
    """The certificates of a JKS or PKCS12 trust store, as PEM. ConfigError if it cannot be read.

    Without a password keytool asks for one, and goes on without it when it gets an empty line, as Java does.
    """
    passwords = {} if password is None else {"-storepass": password}
    complaint = f"ssl.truststore.location: {location} cannot be read"
    found = certificates_in(run_keytool(keytool, ["-list", "-rfc", "-keystore", location], passwords, complaint))
    if not found:
        raise ConfigError(f"{location} has no certificate that can be read with ssl.truststore.password.")
    return "\n".join(found) + "\n"
