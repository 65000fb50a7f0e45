"""Items opened to be looked at: served on this machine, or written as a bundle of files."""

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from eyetest.jobs.opening import observer
from eyetest.pages.item_counts import HOST, INDEX, PORT
from eyetest.review.app.bundle import write_bundle
from eyetest.review.app.server import PortTaken, listen, make_app, serve
from eyetest.review.collection import Collection

_TRIED = 20  # ports that are tried one after the other where none was named


def write_items(places: Sequence[Path], to: Path, *, golds: bool = True, overwrite: bool = False) -> tuple[int, Path]:
    """Write what can be seen of some places as files for any browser; gives how many items, and the first page."""
    collection = Collection.open(places, observer().busy)
    return write_bundle(collection, to, golds=golds, overwrite=overwrite), to / INDEX


def open_items(
    places: Sequence[Path],
    *,
    host: str = HOST,
    port: int | None = None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve some places until somebody ends it; ``ready`` hears the address once it answers."""
    collection = Collection.open(places, observer().busy)
    for line in collection.notes:
        observer().note(line)
    taken, address = listen_near(host, port)
    ready(f"{address}/")
    serve(make_app(collection, host, places), taken)


def listen_near(host: str, port: int | None) -> tuple[socket.socket, str]:
    """A port that is listened on from now, the one that was named or a free one, and its address."""
    taken = _listen(host, port)
    name = f"[{host}]" if ":" in host else host
    return taken, f"http://{name}:{taken.getsockname()[1]}"


def _listen(host: str, port: int | None) -> socket.socket:
    """The port that was named, or the first free one after the usual; at last any."""
    if port is not None:
        return listen(host, port)
    for number in range(PORT, PORT + _TRIED):
        with suppress(PortTaken):
            return listen(host, number)
    return listen(host, 0)
