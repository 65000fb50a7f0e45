"""The command ``certify``: what is known of a benchmark and of models that answered it, on a page to recompute."""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from eyetest.commands.base import new_path, observer, open_bench, open_run, path_of
from eyetest.commands.gathering import Scoring, flat, gather
from eyetest.commands.lazy import msgspec, pl
from eyetest.commands.options import HOW, AnyPath, AnyRun, Bench, Overwrite, panel
from eyetest.commands.results import Found
from eyetest.errors import InputError, as_stored, counted, first_line, heading, param, percent
from eyetest.grammar import choose_names

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.measures import Results, Settings

_TEMPLATE, _BEGIN, _END = "certificate.html.j2", '<pre id="certificate">', "</pre>"
_SHOWN = "both image and"
_LARGEST = 4_000_000
"""Bytes of a page that is checked."""
_WRITTEN = panel("What to write", 0)
_NOT_TESTED = "not tested: "


def certify(
    bench: Bench | None = None,
    /,
    *runs: AnyRun,
    page: Annotated[AnyPath | None, _WRITTEN] = None,
    check: AnyPath | None = None,
    clean: str = "",
    cluster: Annotated[str, HOW] = "auto",
    overwrite: Overwrite = False,
) -> "Certificate":
    """Write one page of evidence about a benchmark, or recompute such a page.

    Each line is a measure or a probe, with where its error rate was checked, and the page says what was not tested.
    The page holds a hash over the benchmark, all answers, the version and the seed. --check computes everything again
    and exits with 1 where a line, an input or the page itself differs. No model is asked.

    Args:
        bench: The benchmark.
        runs: Runs over it, with and without the image where there are any.
        page: The page.
        check: A page to recompute, from the paths that it names or from BENCH RUN….
        clean: Models known not to have seen the benchmark, A,B,…: contamination is relative to them.
        cluster: What makes items dependent: auto, found, image, group, passage, template, none, or a tag. A page is
            checked with the clusters that it names.
        overwrite: Replace a page that eyetest wrote before.

    Examples:
        $ eyetest certify mybench run --page certificate.html
        $ eyetest certify --check certificate.html

        >>> made = et.certify("world/benchmark", "run", page="certificate.html")
        >>> et.certify(check="certificate.html").exit_code
        0

    """
    from eyetest.pages.page import fill_page, write_page
    from eyetest.store import refuse_to_lose

    if (page is None) == (check is None):
        raise InputError(f"name what to write, {param('page', 'FILE')}, or what to check, {param('check', 'FILE')}")
    if check is not None:
        if clean:
            raise InputError(f"{heading('clean')}: a page that is checked names its clean models itself")
        file = path_of(check, "check")
        stated, text = _read(file)
        given = (bench, *flat(runs)) if bench is not None else tuple(file.parent / path for path in stated.paths)
        whole = text == fill_page(_TEMPLATE, {"about": stated}, "eyetest.commands").lstrip()
        return Certificate(_certified(given[0], given[1:], file, stated.how), stated, whole_page=whole)
    file = new_path(page, "page")
    refuse_to_lose(file, overwrite=overwrite, ours=None)
    if bench is None:
        raise InputError("name a benchmark, and runs over it")
    found = _certified(bench, flat(runs), file, How(cluster=cluster, clean=clean))
    write_page(_TEMPLATE, {"about": found}, file, overwrite=overwrite, package="eyetest.commands")
    return Certificate(found, notes=(f"page → {file}",))


class How(NamedTuple):
    """What decides values beside the inputs."""

    seed: int = 0
    cluster: str = "auto"
    clean: str = ""


@dataclass(frozen=True)
class Statement:
    """One statement: its values, and the command that gives it. The page says how its error rate was checked."""

    name: str
    says: tuple[str, ...]
    command: str

    @property
    def is_tested(self) -> bool:
        """Whether there was anything to measure."""
        return not self.says[0].startswith(_NOT_TESTED)


