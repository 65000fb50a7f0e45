"""How many tokens vLLM computes for the likelihoods of a benchmark's choices: run by the Python that has vLLM.

``python -m tests.models.vllm.counting BENCHMARK CHECKPOINT`` prints one line of JSON.
"""

import asyncio
import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from eyetest.benchmarks import Benchmark
from eyetest.models import Call, Images, Surroundings, make_models
from eyetest.prompts import build
from eyetest.records import Asked, Condition, ModelEntry, Request

TEMPLATES = 5
ITEMS = 12


async def count(bench: Benchmark, checkpoint: Path) -> dict[str, int]:
    sampling = {"dtype": "float32", "enforce_eager": True, "max_model_len": 2048, "block_size": 32}
    entry = ModelEntry(spec=f"vllm:{checkpoint}", sampling=sampling)
    (model,) = make_models({"m": entry}, Surroundings(images=Images(bench.images)))
    calls = []
    for item in islice(bench, ITEMS):
        for template in range(TEMPLATES):
            prompt = build(item, Condition(method="likelihood", template=template))
            request = Request(model="m", prompt=prompt, settings=dict(model.settings))
            calls.append(Call(Asked(item=item.id, model="m"), item, request, request.id))
    await model.open()
    outputs = []
    engine: Any = model._engine  # type: ignore[attr-defined]
    ask = engine.ask

    async def listened(*arguments: Any, **more: Any) -> Any:
        outputs.append(await ask(*arguments, **more))
        return outputs[-1]

    engine.ask = listened
    replies: Any = await model.answer_many(calls)  # type: ignore[attr-defined]
    await model.close()
    return {
        "requests": len(outputs),
        "read": sum(len(one.prompt_token_ids) for one in outputs),
        "computed": sum(len(one.prompt_token_ids) - (one.num_cached_tokens or 0) for one in outputs),
        "computed by a pass for each choice": sum(
            one.tokens_in * len(one.candidates) + sum(one.candidate_tokens) for one in replies
        ),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(count(Benchmark(Path(sys.argv[1])), Path(sys.argv[2])))))
