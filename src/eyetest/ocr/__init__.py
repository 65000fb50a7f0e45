"""What stands written in a picture: engines behind one interface, none of which leaves this machine."""

from eyetest.ocr.base import Engine, ReadLine, ReadWord, scripts_of
from eyetest.ocr.choosing import ENGINES, choose_engine

__all__ = ["ENGINES", "Engine", "ReadLine", "ReadWord", "choose_engine", "scripts_of"]
