"""Metrics of an answer text against reference texts. A module here that defines ``METRICS`` adds them."""

from eyetest.registry import Registry
from eyetest.scoring.metrics.base import Context, CorpusMetric, CorpusScore, ItemMetric, Metric

METRICS: Registry[Metric] = Registry("metric", __name__, "METRICS", "metric")

__all__ = ["METRICS", "Context", "CorpusMetric", "CorpusScore", "ItemMetric", "Metric"]
