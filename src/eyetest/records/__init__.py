"""Records that eyetest's packages exchange: frozen values, no I/O. Each module lists its exports."""

from eyetest.records.item import *  # noqa: F403
from eyetest.records.recipe import *  # noqa: F403
from eyetest.records.tables import *  # noqa: F403

from eyetest.records import item, recipe, tables  # isort: skip

__all__ = [*item.__all__, *recipe.__all__, *tables.__all__]  # noqa: PLE0604