@dataclass(frozen=True)
class About:
    """The contents of a page."""

    benchmark: str
    items: int
    paths: tuple[str, ...]  # of the benchmark and the runs, from the folder of the page
    inputs: tuple[str, ...]  # hashes of the benchmark and of all scores and replies
    version: str
    seed: int
    lines: tuple[Statement, ...]
    digest: str = ""
    cluster: str = "auto"  # what makes items dependent
    medium: tuple[str, str] = ("image", "images")  # what sentences call that which the items show
    clean: str = ""  # the models that are named as clean

    @property
    def how(self) -> How:
        """What decided its values."""
        return How(self.seed, self.cluster, self.clean)

    @property
    def computed(self) -> str:
        """The hash over inputs, version, seed and lines."""
        shown = self.medium if self.medium != ("image", "images") else ()
        named = (self.clean,) if self.clean else ()
        basis = (self.benchmark, self.items, self.inputs, self.version, self.seed, self.cluster)
        contents = msgspec.json.encode((*basis, self.lines, *shown, *named))
        return hashlib.sha256(contents).hexdigest()

    @property
    def stored(self) -> str:
        """As it stands on the page."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode()


class Certificate(Found):
    """The lines of a page; of one that was checked also whether each is the same, exit code 1 where one is not."""

    def __init__(
        self, about: About, stated: About | None = None, *, whole_page: bool = True, notes: Sequence[str] = ()
    ) -> None:
        self.about, self.stated = about, stated
        if stated is None:
            rows = [{"line": line.name, "says": " · ".join(line.says)} for line in about.lines]
            super().__init__("certificate", pl.DataFrame([*rows, {"line": "hash", "says": about.digest}]), notes)
            return
        before, after = _facts(stated), _facts(about)
        before["hash"], after["hash"] = stated.digest, stated.computed
        names = list(dict.fromkeys((*before, *after)))
        compared = [(name, before.get(name) == after.get(name), before.get(name), after.get(name)) for name in names]
        altered = "as written" if whole_page else "other words or values than its own contents give"
        columns = {"line": pl.String, "same": pl.Boolean, "page": pl.String, "computed": pl.String}
        frame = pl.DataFrame([*compared, ("page", whole_page, altered, "")], schema=columns, orient="row")
        super().__init__("certificate", frame, notes, exit_code=int(not frame.get_column("same").all()))


def _facts(about: About) -> dict[str, str]:
    facts = {"benchmark": f"{about.benchmark}, {counted(about.items, 'item')}", "version": about.version}
    facts |= {f"input {number}": found for number, found in enumerate(about.inputs)}
    return facts | {line.name: " · ".join((*line.says, line.command)) for line in about.lines}


def _read(file: Path) -> tuple[About, str]:
    """What a page states, and the page."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST).decode("utf-8")
        inside = text[text.index(_BEGIN) + len(_BEGIN) :]
        return msgspec.json.decode(unescape(inside[: inside.index(_END)]), type=About), text
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise InputError(f"{heading('check')}: {file} is no certificate: {first_line(error)}") from None


def _certified(bench: Bench, runs: Sequence[Any], file: Path, how: How) -> About:
    """Everything computed anew."""
    from eyetest.benchmarks.media import medium_names
    from eyetest.measures import Settings
    from eyetest.measures.results import values_of
    from eyetest.version import __version__

    benchmark = open_bench(bench)
    results = gather(list(runs), Scoring(bench=benchmark, cluster=how.cluster)) if runs else None
    if how.clean:
        choose_names(how.clean, "clean", values_of(results, "model") if results else (), "model")
    inputs = (benchmark.manifest.fingerprint, *(_content(results) if results else ()))
    places = (benchmark.path, *(open_run(run).path for run in runs))
    paths = tuple(os.path.relpath(as_stored(str(path.absolute())), file.absolute().parent) for path in places)
    settings = Settings(seed=how.seed, own={"clean": how.clean})
    lines = tuple(_lines(benchmark, results, settings, how.cluster))
    about = About(benchmark.manifest.name, len(benchmark), paths, inputs, __version__, how.seed, lines)
    medium = medium_names(benchmark.manifest.counts)
    about = replace(about, cluster=how.cluster, medium=medium, clean=how.clean)
    return replace(about, digest=about.computed)


