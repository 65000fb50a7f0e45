"""Datasets of the Hugging Face hub: ``hf://datasets/OWNER/NAME[@REVISION][:CONFIG][/SPLIT]``, fetched and pushed.

Only data files are fetched, by huggingface_hub (an extra) into its own cache; nothing of a repository is executed.
Tokens are those that huggingface_hub finds, and are handed to nothing else.
"""

import hashlib
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from glob import escape
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from eyetest.errors import EyetestError, InputError, MissingExtraError, first_line, listed, name_folder, param, short
from eyetest.redaction import learn, redact, show_store
from eyetest.store.files import LocalStore, is_plain_name

_WORD = r"[\w][\w.\-]*"
_DATASET = re.compile(rf"datasets/({_WORD}/{_WORD})(?:@({_WORD}))?(?::([^/:@\s]+))?(?:/({_WORD}))?/?", re.ASCII)
_EXPECTED = "expected hf://datasets/OWNER/NAME, followed by :CONFIG or /SPLIT where there are several"
_PARQUET, _TABLES = ".parquet", (".tsv", ".csv", ".jsonl", ".json", ".xlsx")
_METADATA = {
    "config.json", "croissant.json", "dataset_dict.json", "dataset_info.json", "dataset_infos.json", "state.json",
}  # fmt: skip
_SHARD = re.compile(r"data/(\w+(?:\.\w+)*)-\d{5}-of-\d{5}.*")
_SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}  # the words in file names that datasets reads as splits


class HubDataset(NamedTuple):
    """A dataset on the hub, or a part of it."""

    repo: str
    revision: str = ""
    config: str = ""
    split: str = ""

    def __str__(self) -> str:
        parts = ((self.revision, "@"), (self.config, ":"), (self.split, "/"))
        return f"hf://datasets/{self.repo}" + "".join(f"{sign}{part}" for part, sign in parts if part)


def hub_dataset(path: str | os.PathLike[str]) -> HubDataset:
    """The dataset that a path names."""
    show_store("hf:/")
    name = os.fspath(path)[3:].lstrip("/")  # a path object makes one slash of two
    if (parts := _DATASET.fullmatch(name)) is None:
        raise InputError(f"{short(f'hf://{name}')} names no dataset of the hub; {_EXPECTED}")
    return HubDataset(*(part or "" for part in parts.groups()))


def is_known(dataset: HubDataset, root: Path) -> bool:
    """Whether the user has fetched a dataset before."""
    return any(root.glob(f"{_key(dataset)}-*"))


@cache
def fetch_dataset(dataset: HubDataset, root: Path) -> Path:
    """The data of a split in a folder below ``root``; if the hub cannot be reached, as it was fetched last."""
    try:
        with _reaching(dataset) as hub:
            about = hub.HfApi().dataset_info(dataset.repo, revision=dataset.revision or None)
            chosen = _choose(dataset, about)
            folder = root / f"{_key(dataset)}-{about.sha[:12]}"
            target = folder / "-".join(filter(None, (dataset.repo.partition("/")[2], dataset.config, dataset.split)))
            if not target.is_dir():
                wanted = {"allow_patterns": [escape(name) for name in chosen], "revision": about.sha}
                got = Path(hub.snapshot_download(dataset.repo, repo_type="dataset", **wanted))
                with LocalStore().replacing_folder(target) as new:
                    for number, name in enumerate(chosen):
                        ending = PurePosixPath(name).suffix.lower()
                        label = f"{target.name}{ending}" if ending != _PARQUET else f"{number:05}{ending}"
                        _link(got / name, new / label)
        for older in root.glob(f"{_key(dataset)}-*"):
            if older != folder:
                shutil.rmtree(older, ignore_errors=True)
    except Unreachable:
        whole = (path for path in root.glob(f"{_key(dataset)}-*/*") if path.name[0] != ".")  # not of a killed fetch
        if not (before := sorted(whole, key=lambda path: path.stat().st_mtime_ns)):
            raise
        target = before[-1]
        warnings.warn(f"the hub cannot be reached; {dataset} is read as it was fetched before", stacklevel=2)
    name_folder(str(target), str(dataset))
    files = sorted(target.iterdir())
    if files[0].suffix == _PARQUET:
        return target
    name_folder(str(files[0]), str(dataset))
    return files[0]


