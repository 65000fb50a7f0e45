"""JSON as Python's own writer makes it, which other tools use: also NaN, Infinity and halves of surrogate pairs."""

import json
from typing import Any

import msgspec

from eyetest.errors import InputError

_decode = msgspec.json.Decoder().decode


def decode(data: bytes, where: str) -> Any:
    """The value; half a pair becomes U+FFFD, since no file of ours could hold it."""
    try:
        return _decode(data)
    except RecursionError:
        raise InputError(f"{where} is nested too deeply") from None
    except UnicodeDecodeError:
        raise InputError(f"{where} is not UTF-8") from None
    except msgspec.DecodeError as error:
        return _leniently(data, where, str(error))


def _leniently(data: bytes, where: str, why: str) -> Any:
    try:
        return _mended(json.loads(data.decode()))
    except RecursionError:
        raise InputError(f"{where} is nested too deeply") from None
    except ValueError:  # also what is not UTF-8
        raise InputError(f"{where} is not JSON: {why}") from None


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(part) for part in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(part) for key, part in value.items()}
    return value
