"""Arrow streams whose few bytes unpack into gigabytes are refused before anything is unpacked; others pass."""

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pytest

from eyetest.errors import InputError
from eyetest.tabular import arrow_messages
from eyetest.tabular.arrow_messages import check_stream
from tests.mutations import mutations, refusals

BATCH = pa.record_batch(
    {"id": ["1", None], "text": ["x" * 100_000, "y"], "kind": pa.array(["a", "a" * 50_000]).dictionary_encode()}
)


def written(path: Path, batch: pa.RecordBatch, compression: str | None, *, legacy: bool = False) -> Path:
    options = pa.ipc.IpcWriteOptions(compression=compression, use_legacy_format=legacy)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema, options=options) as stream:
        stream.write_batch(batch)
        stream.write_batch(batch)
    return path


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_honest_streams(tmp_path: Path, compression: str | None, legacy: bool) -> None:
    check_stream(written(tmp_path / "a.arrow", BATCH, compression, legacy=legacy))


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("column", ["text", "kind"])
def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str, column: str) -> None:
    """Also those in a dictionary, which is a batch of its own."""
    monkeypatch.setattr(arrow_messages, "MAX_UNPACKED", 40_000)
    path = written(tmp_path / "a.arrow", BATCH.select([column]), compression)
    with pytest.raises(InputError, match=r"a\.arrow: [\d,]+ bytes unpack into"):
        check_stream(path)


@pytest.mark.slow
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_mutations(tmp_path: Path, compression: str | None) -> None:
    path = written(tmp_path / "a.arrow", BATCH, compression)
    assert len(refusals(check_stream, path, mutations(path.read_bytes(), 2_000))) > 50
