"""``eyetest review …``: people decide about items in a browser, and how far they are."""

import getpass
import webbrowser
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

from rich.text import Text

from eyetest.benchmarks.folder import CHANGES
from eyetest.cli.options import JsonOption, OverwriteOption, argument, option
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import advise, note, out, print_json, program, safe
from eyetest.errors import InputError, nearest, param, short
from eyetest.jobs import review as job
from eyetest.pages.item_counts import HOST, PORT
from eyetest.review.overview import COEFFICIENTS, AgreementRow, ReviewOverview
from eyetest.review.plan import Role
from eyetest.review.project import ReviewProject
from eyetest.wording import counted, minute, typed

begun, served = partial(option, panel="What is asked"), partial(option, panel="Served")
OnOption = Annotated[
    Path, option("--on", "The review: its folder, or the refinement or benchmark that it is about.", "PLACE")
]


@dataclass(frozen=True)
class AskedOptions(job.ReviewWishes):
    """What people are asked, and about which items."""

    items: Annotated[
        str,
        begun(
            "--items",
            "Which items: review (those a recipe left to people), all, a number drawn by lot, or a query as in the "
            "address of eyetest open. (default: review, or all where none waits)",
            "WHICH",
        ),
    ] = ""
    rounds: Annotated[
        str,
        begun("--rounds", "Reviewers of each round; nobody sees an item in two. 1,2: one, then two others.", "N,N"),
    ] = ""
    form: Annotated[
        str, begun("--form", "What they are asked: a form by name, a YAML file, or plain words.", "FORM")
    ] = ""
    solve: Annotated[bool, begun("--solve", "Show the gold only after the reviewer has answered.")] = False
    agree: Annotated[
        str,
        begun("--agree", "all: whatever anybody sees otherwise goes to an adjudicator; most: ties only.", "HOW"),
    ] = ""
    per: Annotated[str, begun("--per", "Let the values of this tag take turns.", "TAG")] = ""
    seed: Annotated[int | None, begun("--seed", "Random seed. (default: 0)", min=0)] = None


def review(
    places: Annotated[
        list[Path],
        argument("PLACE...", "A refinement, a benchmark, runs and audits of it; or the folder of a review."),
    ],
    asked: AskedOptions,
    to: Annotated[
        Path | None,
        begun("--to", "Where decisions are kept. (default: in the refinement, or PLACE-review)", "DIR"),
    ] = None,
    as_: Annotated[str | None, served("--as", "Your name. (default: your login)", "NAME")] = None,
    browser: Annotated[bool, served("--browser", "Open it in the browser.")] = False,
    port: Annotated[
        int | None, served("--port", f"Where it listens. (default: {PORT}, or the next free)", min=0, max=65_535)
    ] = None,
    host: Annotated[str, served("--host", "Who may ask: 127.0.0.1 is this machine alone.", "NAME")] = HOST,
) -> None:
    """Let people decide about items: keep, drop with a reason, fix, or unsure.

    Prints your own link and serves until Ctrl-C. Run it again to go on: decisions are kept the moment they are made,
    only ever added, and read by eyetest refine.

    Meanwhile, in another terminal, somebody is given a personal link with invite and loses it with revoke; status
    says how far all are, and how far they agree.
    """
    opened = job.open_review(places, asked, to)
    name = as_ or _login()

    def ready(link: str) -> None:
        out.print(link, highlight=False, soft_wrap=True)
        out.file.flush()
        note(f"the link of {safe(name)}; it works in the browser that opens it first")
        advise("invite others", typed(program(), "review", "invite", "NAME", "--on", opened.project.folder))
        if host == HOST:
            note(f"only this machine can open it; {param('host', 'NAME')} lets others in")
        for line in opened.project.progress().stuck:
            note(line)
        note("Ctrl-C ends it")
        if browser:
            webbrowser.open(link)

    job.serve_review(opened, name, host=host, port=port, ready=ready)


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "admin"


def invite(
    name: Annotated[str, argument("NAME", "Whom; decisions bear this name.")],
    on: OnOption,
    role: Annotated[
        str,
        option(
            "--role",
            "reviewer; adjudicator, who also settles what others disagree about; admin, who may do everything; "
            "reader, who sees items without golds and decides nothing.",
            "ROLE",
        ),
    ] = "reviewer",
    days: Annotated[float, option("--days", "How long the link opens.", min=0.01, max=3_650)] = 30,
) -> None:
    """Print a personal link for somebody: send it to them and to nobody else.

    It works in the browser that opens it first. Invited again, they get a new link, and the old one is dead.
    """
    roles: tuple[Role, ...] = get_args(Role)
    if role not in roles:
        raise InputError(f"{param('role')}: no role {short(role)}; {nearest(role, roles)}")
    known = next(one for one in roles if one == role)
    out.print(job.invite(on, name, known, days), highlight=False, soft_wrap=True)
    note(f"the link of {safe(name)}, for {days:g} days; one that they had before is dead")