def _content(results: "Results") -> Iterable[str]:
    """Hashes of all scores, and of all replies with their likelihoods."""
    for frame, names in ((results.scores, ()), (results.replies, ("request", "text", "candidates"))):
        table = frame.select(names or pl.all()).cast({pl.Categorical: pl.String, pl.Enum: pl.String}).collect()
        yield hashlib.sha256(table.sort(table.columns).write_csv().encode()).hexdigest()


def _lines(benchmark: "Benchmark", results: "Results | None", how: "Settings", cluster: str) -> Iterable[Statement]:
    from eyetest.benchmarks.media import medium_names
    from eyetest.probes import Subject
    from eyetest.probes.audit import run_audit

    with observer().steps("auditing") as step:
        subject = Subject(benchmark, seed=how.seed, progress=step)
        audit = run_audit(subject, [probe for probes in _PROBES.values() for probe in probes])
    for name, probes in _PROBES.items():
        found = [finding for finding in audit.findings if finding.probe in probes]
        says = [f"{_NOT_TESTED * (finding.severity == 'untested')}{finding.title}" for finding in found]
        yield Statement(name, tuple(says) or ("none found",), f"eyetest audit BENCH --probe {probes[0]}")
    if results is not None:
        yield Statement(
            "dependent items", tuple(_clusters(results)), f"eyetest measure accuracy RUN --cluster {cluster}"
        )
    medium = medium_names(benchmark.manifest.counts).one
    for name, (measure, tell) in _MEASURES.items():
        measured = tuple(_about_medium(line, medium) for line in _measured(results, measure, tell, how))
        clean = f" --set clean={how.own['clean']}" if measure == "contamination" and how.own["clean"] else ""
        command = f"eyetest measure {measure} RUN --cluster {cluster}{clean}"
        yield Statement(_about_medium(name, medium), measured, command)


def _clusters(results: "Results") -> Iterable[str]:
    """How many clusters intervals count, and the notes of the default on what made them."""
    from eyetest.results.clusters import CLUSTER_NOTE

    items = results.every_item("cluster")
    clusters = items.select("benchmark", "cluster").n_unique()
    yield f"{counted(len(items), 'item')} count as {counted(clusters, 'cluster')} in intervals and tests"
    yield from (note.removeprefix(CLUSTER_NOTE) for note in results.notes if note.startswith(CLUSTER_NOTE))


def _about_medium(sentence: str, medium: str) -> str:
    """A sentence of ours about a benchmark of another medium than images."""
    return sentence.replace("without the image", f"without the {medium}").replace(_SHOWN, f"both {medium} and")


def _measured(
    results: "Results | None", name: str, tell: Callable[["pl.DataFrame"], Iterable[str]], how: "Settings"
) -> tuple[str, ...]:
    from eyetest.measures import MEASURES, NotMeasurable
    from eyetest.measures.results import under_one_modality

    if results is None:
        return (f"{_NOT_TESTED}no run is named",)
    try:
        kept = under_one_modality(results)[0] if name in _WITH_IMAGE else results
        measured = MEASURES[name].measure(kept, how)
    except (NotMeasurable, InputError) as reason:
        return (f"{_NOT_TESTED}{reason}",)
    statements = (*tell(measured.table), *_review_advice(name, measured.notes))
    return statements or (f"{_NOT_TESTED}no value",)


def _no_image(table: "pl.DataFrame") -> Iterable[str]:
    """Of the best series without the image: its score above guessing, of what guessing leaves."""
    for row in table.filter(pl.col("above").is_not_null()).iter_rows(named=True):
        names, rest = ("above", "above_low", "above_high"), 1 - row["guessing"]
        share, *ends = ("" if row[name] is None else f"{100 * max(0.0, row[name] / rest):.1f}" for name in names)
        sure = f"[{', '.join(ends)}], p = {row['p_adjusted']:.2g}" if all(ends) else "(too few items for an interval)"
        yield f"{share} % of items {sure}, by {row['model']}, the best of {row['series']} series without the image"


