"""Images of the answers to five questions, for docs/open.md: questions, options and images are blurred.

python -m tools.questions_shown SHARED docs/open
"""

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image

from eyetest.studio.collection import Collection
from tests.studio.app.conftest import served
from tests.studio.app.questions import MATHVISTA, MMMU_PRO, import_mathvista, import_mmmu_pro
from tests.support.browser import Browser, BrowserWindow

_SIZE = (1180, 700)
_COLOURS = 64
_BLUR = "img, .words, .asked, .option, blockquote, pre { filter: blur(9px) !important }"
"""What a benchmark's authors wrote and drew stays theirs."""
_UNREADABLE = f"""(() => {{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("{_BLUR}");
  document.adoptedStyleSheets = [sheet];
  scrollTo(0, 0);
}})()"""


def take(window: BrowserWindow, steps: tuple[str, ...], address: str, file: Path) -> str:
    """Click, blur, and keep what is seen; gives how many items are shown."""
    window.goto(address)
    for step in steps:
        (window.click if step.endswith("summary") else window.follow)(step)
    window.evaluate(_UNREADABLE)
    window.wait("[...document.images].every((image) => image.complete || image.loading === 'lazy')")
    image = Image.open(io.BytesIO(window.screenshot())).convert("RGB")
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    return str(window.evaluate("document.getElementById('number').textContent"))


def main() -> None:
    """Write all images."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("shared", type=Path)
    parser.add_argument("to", type=Path)
    given = parser.parse_args()
    benchmarks = {"mathvista": (import_mathvista, MATHVISTA), "mmmu-pro": (import_mmmu_pro, MMMU_PRO)}
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder) / "chromium") as browser:
        window = browser.visitor(*_SIZE)
        for name, (bring, questions) in benchmarks.items():
            run = bring(given.shared, Path(folder) / name)
            with served(Collection([run.path])) as address:
                for question, steps in questions.items():
                    file = given.to / f"{name}-{question}.png"
                    number = take(window, steps, address, file)
                    print(f"{file}: {number}, {len(steps)} clicks, {file.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
