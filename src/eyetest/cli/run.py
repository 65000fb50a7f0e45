"""``eyetest run``: put a benchmark to models, and keep every answer."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from eyetest.cli import options
from eyetest.cli.asking import KeyOption, LimitOptions, SamplingOptions, limits, report, sampling, who, with_key
from eyetest.cli.live import TERMINAL, estimate_table
from eyetest.cli.options import ConditionOptions, PerturbOptions, Words, option
from eyetest.cli.terminal import note, out
from eyetest.errors import InputError
from eyetest.jobs import run as job
from eyetest.jobs.perturbation import perturbed, read_perturbation
from eyetest.models import parse_models
from eyetest.running import Asking, Cluster


def run(
    bench: options.BenchArgument,
    to: Annotated[Path | None, option("--to", "The run folder; again to go on where it stopped.", "RUN")] = None,
    model: Annotated[
        Words,
        who(
            "--model -m",
            "openai:MODEL@URL, replay:FILE#MODEL, scripted:…, NAME=SPEC, or a name of --models; repeatable.",
            "SPEC",
        ),
    ] = None,
    models: Annotated[Path | None, who("--models", "A models.yaml; all of it without --model.", "FILE")] = None,
    key_env: KeyOption = None,
    limit: options.FirstOption = None,
    item: Annotated[Words, option("--item", "Only this item (repeat it).", "ID")] = None,
    dry_run: Annotated[bool, option("--dry-run", "Say what would be asked, and ask nothing.")] = False,
    retry_failed: options.RetryOption = False,
    templates: Annotated[
        int | None, options.put("--templates", "The first N of the six instructions, all of them.", "N")
    ] = None,
    trials: Annotated[int, sampling("--trials", "How often each question is asked.", min=1)] = 1,
    stop: Annotated[
        str,
        limits(
            "--stop",
            'Ask only until a verdict cannot change: "more than 5 of 10 trials, at least 3 of 4 models".',
            "RULE",
        ),
    ] = "",
    until: Annotated[
        str, limits("--until", "Draw items by lot until one of two models leads for certain, whoever it is.", "A>B")
    ] = "",
    on: Annotated[
        str,
        limits("--on", "Where calls are made from: ray (RAY_ADDRESS, or this machine), ray://HOST:PORT.", "PLACE"),
    ] = "",
    workers: Annotated[int | None, limits("--workers", "With --on: how many ask at once.", "N", min=1)] = None,
    *,
    condition: ConditionOptions,
    perturbation: PerturbOptions,
    answering: SamplingOptions,
    how_far: LimitOptions,
    file: options.GoldFileOptions,
) -> None:
    """Put a benchmark to models under chosen conditions. Every answer is on disk before it counts.

    Kill it at any moment and run the same command again: nothing is lost, nothing is asked twice. Several values of a
    condition (--sight image,blind) give all combinations; --perturb puts each of them in several tests.
    """
    if to is None and not dry_run:
        raise InputError("--to RUN is missing: where are the answers to be kept?")
    how = read_perturbation(**asdict(perturbation), seed=answering.seed)
    put = asdict(condition)
    if templates is not None:
        put["template"] = job.first_templates(templates, condition.template)
    asking = Asking(
        conditions=perturbed(job.conditions(**put), how, TERMINAL),
        trials=trials,
        sampling=job.sampling(answering.temperature, answering.max_tokens),
        seed=answering.seed,
        limit=limit,
        items=tuple(item or ()),
        limits=how_far.limits(),
        patience=how_far.surroundings(),
        retry_failed=retry_failed,
        stop=stop,
        until=until,
        cluster=Cluster.parse(on, workers),
    )
    entries = with_key(parse_models(model or [], models), key_env)
    session = job.prepare(bench, entries, asking, file.read_all(), TERMINAL)
    if to is None or dry_run:
        out.print(estimate_table(session.estimate(to)))
        return
    progress = job.carry_out(session, to, TERMINAL)
    if session.race is not None:
        note(session.race.told)
    report(progress, to)
