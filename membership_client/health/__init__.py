"""Probes for Kubernetes and other supervisors: a port, a file, or a report for a framework's own routes.

`health.serve(consumer, port=8080)` answers `/livez`, `/readyz` and `/startupz`; with `?verbose` as JSON.
"""

from membership_client.health.file import write
from membership_client.health.probe_rules import MemberReport
from membership_client.health.report import Report, report
from membership_client.health.server import serve

__all__ = ["MemberReport", "Report", "report", "serve", "write"]
