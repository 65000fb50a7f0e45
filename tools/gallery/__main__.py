"""``python -m tools.gallery``: measure what hangs in the gallery, and write its pages."""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from tools.gallery import __doc__ as about
from tools.gallery.exhibits import Exhibit, read_exhibits
from tools.gallery.judgements import read_judgements
from tools.gallery.measuring import Figures, measure
from tools.gallery.pages import into_readme, summary, write_pages

ROOT = Path(__file__).parent.parent.parent
GALLERY = ROOT / "docs/gallery"
FIGURES, JUDGED = "figures.json", "judged.csv"


def look_at(name: str, exhibit: Exhibit, data: Path) -> Figures:
    """The figures of one benchmark, in a folder of its own where all data lie by name."""
    with tempfile.TemporaryDirectory() as folder:
        for source in data.iterdir():
            if source.is_dir():
                (Path(folder) / source.name).symlink_to(source.resolve())
        return measure(name, exhibit, Path(folder))


def write_all(exhibits: dict[str, Exhibit], stored: dict[str, Figures], readme: Path, to: Path) -> None:
    """Figures, pages, and the README's table."""
    (to / FIGURES).write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    seen = read_judgements(to / JUDGED)
    write_pages(exhibits, stored, seen, to)
    table = summary(exhibits, stored, seen, "docs/gallery/")
    readme.write_text(into_readme(readme.read_text(encoding="utf-8"), table), encoding="utf-8")


def main() -> None:
    """Measure, store, write."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=read_exhibits(), metavar="NAME", help="keep the others as stored"
    )
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    given = parser.parse_args()
    data = Path(os.environ.get("EYETEST_SHARED", ROOT.parent / "shared")) / "data"
    if not given.pages and not data.is_dir():
        sys.exit(f"no gallery without data: {data} is missing (set EYETEST_SHARED)")
    exhibits, file = read_exhibits(), GALLERY / FIGURES
    stored: dict[str, Figures] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name in () if given.pages else given.only or exhibits:
        began = time.monotonic()
        stored[name] = look_at(name, exhibits[name], data)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        write_all(
            exhibits, {known: stored[known] for known in exhibits if known in stored}, ROOT / "README.md", GALLERY
        )
    if given.pages:
        write_all(exhibits, stored, ROOT / "README.md", GALLERY)


if __name__ == "__main__":
    main()
