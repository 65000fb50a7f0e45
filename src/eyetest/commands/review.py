"""The command ``review`` and those below it: people decide about items in a browser, or in another tool."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Group, RenderableType
from rich.text import Text

from eyetest.commands.base import new_path, observer, path_of, several
from eyetest.commands.lazy import msgspec, pl, reviews
from eyetest.commands.options import SERVED, AnyPath, Overwrite, Paths, Words
from eyetest.commands.results import Found, NewBenchmark, Written, estimates, safe
from eyetest.errors import InputError, counted, heading, param, short, typed
from eyetest.grammar import refuse_idle

if TYPE_CHECKING:
    from eyetest.studio.project import ReviewProject

    Reviewers = Words | Mapping[str, str]
else:
    Reviewers = Words

_NOT_SERVED = "none"
_USUAL_ROLE = "reviewer"


def review(
    places: Paths,
    /,
    *,
    items: str = "",
    reviewers: int | None = None,
    form: str = "",
    solve: bool = False,
    to: AnyPath | None = None,
    browser: Annotated[bool, SERVED] = False,
    address: Annotated[str | None, SERVED] = None,
    public: Annotated[str | None, SERVED] = None,
    proxy: Annotated[Words, SERVED] = (),
) -> "ReviewStatus | None":
    """Have people decide about items in a browser: keep, drop with a reason, fix, or unsure.

    Prints your own link and serves until Ctrl-C. Run it again to go on: decisions are stored when they are made, and
    read by eyetest refine. Others get a link with eyetest review invite, also while it is served.

    Args:
        places: A refinement, or a benchmark with its runs and audits; or the folder of a review.
        items: review (left by a recipe), all, a query, or N (of a query) at random. [default: review, if any]
        reviewers: How many people decide about each item. [default: 1]
        form: What is asked: a form by name, a YAML file, or your own words.
        solve: Show the answer key only after the reviewer has answered.
        to: Folder of decisions. [default: in the refinement, or PLACE-review]
        browser: Open it in the browser.
        address: HOST:PORT to listen on, or none to prepare the review only. [default: this machine]
        public: Address that browsers use, where a reverse proxy passes their calls on: https://HOST/PATH.
        proxy: IP address or network of a proxy whose X-Forwarded-For and -Proto count; repeatable.

    Examples:
        $ eyetest review mybench run --items 100 --form mmstar --browser
        $ eyetest review mybench --reviewers 3 --address none
        $ eyetest review mybench run --items '60 of answer=wrong:MODEL' --form mmmu-pro

        >>> et.review("world/benchmark", items="10", to="reviewed", address="none").frame["open"].to_list()
        [10]

    """
    import getpass
    import webbrowser
    from contextlib import suppress

    from eyetest.pages.item_links import HOST, read_address
    from eyetest.pages.serving import listen, read_front, server_of
    from eyetest.studio.app.office import make_review_app

    named: list[Path | str] = several(places)
    settings = reviews.ReviewSettings(items, reviewers, form, solve)
    if address == _NOT_SERVED:
        refuse_idle(
            {"browser": browser, "public": public, "proxy": proxy}, f"{param('address', 'none')} serves nothing"
        )
    host, port = read_address(None if address == _NOT_SERVED else address)
    front = read_front(host, public, proxies := several(proxy))
    folder = new_path(to, "to") if to is not None else None
    opened = reviews.open_review([path_of(place, "places") for place in named], settings, folder, observer().busy)
    project, note = opened.project, observer().note
    app = make_review_app(opened.collection, project, front)
    for line in opened.collection.notes:
        note(line)
    if address == _NOT_SERVED:
        project.close()
        return review_status(project.folder)

    taken, url = listen(host, port)
    project.keep_address(front.public or url)
    name = "admin"
    with suppress(OSError, KeyError, ImportError):
        name = getpass.getuser()
    link = project.link(project.people.invite(name, "admin"))
    note(f"serving until Ctrl-C; the link of {name} works in the browser that opens it first: {link}")
    note(f"invite others: {typed('eyetest', 'review', 'invite', 'NAME', '--on', project.folder)}")
    if host == HOST and not public:
        note(f"only this machine can open it; {param('address', 'HOST:PORT')} lets others in")
    if public and not proxies:
        note(f"all callers share one limit of calls and invalid links; {param('proxy', 'IP')} tells them apart")
    if stuck := project.progress().stuck:
        note(stuck)
    if browser:
        webbrowser.open(link)
    server_of(app, proxies).run(sockets=[taken])
    return None


def invite(name: str, /, *, on: AnyPath, role: str = _USUAL_ROLE, revoke: bool = False) -> Written:
    """Print a personal link to a review, or withdraw it.

    The link works for 30 days, in the browser that opens it first. A new link replaces an earlier one.

    Args:
        name: The person; their decisions have this name.
        on: The review: its folder, or the refinement or benchmark that it is about.
        role: reviewer, admin (settles disputes too), or reader (decides nothing, sees no keys).
        revoke: Withdraw the link at once; decisions stay, and items in work become free for others.

    Examples:
        $ eyetest review invite Ann --on mybench
        $ eyetest review invite Ann --on mybench --revoke

        >>> et.invite("Ann", on="bench-review").line  # doctest: +SKIP
        'http://127.0.0.1:8765/enter/…'

    """
    with reviews.find_review(path_of(on, "on")) as project:
        if revoke:
            refuse_idle({"role": role != _USUAL_ROLE}, f"{param('revoke', True)} gives no role")
            project.people.revoke(name)
            again = typed("eyetest", "review", "invite", name, "--on", project.folder)
            return Written(f"the link of {name} is withdrawn", {"name": name}, [f"a new link: {again}"])
        link = project.link(project.people.invite(name, role))
    facts = {"name": name, "role": role, "link": link}
    return Written(link, facts, [f"the link of {name}, valid for 30 days; earlier ones do not work any more"])


def revise(place: AnyPath, /, *, to: AnyPath, overwrite: Overwrite = False) -> NewBenchmark:
    """Write the next version of a benchmark from what people decided.

    Edits and tags are applied, dropped items are left out, and changes.csv lists every change with its reviewers and
    reason. Measured with --bench, runs on the version before count by the new answer keys; answers to reworded
    items do not count.

    Args:
        place: The review, or the benchmark that it is about.
        to: Folder of the new version.
        overwrite: Replace a benchmark that eyetest wrote before.

    Examples:
        $ eyetest review revise mybench --to mybench-2

        >>> et.revise("bench-review", to="bench-2").benchmark  # doctest: +SKIP
        <Benchmark 'world-7': 58 items in bench-2>

    """
    from eyetest.benchmarks.folder import CHANGES

    folder, reviewed = new_path(to, "to"), path_of(place, "place")
    revised, notes = reviews.revise_reviewed(reviewed, folder, observer().busy, overwrite=overwrite)
    manifest = revised.benchmark.manifest
    counts = ", ".join(f"{kind} {count:,}" for kind, count in revised.counts.items())
    where = f"{counted(manifest.counts.items, 'item')} → {folder}; changes are listed in {folder / CHANGES}"
    facts = {"name": manifest.name, "version": manifest.version, "decisions": dict(revised.counts)}
    return NewBenchmark(revised.benchmark, f"{manifest.name} {manifest.version} · {counts}", facts, [*notes, where])


def export_review(place: AnyPath, /, *, to: AnyPath, tool: str = "csv", overwrite: Overwrite = False) -> Written:
    """Write the open and the made decisions of a review as files of another tool.

    A review of a benchmark has to exist: eyetest review PLACE --address none prepares one. Decisions that people make
    in the other tool come back with eyetest review import.

    Args:
        place: The review, or the refinement or benchmark that it is about.
        to: A new folder for the files.
        tool: csv for a spreadsheet, or label-studio.
        overwrite: Replace files that eyetest wrote before.

    Examples:
        $ eyetest review export mybench --to studio --tool label-studio

        >>> et.export_review("bench-review", to="studio", tool="label-studio").facts["files"]  # doctest: +SKIP

    """
    from eyetest.studio.exchange import check_target, check_tool, outgoing_of, write_files

    form, folder, where = check_tool(tool), new_path(to, "to"), path_of(place, "place")
    check_target(folder, overwrite=overwrite)
    if reviews.recipe_place(where) is None:
        reviews.find_review(where).close()  # otherwise the next line would begin one
    project, collection = reviews.open_review([where], reviews.ReviewSettings(), tell=observer().busy)
    with project:
        waiting, made = outgoing_of(project, collection, form), project.decisions()
    names = write_files(waiting, made, project.plan, form, folder, overwrite=overwrite)
    files = [str(folder / name) for name in names]
    line = f"{len(waiting):,} to decide, {counted(len(made), 'decision')} → {folder}"
    return Written("\n".join((line, *files)), {"open": len(waiting), "decisions": len(made), "files": files})


def import_review(file: AnyPath, /, *, on: AnyPath, reviewer: Reviewers = ()) -> Written:
    """Add decisions that were made in another tool to a review.

    All new decisions are added, or none if one of them is invalid.

    Args:
        file: CSV, or the JSON that Label Studio exports.
        on: The review: its folder, or the refinement or benchmark that it is about.
        reviewer: Name of the reviewer, if the file has none, or ID=NAME for a user; repeatable.

    Examples:
        $ eyetest review import export.json --on mybench --reviewer 3=Ann

        >>> et.import_review("export.json", on="bench-review", reviewer={"3": "Ann"}).facts  # doctest: +SKIP
        {'decisions': 40, 'new': 40}

    """
    from eyetest.studio.exchange import read_review

    words: list[str] = [] if isinstance(reviewer, Mapping) else several(reviewer)
    names = {str(user): name for user, name in reviewer.items() if name} if isinstance(reviewer, Mapping) else {}
    for word in words:  # without an id, the name for decisions without a user
        user, name = (part.strip() for part in (word.split("=", 1) if "=" in word else ("", word)))
        if not name:
            raise InputError(f"{heading('reviewer')}: found {short(word)}, expected NAME or ID=NAME")
        if user in names:
            raise InputError(f"{heading('reviewer')}: {short(user or name)} is given twice; leave one of the two out")
        names[user] = name
    path = path_of(file, "file")
    with reviews.find_review(path_of(on, "on")) as project:
        read, added = read_review(project, reviews.reviewed_collection(project, observer().busy), path, names)
    facts = {"decisions": read, "new": added}
    return Written(f"{counted(read, 'decision')} in {path.name}, {added:,} of them new", facts)


def review_decisions(place: AnyPath) -> "pl.DataFrame":
    """All decisions of a review, or of that about a refinement or benchmark, in order; edits and labels are JSON.

    >>> et.review_decisions("bench-review").select("item", "reviewer", "decision")  # doctest: +SKIP
    """
    from eyetest.records import Decision, columns
    from eyetest.studio.decisions import OBJECTS

    types = {"adjudicates": pl.Boolean}
    with reviews.find_review(path_of(place, "place")) as project:
        rows = [
            msgspec.structs.asdict(row) | {name: msgspec.json.encode(getattr(row, name)).decode() for name in OBJECTS}
            for row in project.decisions()
        ]
    return pl.DataFrame(rows, schema={name: types.get(name, pl.String) for name in columns(Decision)})


def review_outcomes(place: AnyPath) -> "pl.DataFrame":
    """The outcome of each item of a review: ``review`` while it is open or in dispute.

    >>> et.review_outcomes("bench-review").filter(verdict="drop")  # doctest: +SKIP
    """
    with reviews.find_review(path_of(place, "place")) as project:
        rows = [
            (item, outcome.verdict, outcome.reason, outcome.n, outcome.agree)
            for item, outcome in project.outcomes().items()
        ]
    schema = {"item": pl.String, "verdict": pl.String, "reason": pl.String, "n": pl.Int64, "agree": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def review_status(place: AnyPath) -> "ReviewStatus":
    """The progress of a review, by person, and the agreement of reviewers.

    >>> et.review_status("bench-review").progress.settled  # doctest: +SKIP
    58
    """
    with reviews.find_review(path_of(place, "place")) as project:
        return ReviewStatus(project)


class ReviewStatus(Found):
    """The progress of a review; ``frame`` has a row for the reviewers, and one for the admins who settle disputes."""

    def __init__(self, project: "ReviewProject") -> None:
        """The notes say which decisions no one can make, and how to invite people."""
        self.plan, self.progress, self.people = project.plan, project.progress(), project.people.rows()
        self.agreement, progress = project.agreement(), self.progress
        words = [counted(progress.items, "item"), f"{progress.settled:,} settled"]
        words += [f"{progress.disputes.open:,} for an admin"] if progress.disputes.open else []
        first = typed("eyetest", "review", "invite", "NAME", "--on", project.folder)
        notes = [progress.stuck] if self.people else [f"no one was invited yet: {first}"]
        notes += [f"items: {'; '.join(self.plan.items)}"] if self.plan.items else []
        named = {"reviewers": progress.reviewing, "admins": progress.disputes}
        rows = [(name, count.made, count.open) for name, count in named.items() if count.made or count.open]
        frame = pl.DataFrame(rows, {"decisions of": pl.String, "made": pl.Int64, "open": pl.Int64}, orient="row")
        people = [row._asdict() for row in self.people]
        data = {"plan": self.plan, "progress": progress, "agreement": self.agreement, "people": people}
        super().__init__(f"{self.plan.name} · {', '.join(words)}", frame, [*filter(None, notes)], data=data)

    def __rich__(self) -> RenderableType:
        people = [
            {"who": row.name, "role": "revoked" if row.revoked else row.role}
            | {"decided": row.decided, "could decide": row.waiting}
            for row in self.people
        ]
        agreement = pl.DataFrame(
            [
                {"coefficient": one.coefficient, "between": ", ".join(one.reviewers) or "all"}
                | {"agreement": one.value, "agreement_low": one.low, "agreement_high": one.high, "n": one.n}
                for one in self.agreement
            ]
        )
        parts: list[RenderableType] = [Text(safe(self.title), "bold"), estimates(self.frame)]
        parts += [estimates(agreement)] if self.agreement else []
        counts = ", ".join(f"{word} {count:,}" for word, count in self.progress.outcomes.items())
        parts += [Text(f"items by outcome: {counts}")] if counts else []
        parts += [Text(f"{count:,} × {safe(reason)}") for reason, count in self.progress.reasons.items()]
        return Group(*parts, *([estimates(pl.DataFrame(people, infer_schema_length=None))] if people else []))
