"""Self-contained pages made from tables and findings, and the figures in them."""

from eyetest.reports.audit_page import write_audit_page
from eyetest.reports.figures import FIGURES, chart
from eyetest.reports.material import Material
from eyetest.reports.refinements import RefinedItems, write_refine_page

__all__ = ["FIGURES", "Material", "RefinedItems", "chart", "write_audit_page", "write_refine_page"]
