"""``eyetest run``: put a benchmark to models, and keep every answer."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from eyetest.cli import options
from eyetest.cli.options import (
    ConditionOptions,
    KeyOption,
    LimitOptions,
    PerturbOptions,
    SamplingOptions,
    Words,
    estimate_table,
    exit_as,
    limits,
    option,
    report,
    sampling,
    who,
    with_key,
)
from eyetest.cli.tables import print_table_as
from eyetest.cli.terminal import note, out, print_json, say
from eyetest.errors import InputError
from eyetest.jobs import race as goals
from eyetest.jobs import run as job
from eyetest.jobs.opening import open_bench
from eyetest.jobs.run import perturbed, read_perturbation
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
        str,
        limits(
            "--until",
            'Draw items at random until one of two models leads ("A>B"), or one is placed ("rank of A within 5").',
            "GOAL",
        ),
    ] = "",
    answers: Annotated[
        list[Path] | None,
        limits("--answers", "With --until: a run in which other models answered; repeat it.", "RUN"),
    ] = None,
    as_json: Annotated[bool, limits("--json", "With --until: the result as JSON.")] = False,
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
        conditions=perturbed(job.conditions(**put), how),
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
    if until and not model and models:
        model = goals.named_in(until)
    entries = with_key(parse_models(model or [], models), key_env)
    benchmark = open_bench(bench, file.read_all())
    session, goal = goals.start(benchmark, entries, asking, answers or ())
    if to is None or dry_run:
        out.print(estimate_table(session.estimate(to)))
    elif not until:
        report(job.carry_out(session, to), to)
    else:
        _print_goal(goals.finish_placing(session, goal, to) if goal else goals.finish(session, to), to, as_json)


def _print_goal(result: goals.PlaceResult | goals.RaceResult, to: Path, as_json: bool) -> None:
    """The models around the one that was placed, or both of a pair, and what is certain."""
    if as_json:
        print_json(result.as_dict())
        exit_as(result.progress)
        return
    print_table_as("terminal", result.shown)
    out.print()
    say(result.verdict)
    for line in result.notes:
        note(line)
    report(result.progress, to)
