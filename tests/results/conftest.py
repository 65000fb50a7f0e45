"""An endpoint and commands for tests of the results room."""

from tests.endpoint import endpoint as endpoint
from tests.running.processes import _nursery as _nursery
from tests.running.processes import nursery as nursery
