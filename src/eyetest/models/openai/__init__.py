"""``openai:MODEL@URL``: any endpoint for OpenAI chat completions, some of which give likelihoods."""

from eyetest.models.base import Backend
from eyetest.models.openai.model import OpenAIModel

BACKEND = Backend("openai", "any OpenAI-compatible endpoint: openai:MODEL@URL", OpenAIModel)