def push_folder(dataset: HubDataset, folder: Path, message: str, *, overwrite: bool) -> tuple[str, bool]:
    """Push the files of a folder in one commit; the address of the page, and whether it is new, which is private."""
    if dataset != HubDataset(dataset.repo):
        raise InputError(f"{dataset} names a part; push to hf://datasets/{dataset.repo}")
    with _reaching(dataset) as hub:
        api = hub.HfApi()
        exists = api.repo_exists(dataset.repo, repo_type="dataset")
        there = api.list_repo_files(dataset.repo, repo_type="dataset") if exists else []
        if {*there} - {".gitattributes"} and not overwrite:
            raise InputError(f"{dataset} is already there; choose another name or add {param('overwrite', True)}")
        if not exists:
            api.create_repo(dataset.repo, repo_type="dataset", private=True)
        api.upload_folder(repo_id=dataset.repo, repo_type="dataset", folder_path=folder, commit_message=message)
        return f"{hub.constants.ENDPOINT}/datasets/{dataset.repo}", not exists


class Unreachable(EyetestError):  # noqa: N818 (it says what it is)
    """The hub does not answer."""


@contextmanager
def _reaching(dataset: HubDataset) -> Iterator[Any]:
    """The library, quiet; its errors become one line, and those of this disk stay as they are."""
    if find_spec("huggingface_hub") is None:
        raise MissingExtraError("hf:// needs huggingface_hub, which is not installed: pip install 'eyetest[hub]'")
    import huggingface_hub as hub  # noqa: PLC0415 (an extra)
    from huggingface_hub import constants, errors, logging, utils  # noqa: F401, PLC0415 (loads them as attributes)

    endpoint, show = hub.constants.ENDPOINT, hub.utils.are_progress_bars_disabled()
    show_store(f"{endpoint}/datasets")
    learn(hub.get_token() or "")
    verbosity, _ = hub.logging.get_verbosity(), hub.logging.set_verbosity_error()
    if not sys.stderr.isatty():
        hub.utils.disable_progress_bars()
    try:
        yield hub
    except EyetestError:
        raise
    except Exception as error:
        raise _in_a_line(error, dataset, hub, endpoint) from None
    finally:
        hub.logging.set_verbosity(verbosity)
        if not show:
            hub.utils.enable_progress_bars()


