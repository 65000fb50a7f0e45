"""Modules that commands name at their top and that are imported at the first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import msgspec
    import polars as pl

    from eyetest.commands import cards
    from eyetest.measures import printed
    from eyetest.recipes import reviews
    from eyetest.records import recipe as layout
else:

    class _Module:
        """A module that is imported when one of its names is used, so that help is printed without it."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    msgspec, pl = _Module("msgspec"), _Module("polars")
    layout, printed = _Module("eyetest.records.recipe"), _Module("eyetest.measures.printed")
    cards, reviews = _Module("eyetest.commands.cards"), _Module("eyetest.recipes.reviews")

__all__ = ["cards", "layout", "msgspec", "pl", "printed", "reviews"]
