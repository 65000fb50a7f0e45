"""Metrics by name, with their kind checked."""

from eyetest.scoring.metrics import METRICS, CorpusMetric, ItemMetric


def item_metric(name: str) -> ItemMetric:
    metric = METRICS[name]
    assert isinstance(metric, ItemMetric)
    return metric


def corpus_metric(name: str) -> CorpusMetric:
    metric = METRICS[name]
    assert isinstance(metric, CorpusMetric)
    return metric
