"""What is sent to executors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle

from membership_client_spark.pipeline.reading import epoch_frame, read_ranges

_READER = """
import pickle, sys
sys.modules["membership_client"] = sys.modules["membership_client_spark"] = None
config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}
print(list(pickle.load(open(sys.argv[1], "rb"))(config, [])))
"""


def test_executors_need_nothing_of_ours(tmp_path: Path) -> None:
    """A reader works in a Python that has neither of our packages, so it does not load them either."""
    assert epoch_frame.__module__, "importing it has registered what is sent"
    sent = tmp_path / "reader"
    sent.write_bytes(cloudpickle.dumps(read_ranges))  # type: ignore[no-untyped-call]
    said = subprocess.run([sys.executable, "-c", _READER, sent], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
