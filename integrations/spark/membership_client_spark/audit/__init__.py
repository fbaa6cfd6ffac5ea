"""The fleet audit: what any number of members did, out of their traces, with Spark."""

from membership_client_spark.audit.auditing import audit
from membership_client_spark.audit.files import NoTracesError
from membership_client_spark.audit.result import Audit
from membership_client_spark.audit.summary import AuditSummary
from membership_client_spark.audit.target import AuditTargetError

__all__ = ["Audit", "AuditSummary", "AuditTargetError", "NoTracesError", "audit"]
