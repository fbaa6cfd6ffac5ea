"""A trust store of Java's, read by Java's own keytool: certificates only, which are no secret."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from membership_client.errors import ConfigError

_VARIABLE = "MEMBERSHIP_CLIENT_STORE_VARIABLE"
"""keytool reads it from its environment: command lines can be seen by everybody on the machine."""
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_TIMEOUT_S = 60


def trusted_certificates(location: str, password: str | None) -> str | None:
    """As PEM, of a JKS or PKCS12 file; None without keytool. ConfigError if that cannot read it."""
    keytool = _find_keytool()
    if keytool is None:
        return None
    found = _CERTIFICATE.findall(_listed(keytool, location, password))
    if not found:
        raise ConfigError(f"{location} has no certificate that can be read with ssl.truststore.password.")
    return "\n".join(found) + "\n"


def _find_keytool() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return (shutil.which("keytool", path=f"{home}/bin") if home else None) or shutil.which("keytool")


def _listed(keytool: str, location: str, password: str | None) -> str:
    """Without a password keytool asks for one, and does without if it gets none, as Java does."""
    command = [keytool, "-list", "-rfc", "-keystore", location]
    told = {} if password is None else {_VARIABLE: password}
    done = subprocess.run(
        command if password is None else [*command, "-storepass:env", _VARIABLE],
        env=os.environ | told,
        input="\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    if done.returncode:
        raise ConfigError(f"ssl.truststore.location: {location} cannot be read: {done.stdout.strip()}")
    return done.stdout
