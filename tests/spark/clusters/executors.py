"""Executors, found among the processes of a family; the demonstration kills them too."""

from __future__ import annotations

from membership_client_spark.demo.processes import Executor, executors_in

__all__ = ["Executor", "executors_in"]
