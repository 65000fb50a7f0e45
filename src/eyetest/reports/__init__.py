"""What people read at the end: pages that stand alone, made from tables and findings."""

from eyetest.reports.audit_page import write_audit_page
from eyetest.reports.refine_page import Blind, Refinement, write_refine_page

__all__ = ["Blind", "Refinement", "write_audit_page", "write_refine_page"]
