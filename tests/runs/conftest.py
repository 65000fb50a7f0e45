"""The command line, for tests that give commands."""

import pytest

from tests.support.command import Done as Done
from tests.support.command import Eyetest as Eyetest
from tests.support.command import call


@pytest.fixture
def eyetest() -> Eyetest:
    return call
