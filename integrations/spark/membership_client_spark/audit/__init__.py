"""The fleet audit: what any number of members did, from their traces, with Spark."""

from membership_client_spark.audit.summary import AuditSummary
from membership_client_spark.audit.tables import Audit, audit
from membership_client_spark.audit.target import AuditTargetError
from membership_client_spark.audit.trace_files import NoTracesError

__all__ = ["Audit", "AuditSummary", "AuditTargetError", "NoTracesError", "audit"]
