"""What people decided in a review becomes the next version of the benchmark."""

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import CHANGES
from eyetest.errors import InputError
from eyetest.jobs.opening import SILENT, AnyPath, Observer
from eyetest.jobs.review import find_review
from eyetest.reports.dataset_card import SAID, card_of, read_said, write_card, write_said
from eyetest.review.collection.sources import open_places
from eyetest.review.project import ReviewPlan
from eyetest.review.revision import ReviewedItems, RevisedBenchmark, revise_benchmark
from eyetest.store.urls import local_path
from eyetest.wording import counted


def revise(
    place: AnyPath, to: AnyPath, *, complete: bool = False, overwrite: bool = False, observer: Observer = SILENT
) -> RevisedBenchmark:
    """Carry out what people decided, with a card; ``complete`` refuses while something is open."""
    with find_review(local_path(place)) as project:
        plan = project.plan
        reviewed = ReviewedItems(project.outcomes(), project.decisions(), [one.form for one in plan.rounds])
    benchmark = _reviewed_benchmark(plan, observer)
    revised = revise_benchmark(benchmark, reviewed, local_path(to), complete=complete, overwrite=overwrite)
    if not (local_path(to) / SAID).exists() and (benchmark.path / SAID).is_file():
        write_said(local_path(to) / SAID, read_said(benchmark.path / SAID))
    write_card(card_of(revised.benchmark, read_said(local_path(to) / SAID)), revised.benchmark, local_path(to))
    for line in _notes(revised):
        observer.note(line)
    return revised


def _reviewed_benchmark(plan: ReviewPlan, observer: Observer) -> Benchmark:
    """The one benchmark that a review is about, as it was when the review began."""
    if not plan.together:
        raise InputError("what people decide about a refinement is carried out by eyetest refine, run again")
    if not plan.fingerprint:
        raise InputError("the review is about several benchmarks; a revision is of one")
    opened = open_places([local_path(path) for path in plan.places], observer.busy).benchmarks
    same = [one for one in opened if one.manifest.fingerprint == plan.fingerprint]
    if not same:
        raise InputError(f"{plan.benchmark} is not as it was when the review began; bring that version back")
    return same[0]


def _notes(revised: RevisedBenchmark) -> list[str]:
    notes = []
    if open_ := revised.counts["open"]:
        as_before = "it is as it was" if open_ == 1 else "they are as they were"
        notes.append(f"{counted(open_, 'item')} not decided yet: {as_before}, and listed in {CHANGES}")
    if ties := len(revised.ties):
        notes.append(f"{counted(ties, 'tag')} as before: as many reviewers say one thing as another; see {CHANGES}")
    return notes
