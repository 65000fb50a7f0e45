"""``openai:MODEL@URL``: any endpoint that speaks OpenAI's chat completions (vLLM, SGLang, llama.cpp, Ollama, hosted).

What it writes is asked alike everywhere. Likelihoods of given texts have no common way, so each kind of server that
gives them is a module here, and a server is asked once which of them it understands.
"""

from eyetest.models.base import Backend
from eyetest.models.openai.address import Secret, key_for, parse_target, refuse_keys_in, usual_variable
from eyetest.models.openai.model import OpenAIModel

BACKEND = Backend("openai", "any OpenAI-compatible endpoint: openai:MODEL@URL", OpenAIModel)

__all__ = ["BACKEND", "OpenAIModel", "Secret", "key_for", "parse_target", "refuse_keys_in", "usual_variable"]
