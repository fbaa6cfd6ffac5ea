"""Checks for packages that only some configurations need."""

from __future__ import annotations

import importlib.util

from membership_client.errors import ConfigError


def require_library(module: str, extra: str, why: str) -> None:
    """ConfigError, with the command that installs it, if the module is missing. Imports nothing."""
    if not _is_there(module):
        raise ConfigError(f"{why} needs the package {module}: pip install 'membership-client[{extra}]'.")


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