def _in_a_line(error: Exception, dataset: HubDataset, hub: Any, endpoint: str) -> BaseException:
    if isinstance(error, hub.errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # why it asked the cache instead of the hub
    log_in = "log in with `hf auth login` or set HF_TOKEN"
    lines = {
        hub.errors.GatedRepoError: f"is gated: accept its terms on {endpoint}/datasets/{dataset.repo}, then {log_in}",
        hub.errors.RepositoryNotFoundError: f"is not on the hub, or is private: {log_in}",
        hub.errors.RevisionNotFoundError: f"has no revision {short(dataset.revision)}",
        hub.errors.LocalTokenNotFoundError: f"needs a token: {log_in}",
        hub.errors.HFValidationError: f"is no name of a dataset; {_EXPECTED}",
    }
    for kind, line in lines.items():
        if isinstance(error, kind):
            return InputError(f"{dataset} {line}")
    status = getattr(getattr(error, "response", None), "status_code", 0)
    if status in (401, 403):
        return InputError(f"{dataset}: your token may not do this ({status}); {log_in}")
    if status:
        return InputError(f"{dataset}: the hub answers with {status}: {redact(first_line(error))}")
    is_network = any(kind.__name__ == "TransportError" for kind in type(error).__mro__)  # of httpx, in any version
    if is_network or isinstance(error, ConnectionError | TimeoutError):
        return Unreachable(f"{dataset}: {endpoint} cannot be reached: {redact(first_line(error))}")
    if isinstance(error, OSError) and error.errno:
        return error
    return InputError(f"{dataset}: {type(error).__name__}: {redact(first_line(error))}")


def _choose(dataset: HubDataset, about: Any) -> list[str]:
    """The data files of the config and split that are named, or of the only ones."""
    names = [one.rfilename for one in about.siblings or ()]
    names = sorted(name for name in names if all(map(is_plain_name, name.split("/"))))
    card = about.card_data.to_dict() if about.card_data else {}
    listing = card.get("configs")
    stated = [one for one in listing if isinstance(one, dict)] if isinstance(listing, list) else []
    configs = {str(one.get("config_name", "default")): _splits(one, names) for one in stated}
    splits = _pick(dataset, "config", configs or {"default": _splits({}, names)})
    chosen = _pick(dataset, "split", splits)
    if parquet := [name for name in chosen if name.lower().endswith(_PARQUET)]:
        return parquet
    if len(chosen) != 1:
        raise InputError(f"{dataset} is {len(chosen):,} files of {listed(chosen)}; only Parquet may be in several")
    return list(chosen)


def _pick(dataset: HubDataset, what: str, known: dict[str, Any]) -> Any:
    sign = ":" if what == "config" else "/"
    if not known:
        files = ", ".join((_PARQUET, *_TABLES))
        raise InputError(f"{dataset} has no data file ({files}); scripts of datasets are not executed")
    named = getattr(dataset, what)
    if not named and (len(known) == 1 or (what == "config" and "default" in known)):
        return known.get("default", next(iter(known.values())))
    if named in known:
        return known[named]
    example = dataset._replace(**{what: next(iter(known))})
    wrong = f"no {what} {short(named)}" if named else f"{len(known)} {what}s; name one with {sign}, such as {example}"
    raise InputError(f"{dataset} has {wrong}; known: {listed(known, 24)}")


def _splits(config: dict[str, Any], names: Sequence[str]) -> dict[str, list[str]]:
    """The data files of each split of a config, as the card states them or as datasets infers them from names."""
    data = [name for name in names if PurePosixPath(name).suffix.lower() in (_PARQUET, *_TABLES)]
    folder = str(config.get("data_dir") or "").strip("/")
    usual = [name for name in data if PurePosixPath(name).name.lower() not in _METADATA]
    within = [name for name in usual if not folder or name.startswith(f"{folder}/")]
    given = config.get("data_files")
    found: dict[str, list[str]] = {}
    if given is None:
        for name in within:
            found.setdefault(_split_of(name.removeprefix(f"{folder}/")), []).append(name)
        return found
    for entry in given if isinstance(given, list) else [given]:
        split, paths = (entry.get("split"), entry.get("path")) if isinstance(entry, dict) else ("train", entry)
        for path in paths if isinstance(paths, list) else [paths]:
            pattern = _pattern(f"{folder}/{path}" if folder else str(path))
            among = data if PurePosixPath(str(path)).name in _METADATA else usual
            found.setdefault(str(split), []).extend(name for name in among if pattern.fullmatch(name))
    return {split: list(dict.fromkeys(files)) for split, files in found.items() if files}


def _split_of(name: str) -> str:
    if shard := _SHARD.fullmatch(name):
        return shard[1]
    words = re.split(r"[\W_]+", name.lower())
    return next((_SPLITS[word] for word in words if word in _SPLITS), "train")


def _pattern(path: str) -> re.Pattern[str]:
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", path.removeprefix("./"))
    return re.compile("".join(signs.get(part) or re.escape(part) for part in parts))


def _key(dataset: HubDataset) -> str:
    endpoint = os.environ.get("HF_ENDPOINT", "")
    return f"hub-{hashlib.sha256(f'{endpoint} {dataset}'.encode()).hexdigest()[:16]}"


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)
