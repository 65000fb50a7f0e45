"""What the documentation calls stable is what there is."""

import re

import eyetest as et
from eyetest.cli.app import all_commands
from eyetest.records import RUN_VERSION
from eyetest.records.item import FOLDER_VERSION
from tests.conftest import ROOT

_KIND = re.compile(r'(?:Registry\(".*", |points_of\()"([a-z-]+)"\)')


def test_the_page_lists_the_commands_functions_and_kinds_of_plug_ins() -> None:
    page = (ROOT / "docs/stability.md").read_text("utf-8")
    listed = {
        line.split("**")[1]: set(re.findall(r"`([a-z_ -]+)`", line.partition(": ")[2]))
        for line in page.splitlines()
        if line.startswith("**")
    }
    source = [*(ROOT / "src").rglob("*.py"), *(ROOT / "packages/eyetest-world/src").rglob("*.py")]
    kinds = {kind for path in source for kind in _KIND.findall(path.read_text("utf-8"))}
    assert listed["Commands"] == set(all_commands())
    assert listed["Python functions"] == {name for name in et.__all__ if name[0].islower()}
    assert listed["Plug-in kinds"] == kinds
    assert f"(version {FOLDER_VERSION}) and **run folders** (version {RUN_VERSION})" in page
