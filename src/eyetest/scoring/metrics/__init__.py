"""Metrics of an answer text against reference texts. A module here that defines ``METRICS`` adds them."""

from eyetest.errors import InputError
from eyetest.registry import Registry
from eyetest.scoring.metrics.base import Context, CorpusMetric, CorpusScore, ItemMetric, Metric

METRICS: Registry[Metric] = Registry("metric", __name__, "METRICS", "metric")


def item_metric(name: str) -> ItemMetric:
    """The metric of this name, which scores single answers."""
    metric = METRICS[name]
    if not isinstance(metric, ItemMetric):
        raise InputError(f'the metric "{name}" scores a whole corpus at once, not one answer: use corpus_metric')
    return metric


def corpus_metric(name: str) -> CorpusMetric:
    """The metric of this name, which scores all answers at once."""
    metric = METRICS[name]
    if not isinstance(metric, CorpusMetric):
        raise InputError(f'the metric "{name}" scores one answer at a time, not a corpus: use item_metric')
    return metric


__all__ = [
    "METRICS", "Context", "CorpusMetric", "CorpusScore", "ItemMetric", "Metric", "corpus_metric", "item_metric",
]  # fmt: skip
