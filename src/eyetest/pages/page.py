"""Templates become pages that open anywhere.

Everything a dataset says is text there: the template escapes it, a content policy in the page forbids scripts and the
network, and pictures are drawn anew by us before they go in. Each picture lies in the page once and is referred to.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from eyetest.pages.texts import clip, odds, p_value
from eyetest.probes.subject import percent
from eyetest.store.replacing import refuse_to_lose, replacing_file


def fill_page(template: str, contents: Mapping[str, Any], package: str = "eyetest.reports") -> str:
    """A template of some package, filled; what is put into it is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"p": p_value, "odds": odds, "clip": clip, "percent": percent}
    return environment.get_template(template).render(contents)


def write_page(template: str, contents: Mapping[str, Any], to: Path, *, overwrite: bool = False) -> None:
    """Fill a template, and put the page in its place in one step."""
    page = fill_page(template, contents)
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    with replacing_file(to, overwrite=overwrite) as place:
        place.write_bytes(page.lstrip().encode("utf-8", "replace"))
