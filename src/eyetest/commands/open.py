"""The command ``open``: look at the items behind every number, in a browser."""

from typing import Annotated

from eyetest.commands.base import new_path, observer, path_of, several
from eyetest.commands.options import SERVED, AnyPath, Overwrite, Paths, Words, panel
from eyetest.commands.results import Written
from eyetest.errors import InputError, counted, param

_BUNDLE = panel("Files instead of a server", 2)


def browse(
    places: Paths,
    /,
    *,
    browser: Annotated[bool, SERVED] = False,
    address: Annotated[str | None, SERVED] = None,
    public: Annotated[str | None, SERVED] = None,
    proxy: Annotated[Words, SERVED] = (),
    bundle: Annotated[AnyPath | None, _BUNDLE] = None,
    no_golds: Annotated[bool, _BUNDLE] = False,
    overwrite: Overwrite = False,
) -> Written | None:
    """Look at items in a browser: filter, search, sort, and read every reply to one.

    Serves a page on this machine until Ctrl-C. Every view of it has its own link. No model is called and nothing is
    changed.

    Args:
        places: Benchmarks, runs, what refine wrote, and audits (JSON, verdicts), shown together.
        browser: Open the page in the browser.
        address: HOST:PORT to listen on; by default this machine alone, port 8765 or the next free one.
        public: Address that browsers use, where a reverse proxy passes their calls on: https://HOST/PATH.
        proxy: IP address or network of a proxy whose X-Forwarded-For and -Proto count; repeatable.
        bundle: Write files for any web host, or to open directly, into this folder, and serve nothing.
        no_golds: Leave out answer keys and everything that reveals them.
        overwrite: Replace a bundle that eyetest wrote before.

    Examples:
        $ eyetest open mybench.tsv run --browser
        $ eyetest open run --bundle pages

        >>> et.browse("world/benchmark", bundle="pages").facts["items"]
        60

    """
    import webbrowser

    from eyetest.pages.item_links import HOST, INDEX, read_address
    from eyetest.pages.serving import listen, read_front, server_of
    from eyetest.studio.app.bundle import write_bundle
    from eyetest.studio.app.items import make_app
    from eyetest.studio.collection import Collection

    paths = [path_of(getattr(place, "path", place), "places") for place in several(places)]
    if bundle is None and (no_golds or overwrite):
        raise InputError(f"{param('no_golds', True)} and {param('overwrite', True)} go with {param('bundle', 'DIR')}")
    served = {"browser": browser, "address": address, "public": public, "proxy": proxy}
    if bundle is not None and (wrong := [name for name, value in served.items() if value]):
        raise InputError(f"{param('bundle', bundle)} serves nothing; leave out {param(wrong[0])}")
    host, port = read_address(address)
    front = read_front(host, public, proxies := several(proxy))
    collection = Collection(paths, observer().busy)
    if bundle is not None:
        to = new_path(bundle, "bundle")
        items = write_bundle(collection, to, golds=not no_golds, overwrite=overwrite)
        return Written(f"{counted(items, 'item')} → {to / INDEX}", {"items": items, "page": str(to / INDEX)})
    app = make_app(collection, front, paths)
    for line in collection.notes:
        observer().note(line)
    taken, url = listen(host, port)
    if host != HOST or public:
        observer().note("everyone who can reach this machine sees all items, answer keys and replies")
    observer().note(f"serving {front.public or url}/ until Ctrl-C")
    if browser:
        webbrowser.open(f"{front.public or url}/")
    server_of(app, proxies).run(sockets=[taken])
    return None