def revoke(name: Annotated[str, argument("NAME", "Whose link.")], on: OnOption) -> None:
    """End somebody's link at once. What they decided stays; what they had begun is free for others."""
    job.revoke(on, name)
    advise(f"{safe(name)} is out; to let them in again", typed(program(), "review", "invite", name, "--on", on))


def status(
    place: Annotated[Path, argument("PLACE", "The review, or the refinement or benchmark that it is about.")],
    as_json: JsonOption = False,
) -> None:
    """Say how far a review is: decisions by round and by person, what nobody can do, and how far people agree."""
    with job.find_review(place) as project:
        told = project.overview()
        if as_json:
            print_json(
                {"plan": project.plan, "overview": told, "people": [row._asdict() for row in project.people()]}
            )
            return
        _show_progress(project, told)
        _show_people(project, told)
    if told.agreement:
        _show_agreement(told.agreement)
    for line in told.progress.stuck:
        note(line)


def revise(
    place: Annotated[Path, argument("PLACE", "The review, or the benchmark that it is about.")],
    to: Annotated[Path, option("--to", "The folder of the new version.", "BENCH")],
    complete: Annotated[bool, option("--complete", "Write nothing while an item is not decided.")] = False,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make the next version of a benchmark out of what people decided: edits and tags in it, dropped items gone.

    BENCH/changes.csv says what was changed, by whom and why. Measured with --bench BENCH, runs on the version before
    count by what people decided; answers to what was reworded do not.
    """
    revised = job.carry_out_review(place, to, complete=complete, overwrite=overwrite)
    manifest = revised.benchmark.manifest
    if as_json:
        print_json({"name": manifest.name, "version": manifest.version, "items": dict(revised.counts)})
        return
    told = ", ".join(f"{kind} {count:,}" for kind, count in revised.counts.items())
    out.print(Text.assemble((safe(f"{manifest.name} {manifest.version}"), "bold"), f" · {told}"), soft_wrap=True)
    note(f"{counted(manifest.counts.items, 'item')} → {to}; what changed is in {to / CHANGES}")


def _show_progress(project: ReviewProject, told: ReviewOverview) -> None:
    progress = told.progress
    words = [counted(progress.items, "item"), f"{progress.settled:,} settled"]
    words += [f"{progress.disputed:,} for an adjudicator"] if progress.disputed else []
    words += [f"{told.seconds:.0f} s an item"] if told.seconds is not None else []
    out.print(Text.assemble((safe(project.plan.name), "bold"), f" · {', '.join(words)}"))
    rows = [
        (f"round {one.round}" if one.round else "settling", *(f"{number:,}" for number in numbers))
        for one in progress.rounds
        for numbers in [(one.all, one.decided, one.begun, one.open, one.later)]
    ]
    show_table(["round"], ["decisions", "made", "begun", "open", "later"], rows)
    if told.decisions:
        out.print("items by decision: " + ", ".join(f"{word} {count:,}" for word, count in told.decisions.items()))
    for reason, count in told.reasons.items():
        out.print(Text.assemble(f"{count:,} × ", safe(reason)), soft_wrap=True)


def _show_people(project: ReviewProject, told: ReviewOverview) -> None:
    seconds = {one.name: one.seconds for one in told.progress.people}
    rows = [
        (
            *(safe(row.name), "revoked" if row.revoked else row.role, minute(row.seen, "never")),
            *(f"{row.decided:,}", f"{row.waiting:,}", "" if (s := seconds.get(row.name)) is None else f"{s:.0f}"),
        )
        for row in project.people()
    ]
    if rows:
        show_table(["who", "role", "last seen"], ["decided", "could decide", "s an item"], rows)
    else:
        advise("nobody was invited yet", typed(program(), "review", "invite", "NAME", "--on", project.folder))


def _show_agreement(rows: tuple[AgreementRow, ...]) -> None:
    cells = [
        (
            *(safe(row.about), f"round {row.round}" if row.round else "all rounds"),
            COEFFICIENTS.get(row.coefficient, row.coefficient),
            *(safe(" and ".join(filter(None, (row.a, row.b)))) or "all", _figure(row.agreement)),
            *(f"{_figure(row.agreement_low)} to {_figure(row.agreement_high)}", f"{row.n:,}"),
        )
        for row in rows
    ]
    show_table(["about", "round", "agreement", "of"], ["value", "interval", "items"], cells)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
