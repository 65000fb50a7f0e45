"""Which engine reads: the one that is named, or the best of those that are there."""

from eyetest.errors import MissingExtraError
from eyetest.ocr.base import Engine
from eyetest.registry import Registry

ENGINES: Registry[Engine] = Registry("OCR engine", "eyetest.ocr", "ENGINE")


def choose_engine(name: str = "") -> Engine:
    """An engine that can be used now; an error in one line says what to install where there is none."""
    if name:
        engine = ENGINES[name]
        if missing := engine.missing():
            raise MissingExtraError(f"the OCR engine {name} is not installed: {missing}")
        return engine
    ready = [engine for engine in ENGINES.values() if not engine.missing()]
    if not ready:
        mend = " or ".join(engine.missing() for engine in sorted(ENGINES.values(), key=lambda one: one.rank))
        raise MissingExtraError(f"no OCR engine is installed: {mend}")
    return min(ready, key=lambda engine: engine.rank)
