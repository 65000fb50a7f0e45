"""Makes what pip installed work together: run once by ``make harnesses``, with the environment's own Python."""

import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

PACKAGES = Path(sysconfig.get_paths()["purelib"])


def loads(words: str) -> bool:
    return subprocess.run([sys.executable, "-c", words], capture_output=True, check=False).returncode == 0


def main() -> None:
    (PACKAGES / "vlmevalkit.pth").write_text(f"{Path(sys.prefix) / 'vlmevalkit'}\n")
    if not loads("import decord"):  # it has no wheel for every platform, and images need none of it
        (PACKAGES / "decord.py").write_text("VideoReader = cpu = gpu = bridge = None\n")
    spec = find_spec("torchvision")
    if spec and spec.origin and not loads("import torchvision"):  # built for another PyTorch; no operator is needed
        (Path(spec.origin).parent / "_meta_registrations.py").write_text("")
    wanted = "import inspect_ai, lmms_eval.evaluator, vlmeval.dataset, vlmeval.inference"
    assert loads(wanted), "a harness does not load"


if __name__ == "__main__":
    main()
