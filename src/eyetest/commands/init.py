"""The command ``init``: a project file and a models.yaml to begin with."""

from pathlib import Path
from typing import Annotated

from eyetest.commands.base import new_path, several
from eyetest.commands.options import SHORT_M, AnyPath, Overwrite, Words
from eyetest.commands.results import Written
from eyetest.errors import InputError, heading

MODELS, PROJECT = "models.yaml", "eyetest.yaml"
_ABOUT_MODELS = """\
# Models that can be asked (docs/install.md). Keys stay in the environment; key_env names theirs.
# qwen: {spec: "openai:Qwen/Qwen3-VL-8B-Instruct@http://127.0.0.1:8000/v1"}
# gpt: {spec: "openai:gpt-4o", key_env: OPENAI_API_KEY}
"""
_PROJECT = """\
# Values that commands in this folder use, unless an option states another.
seed: 0
{models}models: models.yaml

# Your own conditions by name; 'eyetest show conditions' lists all.
# conditions:
#   my-cot: {{modality: image, ask: cot}}
"""


def init(*, model: Annotated[Words, SHORT_M] = (), to: AnyPath = Path(), overwrite: Overwrite = False) -> Written:
    """Write a project file and a models.yaml.

    The project file eyetest.yaml holds values that commands in its folder use. No server is called, and no key is
    written.

    Args:
        model: A model for models.yaml: openai:MODEL@URL or NAME=SPEC; repeatable.
        to: The folder for the files; by default this one.
        overwrite: Replace files that are there.

    Examples:
        $ eyetest init --model openai:qwen@http://127.0.0.1:8000/v1

        >>> et.init(model="scripted:right=0.9", to="begun").facts["files"]
        ['begun/models.yaml', 'begun/eyetest.yaml']

    """
    import yaml

    from eyetest.models.specs import parse_models
    from eyetest.store import refuse_to_lose, write_file

    folder, words = new_path(to, "to"), several(model)
    parsed = parse_models(words) if words else {}
    for name, entry in parsed.items():
        if entry.written_down().spec != entry.spec:
            raise InputError(f"{heading('model')}: {name} carries a key or password; name its variable as key_env")
    entries = {name: {"spec": entry.spec} for name, entry in parsed.items()}
    listed = yaml.safe_dump(entries, sort_keys=False, allow_unicode=True) if entries else ""
    texts = {MODELS: _ABOUT_MODELS + listed, PROJECT: _PROJECT.format(models="" if entries else "# ")}
    for name in texts:
        refuse_to_lose(folder / name, overwrite=overwrite, ours=None)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_file(folder / name, text, overwrite=overwrite)
    files = [str(folder / name) for name in texts]
    return Written(", ".join(files), {"files": files})
