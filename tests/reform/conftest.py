"""Where hand-made annotation files in native formats lie: a folder for each dataset of the catalogue."""

from pathlib import Path

NATIVE = Path(__file__).parent / "native"
