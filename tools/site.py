"""Hooks of MkDocs: pages of the repository outside docs/ become pages of the site, and links to them follow.

On GitHub ``docs/audit.md`` links to ``../design/audit.md``; on the site the same page is ``design/audit.md``.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import eyetest

ROOT = Path(__file__).parent.parent
APART = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"} | {
    f"design/{path.name}": f"design/{path.name}" for path in sorted((ROOT / "design").glob("*.md"))
}
"""Files of the repository, by their pages on the site."""
_LINK = re.compile(r"(\]\()([^)#\s]+\.(?:md|ipynb|csv|json))((?:#[^)\s]*)?\))")
_LOW = "---\nsearch:\n  boost: 0.2\n---\n"
"""Guides come before decisions and references in the results of a search."""
_ORIGINS = {page: origin for origin, page in APART.items()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages that the navigation takes from whole folders: ``gallery/*`` and ``design/*``."""
    config.nav = _named(config.nav)
    return config


def _named(entries: Any) -> Any:
    if isinstance(entries, dict):
        return {title: _named(below) for title, below in entries.items()}
    if not isinstance(entries, list):
        return entries
    return [named for entry in entries for named in (_folder(entry) if _is_folder(entry) else [_named(entry)])]


def _is_folder(entry: object) -> bool:
    return isinstance(entry, str) and entry.endswith("/*")


def _folder(pattern: str) -> list[str]:
    folder = pattern.removesuffix("/*")
    at = ROOT / folder if folder == "design" else ROOT / "docs" / folder
    return [f"{folder}/{path.name}" for path in sorted(at.glob("*.md")) if path.name != "README.md"]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository that lie outside docs/."""
    for origin, page in APART.items():
        files.append(File.generated(config, page, content=_LOW + (ROOT / origin).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at pages of the site; a link to another file of the repository becomes its text."""
    here = page.file.src_uri
    if here in {"commands.md", "api.md"} or here.startswith("gallery/"):
        page.meta.setdefault("search", {"boost": 0.4})
    if here == "api.md":
        markdown = markdown.replace("[functions]", _reference(str.islower)).replace(
            "[classes]", _reference(str.isupper)
        )
    origin = _ORIGINS.get(here, f"docs/{here}")
    return _LINK.sub(lambda link: link[1] + _target(origin, here, link[2]) + link[3], markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the dialog of the search, which the theme does not."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def _reference(wanted: Callable[[str], bool]) -> str:
    """Directives of mkdocstrings for the public names whose first letter fits."""
    names = [name for name in eyetest.__all__ if wanted(name[0]) and name != "world"]
    return "\n\n".join(f"::: eyetest.{name}" for name in names)


def _target(origin: str, here: str, link: str) -> str:
    if "://" in link:
        return link
    file = (ROOT / origin).parent.joinpath(link).resolve()
    if not file.is_relative_to(ROOT):
        return link
    name = file.relative_to(ROOT).as_posix()
    page = APART.get(name) or name.removeprefix("docs/")
    return "../" * here.count("/") + page
