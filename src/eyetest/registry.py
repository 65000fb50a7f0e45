"""One way to have named, pluggable parts: drop a module into a package, and its part is there.

A package of plug-ins (formats, probes, models, metrics) holds one module a part, or a family of parts. Each module
defines one constant that the registry collects, a part or a tuple of them, so adding one touches no other file.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from eyetest.errors import InputError, nearest

Part = TypeVar("Part")


class Registry(Mapping[str, Part], Generic[Part]):
    """The parts of one package by name, loaded when first asked for."""

    def __init__(self, kind: str, package: str, constant: str) -> None:
        self._kind, self._package, self._constant = kind, package, constant
        self._parts: dict[str, Part] | None = None

    def _load(self) -> dict[str, Part]:
        if self._parts is None:
            parts: dict[str, Part] = {}
            for module in pkgutil.iter_modules(importlib.import_module(self._package).__path__):
                part = getattr(importlib.import_module(f"{self._package}.{module.name}"), self._constant, ())
                for one in part if isinstance(part, tuple) else (part,):
                    parts[one.name] = one
            self._parts = parts
        return self._parts

    def __getitem__(self, name: str) -> Part:
        parts = self._load()
        if name not in parts:
            raise InputError(f'no {self._kind} named "{name}"; {nearest(name, parts)}')
        return parts[name]

    def __contains__(self, name: object) -> bool:
        return name in self._load()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._load()))

    def __len__(self) -> int:
        return len(self._load())
