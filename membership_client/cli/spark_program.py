"""The command `membership-client-spark`. If the extra `spark` is not installed, it says so."""

from __future__ import annotations

import importlib
import sys

_NEEDED = frozenset({"pandas", "pyarrow", "pyspark"})


def main() -> int:
    """Run the command and return its exit code: 2 if a package of the extra is missing."""
    try:
        command = importlib.import_module("membership_client_spark.cli")
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        print(f"membership-client-spark: {error}", file=sys.stderr)
        return 2
    return int(command.main())
