"""Kinds of question: annotations become items."""

from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, Shown
from eyetest.registry import Registry

REFORMERS: Registry[Reformer] = Registry("reformer", __name__, "REFORMER", "reformer")

__all__ = ["REFORMERS", "ItemDraft", "Kit", "Reformer", "Shown"]
