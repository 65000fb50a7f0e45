"""Kinds of question, one module each: annotations become items."""

from eyetest.reform.reformers.base import Draft, Kit, Reformer, Shown
from eyetest.registry import Registry

REFORMERS: Registry[Reformer] = Registry("reformer", __name__, "REFORMER")

__all__ = ["REFORMERS", "Draft", "Kit", "Reformer", "Shown"]
