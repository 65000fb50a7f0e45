"""Items of our own with drawn images, and hostile ones, for every test of this folder."""

import io
from pathlib import Path

from PIL import Image, ImageDraw

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest, Turn, image_numbers
from eyetest.store.handwritten import parse_yaml

_FILE = Path(__file__).parent / "items.yaml"
_COLOURS = ("#c0392b", "#2471a3", "#1e8449", "#b7950b")


def drawn(number: int) -> bytes:
    """A small image of shapes."""
    image = Image.new("RGB", (320, 200 + 20 * number), "#fbfaf5")
    pen = ImageDraw.Draw(image)
    pen.ellipse((20, 30, 120, 130), _COLOURS[number % 4])
    pen.rectangle((150, 40, 230, 120), _COLOURS[(number + 1) % 4])
    pen.polygon(((250, 150), (310, 150), (280, 60)), _COLOURS[(number + 2) % 4])
    pen.line(((10, 170), (310, 150 + 5 * number)), "#222222", 3)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def own_benchmark(folder: Path) -> Benchmark:
    """The forty questions as a benchmark."""
    with BenchmarkWriter(folder, Manifest(name="own")) as writer:
        for number, row in enumerate(parse_yaml(_FILE.read_text("utf-8"), "items.yaml"), 1):
            options = [str(option) for option in row["o"]]
            named = [n for text in (row["q"], *options) for n in image_numbers(text)]
            writer.add(
                Item(
                    id=f"q{number:02}",
                    question=row["q"],
                    hint=row.get("hint", ""),
                    history=tuple(Turn(turn["q"], turn["a"]) for turn in row.get("t", ())),
                    images=tuple(writer.images.put(drawn(n)) for n in range(1, max(named, default=0) + 1)),
                    choices=tuple(Choice(option, at == 0) for at, option in enumerate(options)),
                )
            )
    return Benchmark(folder)


def item(question: str, *options: str, **more: object) -> Item:
    """An item whose first option is right."""
    return Item(id="one", question=question, choices=tuple(Choice(o, i == 0) for i, o in enumerate(options)), **more)  # type: ignore[arg-type]
