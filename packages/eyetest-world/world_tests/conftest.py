"""Fixtures of the core's tests, for the tests of this package."""

from tests.conftest import _hurried_disk as _hurried_disk
from tests.conftest import _own_cache as _own_cache
from tests.conftest import _own_secrets as _own_secrets
from tests.conftest import _silence as _silence
from tests.conftest import _spelling as _spelling
from tests.conftest import browser as browser
from tests.conftest import real_benchmark as real_benchmark
from tests.conftest import shared as shared
from tests.conftest import workdir as workdir
