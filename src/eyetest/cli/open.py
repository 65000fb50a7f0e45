"""``eyetest open``: look at the items behind every number, in a browser."""

import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

from eyetest.cli.options import OverwriteOption, argument, option
from eyetest.cli.terminal import note, out
from eyetest.errors import InputError, param
from eyetest.jobs import open as job
from eyetest.pages.item_counts import HOST, PORT
from eyetest.wording import counted

served, written = partial(option, panel="Served"), partial(option, panel="Written")


def open_(
    places: Annotated[
        list[Path], argument("PLACE...", "Benchmarks, runs, what refine wrote, audits (JSON, verdicts); together.")
    ],
    browser: Annotated[bool, served("--browser", "Open it in the browser.")] = False,
    port: Annotated[
        int | None, served("--port", f"Where it listens. (default: {PORT}, or the next free)", min=0, max=65_535)
    ] = None,
    host: Annotated[str, served("--host", "Who may ask: 127.0.0.1 is this machine alone.", "NAME")] = HOST,
    bundle: Annotated[
        Path | None, written("--bundle", "Write files for any web host, or for none, and serve nothing.", "DIR")
    ] = None,
    no_golds: Annotated[bool, written("--no-golds", "Leave out golds and all they follow from.")] = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Look at items: filter, search and sort them, see what models score on what is left, and every reply to one.

    Serves a page on this machine until Ctrl-C. Every view of it is a link. Nothing is asked and nothing is changed.
    """
    if bundle is not None:
        if browser or port is not None or host != HOST:
            raise InputError(f"{param('bundle', bundle)} serves nothing; leave the options of the server out")
        items, page = job.write_items(places, bundle, golds=not no_golds, overwrite=overwrite)
        note(f"{counted(items, 'item')} → {page}")
        return
    if no_golds or overwrite:
        raise InputError(f"{param('no_golds', True)} and {param('overwrite', True)} go with {param('bundle', 'DIR')}")

    def ready(address: str) -> None:
        out.print(address, highlight=False, soft_wrap=True)
        out.file.flush()
        if host != HOST:
            note("whoever reaches this machine sees all items, golds and replies")
        note("Ctrl-C ends it")
        if browser:
            webbrowser.open(address)

    job.open_items(places, host=host, port=port, ready=ready)
