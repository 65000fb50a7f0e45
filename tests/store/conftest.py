"""A store in memory for what can be shown there, and a real server of S3's own protocol for the rest."""

import logging
import os
from collections.abc import Iterator
from contextlib import closing
from itertools import count

import fsspec
import pytest

from tests.running.processes import Nursery

_numbers = count()


@pytest.fixture
def memory() -> str:
    """A url of its own in memory, as others reach it through fsspec."""
    return f"memory://bucket-{next(_numbers)}"


@pytest.fixture(scope="session")
def _nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """One that has loaded what each of its commands would need a second for."""
    with closing(Nursery(tmp_path_factory.mktemp("nursery"), "import s3fs, aiobotocore.session\n")) as nursery:
        yield nursery


@pytest.fixture(scope="session")
def _server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer  # two seconds, for those who need it

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The url of a bucket of its own."""
    known = {"AWS_ENDPOINT_URL": _server, "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "a secret"}
    for name, value in {**known, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{next(_numbers)}"
    fsspec.filesystem("s3").mkdir(bucket)
    assert os.environ["EYETEST_CACHE"]
    yield f"s3://{bucket}"
    fsspec.filesystem("s3").clear_instance_cache()
