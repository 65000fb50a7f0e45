"""``python -m tools.gallery``: measure the benchmarks of the manifest, and write the pages."""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tools.gallery import __doc__ as about
from tools.gallery.crossing import Print, across
from tools.gallery.judgements import read_judgements
from tools.gallery.manifest import FILE, Manifest, Row, read_manifest
from tools.gallery.measuring import Figures, measure
from tools.gallery.pages import write_all
from tools.gallery.replications import REPLICATED, read_replications
from tools.gallery.sources import UnavailableError, bring, contents, head, listed, repository

ROOT = Path(__file__).parent.parent.parent
GALLERY = ROOT / "docs/gallery"
FIGURES, JUDGED = "figures.json", "judged.csv"
_SKIPPED = 3  # exit status of a row whose source is not here


def sources() -> Path:
    """The folder with a git directory for each repository: OWNER+NAME/repo."""
    return Path(os.environ.get("EYETEST_SOURCES", ROOT.parent / "sources"))


def version() -> str:
    """A hash of the code that makes the figures."""
    known = hashlib.sha256()
    for folder in (ROOT / "src/eyetest", Path(__file__).parent):
        for file in sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".yaml"} and path != FILE):
            known.update(file.read_bytes())
    return known.hexdigest()


def fill(row: Row, folder: Path) -> None:
    """Bring the files of a benchmark into a folder."""
    if row.commit:
        return bring(repository(sources(), row.repository), row.commit, row.files, row.folders, folder)
    data = Path(os.environ.get("EYETEST_SHARED", ROOT.parent / "shared")) / "data"
    if not data.is_dir():
        raise UnavailableError(f"no {data}: set EYETEST_SHARED")
    for source in data.iterdir():
        (folder / source.name).symlink_to(source.resolve())
    return None


def measure_row(name: str, row: Row, to: Path) -> None:
    """Write the figures of one benchmark, and the hashes of its items."""
    with tempfile.TemporaryDirectory() as folder:
        fill(row, Path(folder))
        began, used = time.monotonic(), time.process_time()
        figures, known = measure(name, row, Path(folder))
    figures["took"] = {"seconds": round(time.monotonic() - began), "processor": round(time.process_time() - used)}
    (to / f"{name}.prints.json").write_bytes(msgspec.json.encode(known))
    (to / f"{name}.json").write_bytes(msgspec.json.encode(figures))


def bring_up(name: str, row: Row, work: Path, code: str) -> str:
    """Measure a row in a process of its own, unless that was done; what to print about it."""
    stamp, kept = work / f"{name}.stamp", hashlib.sha256(msgspec.json.encode([row, code])).hexdigest()
    if stamp.exists() and stamp.read_text() == kept:
        return f"{name}: unchanged"
    began = time.monotonic()
    command = [sys.executable, "-m", "tools.gallery", "--row", name, "--work", str(work)]
    try:
        how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 60 * row.minutes}
        done = subprocess.run(command, cwd=ROOT, check=False, **how)  # noqa: S603
    except subprocess.TimeoutExpired:
        return f"{name}: stopped after {row.minutes} minutes"
    if done.returncode == _SKIPPED:
        return f"{name}: skipped: {done.stderr.strip()}"
    if done.returncode:
        return f"{name}: failed:\n{done.stderr.strip()}"
    stamp.write_text(kept)
    return f"{name}: {time.monotonic() - began:.0f} s"


def pin(manifest: Path, folder: Path) -> None:
    """Fill in the commit of each repository and the SHA-256 of each file where the manifest has none."""
    content = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    for row in content["rows"].values():
        if "files" not in row:
            continue
        git = repository(folder, row["repository"])
        if not row.get("commit"):
            row["commit"] = head(git)
        known = row["files"] if isinstance(row["files"], dict) else dict.fromkeys(row["files"], "")
        for path, data in contents(git, listed(git, row["commit"], list(known))):
            if data is not None and not known.get(path):
                known[path] = hashlib.sha256(data).hexdigest()
        row["files"] = {path: known[path] for path in sorted(known) if known[path]}
    manifest.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=140), encoding="utf-8")


def gather(manifest: Manifest, work: Path, stored: Figures) -> Figures:
    """The figures of all rows that were measured, now or before, and what they share."""
    rows: dict[str, Figures] = {}
    known: dict[str, list[Print]] = {}
    for name in manifest.rows:
        if (file := work / f"{name}.json").exists():
            rows[name] = json.loads(file.read_text(encoding="utf-8"))
            known[name] = msgspec.json.decode((work / f"{name}.prints.json").read_bytes(), type=list[Print])
        elif name in stored.get("rows", {}):
            rows[name] = stored["rows"][name]
    of_others = [pair for pair in stored.get("shared", []) if not {pair["a"], pair["b"]} <= {*known}]
    return {"rows": rows, "shared": across(known) + [pair for pair in of_others if {pair["a"], pair["b"]} <= {*rows}]}


def main() -> None:
    """Measure, store, write; exit status 1 where a row failed."""
    if "--pin" in sys.argv:  # before the manifest is read: it refuses rows without hashes
        return pin(FILE, sources())
    manifest = read_manifest()
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=manifest.rows, metavar="NAME", help="keep the others as stored")
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    parser.add_argument("--jobs", type=int, default=2, help="rows at a time [default: 2]")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build/gallery", help="figures of rows, kept between runs"
    )
    parser.add_argument("--pin", action="store_true", help="fill in commits and hashes that the manifest lacks")
    parser.add_argument("--row", choices=manifest.rows, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.row:
        try:
            return measure_row(given.row, manifest.rows[given.row], given.work)
        except UnavailableError as error:
            print(error, file=sys.stderr)
            sys.exit(_SKIPPED)
    file = GALLERY / FIGURES
    stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    failed = False
    if not given.pages:
        code = version()
        with ThreadPoolExecutor(given.jobs) as pool:
            names = given.only or list(manifest.rows)
            for line in pool.map(lambda name: bring_up(name, manifest.rows[name], given.work, code), names):
                print(line, flush=True)
                failed |= ": failed" in line or ": stopped" in line
        stored = gather(manifest, given.work, stored)
        file.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    again = read_replications(GALLERY / REPLICATED)
    write_all(manifest, stored, read_judgements(GALLERY / JUDGED), again, GALLERY)
    return sys.exit(1) if failed else None


if __name__ == "__main__":
    main()
