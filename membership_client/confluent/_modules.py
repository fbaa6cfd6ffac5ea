"""Modules under a second name: `membership_client.confluent.admin` is the module `confluent_kafka.admin`, and no copy.

A copy would have classes of its own, so `isinstance` and `except` would not accept those of the first.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Collection, Sequence
from types import ModuleType


class _Redirect(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `prefix.x.y` as the module `target.x.y`, unless `x.y` is a module of our own."""

    def __init__(self, prefix: str, target: str, ours: Collection[str]) -> None:
        self._prefix = f"{prefix}."
        self._target = f"{target}."
        self._ours = frozenset(ours)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if not fullname.startswith(self._prefix) or self._rest(fullname) in self._ours:
            return None
        if importlib.util.find_spec(self._target_of(fullname)) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Put the real module in its place: the import system takes what it finds in `sys.modules` afterwards."""
        sys.modules[module.__name__] = importlib.import_module(self._target_of(module.__name__))

    def _rest(self, fullname: str) -> str:
        return fullname.removeprefix(self._prefix)

    def _target_of(self, fullname: str) -> str:
        return self._target + self._rest(fullname)


def redirect_modules(prefix: str, target: str, *, ours: Collection[str]) -> None:
    """Redirect imports from now on. This finder comes first: others would load a second copy of a module in a redirected package."""
    sys.meta_path.insert(0, _Redirect(prefix, target, ours))
