"""An eye test for vision-language benchmarks and the models that take them.

>>> import eyetest as et
>>> bench = et.open("world/benchmark")
>>> len(bench)
60
"""

from typing import TYPE_CHECKING

import eyetest.reform
import eyetest.results
from eyetest.api import __all__ as _names
from eyetest.version import __version__

if TYPE_CHECKING:
    from eyetest.api import *  # noqa: F403 (the list of public names is there)
else:
    # Rooms of these names are loaded for good by now; without this, `et.results` would be the room, not the function.
    del eyetest.reform, eyetest.results
    from eyetest.api import __dir__, __getattr__  # noqa: F401 (a name is loaded when it is first used)

__all__ = [*_names, "__version__"]  # noqa: PLE0604
