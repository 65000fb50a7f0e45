"""What people read at the end: pages that stand alone, made from tables and findings."""

from eyetest.reports.audit_page import write_audit_page

__all__ = ["write_audit_page"]
