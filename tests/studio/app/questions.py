"""What researchers ask of MathVista and MMMU-Pro with all their recorded answers, as clicks on the list."""

from collections.abc import Mapping
from pathlib import Path

from eyetest.benchmarks import Import, ReadOptions, import_benchmark
from eyetest.runs import Run
from tests.support.command import call


def import_mathvista(shared: Path, folder: Path) -> Run:
    """All answers to MathVista, each way of asking as a model of its own."""
    import_benchmark(shared / "data/mathvista", folder / "bench")
    columns = "item=item_id,text=raw_output,given=correct_if_given,model=model+setting+augment"
    modalities = "modality=condition:text>no-image,caption>caption,image>image"
    answers = shared / "data/mathvista/predictions.parquet"
    stated = ("--bench", folder / "bench", "--map", columns, "--fill", "sample=0", "--map-values", modalities)
    call("import", answers, "--to", folder / "run", *stated).fine()
    return Run(folder / "run")


def import_mmmu_pro(shared: Path, folder: Path) -> Run:
    """All answers to MMMU-Pro with ten options, as text with images or as a screenshot; no one was asked blind."""
    ten = ReadOptions(fields={"options": "options10", "answer": "answer10"})
    import_benchmark(shared / "data/mmmu_pro", folder / "bench", Import(read=ten))
    columns = "item=item_id,text=raw_output,given=correct_derived,model=model+setting"
    modalities = "modality=variant:standard10>image,vision10>screenshot,standard4>"
    answers = shared / "data/mmmu_pro/predictions.parquet"
    stated = ("--bench", folder / "bench", "--map", columns, "--map-values", modalities)
    call("import", answers, "--to", folder / "run", *stated).fine()
    return Run(folder / "run")


def answered(kind: str, model: str, condition: str) -> str:
    """The number of a model's answers of a kind, in the table of what models score."""
    return f'.models a[data-value="{kind}:{model}@{condition}"]'


def value(key: str, of: str) -> str:
    """A filter on the left."""
    return f'.value[data-key="{key}"][data-value="{of}"]'


def facet(key: str) -> str:
    """What opens a list of filters."""
    return f'details.facet:has([data-key="{key}"]) > summary'


BLIND, BARD, LLAVA = "gpt-4-0613 2-shot-cot", "multimodal-bard zero-shot", "llava-llama-2-13b zero-shot"
IDEFICS = "idefics-9b-instruct zero-shot"
GEMINI, GPT = "gemini-1.5-pro-exp-0801 direct", "gpt-4o-2024-08-06 direct"
TASK, SUBJECT = "figure question answering", "Music"
MATHVISTA: Mapping[str, tuple[str, ...]] = {
    "blind": (answered("right", BLIND, "no-image"),),
    "differ": (answered("right", BARD, "image"), answered("wrong", LLAVA, "image")),
    "doubt": (value("doubt", "0..<2"),),
    "refused": (answered("refused", IDEFICS, "image"),),
    "failed": (facet("tag.task"), value("tag.task", TASK), value("difficulty", "1")),
}
MMMU_PRO: Mapping[str, tuple[str, ...]] = {
    "differ": (answered("right", GEMINI, "image"), answered("wrong", GPT, "image")),
    "doubt": (value("doubt", "0..<2"),),
    "refused": (answered("refused", GPT, "screenshot"),),
    "failed": (value("tag.subject", SUBJECT), value("difficulty", "1")),
}
