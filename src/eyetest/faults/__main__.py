"""``python -m eyetest.faults``: serve the faulty endpoint until Ctrl-C, and list its modes."""

import argparse
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from eyetest.faults import FaultyEndpoint


def main(words: Sequence[str] | None = None) -> int:
    """Serve the modes, or only list them."""
    parser = argparse.ArgumentParser(prog="python -m eyetest.faults", description=__doc__)
    parser.add_argument("--port", type=int, default=8765, help="where it listens, on this machine only; 0: anywhere")
    parser.add_argument("--list", action="store_true", help="print the modes as JSON, and serve nothing")
    options = parser.parse_args(words)
    if options.list:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(FaultyEndpoint(options.port).listing())).decode())
        return 0
    with FaultyEndpoint(options.port) as endpoint, suppress(KeyboardInterrupt):
        for row in endpoint.listing():
            sys.stdout.write(f"{row['expect']:<10} {row['url']:<60} {row['about']}\n")
        sys.stdout.write(f"\n{len(endpoint.modes)} modes at http://127.0.0.1:{endpoint.port}/, until Ctrl-C\n")
        sys.stdout.flush()
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
