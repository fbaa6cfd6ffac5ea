"""Probes for Kubernetes and other supervisors: a port, a file, or a report for a framework's own routes.

from membership_client import health

health.serve(consumer, port=8080)  # /livez, /readyz, /startupz; with ?verbose as JSON
"""

from membership_client.health.file import write
from membership_client.health.judging import MemberReport
from membership_client.health.report import Report, report
from membership_client.health.server import serve

__all__ = ["MemberReport", "Report", "report", "serve", "write"]
