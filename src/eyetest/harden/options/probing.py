"""Whether golds can be told without a picture: the audit's own learners, before and after."""

from collections.abc import Sequence

from eyetest.benchmarks import Benchmark
from eyetest.harden.options.record import ProbeFigures
from eyetest.probes import PROBES
from eyetest.probes.shortcuts import NAME
from eyetest.probes.subject import Progress, Subject
from eyetest.records import Finding


def probe_options(benchmark: Benchmark, seed: int, progress: Progress) -> tuple[ProbeFigures, ...]:
    """What each learner gets from options alone, and from question and options; none where items are too few."""
    findings: Sequence[Finding] = list(PROBES[NAME].run(Subject(benchmark, seed=seed, progress=progress)))
    return tuple(
        ProbeFigures(
            view=finding.numbers["view"],
            learner=finding.numbers["learner"],
            n=finding.numbers["n"],
            accuracy=finding.numbers["accuracy"],
            null_mean=finding.numbers["null_mean"],
            null_sd=finding.numbers["null_sd"],
            p=finding.p,
        )
        for finding in findings
        if finding.p is not None and "learner" in finding.numbers
    )
