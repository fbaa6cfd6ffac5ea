"""What an older pyspark cannot do is refused before anything is started, and the rest works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import membership_client_spark

_PACKAGES = Path(membership_client_spark.__file__).parents[1]


def test_pyspark_35_is_refused_with_both_versions(tmp_path: Path) -> None:
    """It was imported, and then each job failed: mapInArrow() got an unexpected keyword argument 'profile'."""
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text('__version__ = "3.5.9"\n')
    path = os.pathsep.join(map(str, (tmp_path, _PACKAGES, *sys.path)))
    command = [sys.executable, "-c", "import membership_client_spark"]
    run = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "ImportError: membership_client_spark needs pyspark 4.0 or newer, and this is pyspark 3.5.9" in run.stderr


_BEFORE_42 = """
import sys

sys.modules["pyspark.sql.streaming.datasource"] = None
from membership_client_spark import *

print(epochs.__name__, "KafkaGroupSource" in globals())
from membership_client_spark import KafkaGroupSource
"""


def test_all_names_can_be_imported_at_once_before_pyspark_42() -> None:
    """`import *` failed because of the stream, which needs 4.2. Asked for by its name, the stream says so."""
    path = os.pathsep.join(map(str, (_PACKAGES, *sys.path)))
    command = [sys.executable, "-c", _BEFORE_42]
    run = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert run.stdout == "epochs False\n", run.stderr
    assert "ImportError: KafkaGroupSource needs pyspark 4.2 or newer" in run.stderr
