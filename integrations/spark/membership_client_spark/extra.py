"""Imported before everything else: ModuleNotFoundError that names the extra `spark` if a package of it is missing."""

from __future__ import annotations

from importlib.util import find_spec

for name in ("pandas", "pyarrow", "pyspark"):
    if find_spec(name) is None:
        raise ModuleNotFoundError(
            f"membership_client_spark needs {name}, which is not installed: pip install 'membership-client[spark]'",
            name=name,
        )
