"""The package as a whole: what it leaves out, and that its parts are found by themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

from eyetest.errors import InputError


def test_the_core_does_without_torch_and_the_heavy_friends() -> None:
    code = "import sys, eyetest, eyetest.cli; print([m for m in ('torch', 'pandas', 'datasets') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_format_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/__init__.py").touch()
    (tmp_path / "parts/helper.py").write_text("x = 1")
    (tmp_path / "parts/mine.py").write_text("class F:\n    name = 'mine'\nFORMAT = F()")
    monkeypatch.syspath_prepend(str(tmp_path))
    from eyetest.registry import Registry

    registry: Registry[object] = Registry("format", "parts", "FORMAT", "format")
    assert list(registry) == ["mine"]
    with pytest.raises(InputError, match='no format named "mien"; did you mean "mine"'):
        registry["mien"]
