"""Models: endpoints, recorded answers, fakes."""

from eyetest.models.base import Backend, BatchModel, Call, CallError, Images, Model, ProbedModel, Surroundings
from eyetest.models.specs import BACKENDS, make_models, named_models, parse_models, read_models

__all__ = [
    "BACKENDS",
    "Backend",
    "BatchModel",
    "Call",
    "CallError",
    "Images",
    "Model",
    "ProbedModel",
    "Surroundings",
    "make_models",
    "named_models",
    "parse_models",
    "read_models",
]
