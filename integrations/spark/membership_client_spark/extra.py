"""Imported before everything else: ImportError that says what to install if a package of the extra `spark` is missing or too old."""

from __future__ import annotations

from importlib.util import find_spec

for name in ("pandas", "pyarrow", "pyspark"):
    if find_spec(name) is None:
        raise ModuleNotFoundError(
            f"membership_client_spark needs {name}, which is not installed: pip install 'membership-client[spark]'",
            name=name,
        )

from pyspark import __version__ as _PYSPARK  # noqa: E402, N812 - it is there, as was just seen

if int(_PYSPARK.partition(".")[0]) < 4:  # mapInArrow(profile=...) came with 4.0.
    raise ImportError(
        f"membership_client_spark needs pyspark 4.0 or newer, and this is pyspark {_PYSPARK}: pip install 'pyspark>=4.0' where "
        "the cluster has Spark 4, or stay with a Consumer per task on Spark 3.5.",
        name="pyspark",
    )