def _label_errors(table: "pl.DataFrame") -> Iterable[str]:
    """How many keys are more likely wrong than right; the number expected wrong, or why there is none, is a note."""
    flawed = table.get_column("flawed").drop_nulls()
    if len(flawed) == 0:
        return []
    return [f"{counted(int((flawed > 0.5).sum()), 'key')} more likely wrong than right by models' votes"]


def _review_advice(name: str, notes: Iterable[str]) -> Iterable[str]:
    """Of the notes about label errors those that give numbers: keys expected wrong, and what a review would find.

    Where too few models are independent, nothing is said of the number: this was not tested.
    """
    if name != "wrong-golds":
        return
    for note in notes:
        if any(words in note for words in ("expected to be wrong", "can be wrong", "planted")):
            yield note
        elif "no odds" in note:
            yield f"{_NOT_TESTED}{note}"


def _smallest(table: "pl.DataFrame") -> Iterable[str]:
    known = (100 * table.get_column("detectable")).drop_nulls().to_list()
    pairs = counted(len(known), "pair")
    return (
        [f"{min(known):.1f} to {max(known):.1f} points between two models, over {pairs} (power .8)"] if known else []
    )


def _by_series(tell: Callable[[dict[str, Any]], str | None]) -> Callable[["pl.DataFrame"], Iterable[str]]:
    """A line for each series that there is something to tell of."""

    def lines(table: "pl.DataFrame") -> Iterable[str]:
        known = [name for name in ("model", "modality", "method", "ask") if name in table.columns]
        for row in table.iter_rows(named=True):
            if (says := tell(row)) is not None:
                yield f"{' '.join(str(row[name]) for name in known)}: {says}"

    return lines


def _memory(row: dict[str, Any]) -> str:
    """What the test of memory says about one series, with p adjusted over all of them."""
    from eyetest.measures.contamination import NAMED_AS_CLEAN

    if row.get("no_p") == NAMED_AS_CLEAN:
        return f"{NAMED_AS_CLEAN}; p of the others is relative to such models"
    if row["p"] is None:
        return f"{_NOT_TESTED}{row.get('no_p') or 'no words to compare'}"
    p = f"p = {row['p']:.2g}, Holm over all models {row['p_adjusted']:.2g}"
    if "no_p" in row:
        return f"{p} ({row['evidence']}, relative to the models named as clean)"
    seen = f"[{100 * row['dose_low']:.1f}, {100 * row['dose_high']:.1f}] % of items seen"
    firm, weak = (_share_or_none(row[name]) for name in ("detectable", "detectable_half"))
    smallest = f"smallest detectable share {firm} if memories are firm (probability .9 of the key), {weak} if of .5"
    return f"{p}, {seen}, {smallest} ({row['evidence']})"


def _share_or_none(share: float | None) -> str:
    return "none" if share is None else percent(share)


def _entropy(row: dict[str, Any]) -> str | None:
    whole = row["source"] == "all" and row["entropy"] is not None
    return f"entropy {row['entropy']:.4f}" if whole else None


_WITH_IMAGE = ("wrong-golds", "differences")
_PROBES = {"shortcuts": ("shortcuts",), "duplicates": ("duplicate-items", "duplicate-images")}
_MEASURES: dict[str, tuple[str, Callable[["pl.DataFrame"], Iterable[str]]]] = {
    "answerable without the image": ("best-no-image", _no_image),
    "label errors": ("wrong-golds", _label_errors),
    "smallest detectable difference": ("differences", _smallest),
    "unread answers": ("accuracy", _by_series(lambda row: percent(row["unread"]))),
    "contamination": ("contamination", _by_series(_memory)),
    "instability": ("instability", _by_series(_entropy)),
}
