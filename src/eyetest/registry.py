"""Named plug-ins: modules of a package, and entry points of other installed distributions.

A package of plug-ins (formats, probes, models, metrics) holds a module for each plug-in or family of them; a plain
module may hold them all. Each module defines one constant, a plug-in or a tuple of them. Another distribution adds
plug-ins through the entry-point group ``eyetest.<group>``, whose values name such a constant. A second plug-in of a
name is refused, because results must not depend on what else is installed.
"""

import importlib
import pkgutil
from collections.abc import Container, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from eyetest.errors import InputError, nearest

Plugin = TypeVar("Plugin")


class Registry(Mapping[str, Plugin], Generic[Plugin]):
    """The plug-ins of one kind by name, loaded at the first look-up."""

    def __init__(self, kind: str, package: str, constant: str, group: str) -> None:
        self._kind, self._package, self._constant, self._group = kind, package, constant, group
        self._plugins: dict[str, Plugin] | None = None

    def _load(self) -> dict[str, Plugin]:
        if self._plugins is None:
            plugins: dict[str, Plugin] = {}
            home = importlib.import_module(self._package)
            inner = [f"{self._package}.{found.name}" for found in pkgutil.iter_modules(getattr(home, "__path__", ()))]
            for module in map(importlib.import_module, inner or [self._package]):
                plugins |= {plugin.name: plugin for plugin in _several(getattr(module, self._constant, ()))}
            for point in entry_points(group=f"eyetest.{self._group}"):
                for plugin in _several(load_entry_point(point)):
                    refuse_taken(plugin.name, plugins, self._kind, point)
                    plugins[plugin.name] = plugin
            self._plugins = plugins
        return self._plugins

    def __getitem__(self, name: str) -> Plugin:
        plugins = self._load()
        if name not in plugins:
            raise InputError(f'no {self._kind} named "{name}"; {nearest(name, plugins)}')
        return plugins[name]

    def __contains__(self, name: object) -> bool:
        return name in self._load()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._load()))

    def __len__(self) -> int:
        return len(self._load())


def _several(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def load_entry_point(point: EntryPoint) -> Any:
    """Load an entry point; an error names the distribution that declares it."""
    try:
        return point.load()
    except Exception as error:
        name = f"{point.group} {point.name}"
        raise InputError(f"{owner(point)}: its plug-in {name} cannot be loaded: {error}") from error


def refuse_taken(name: str, taken: Container[str], kind: str, point: EntryPoint) -> None:
    """Refuse a plug-in whose name is in use already."""
    if name in taken:
        taker = owner(point)
        raise InputError(f'{taker}: there is another {kind} named "{name}"; rename it, or uninstall {taker}')


def owner(point: EntryPoint) -> str:
    """The distribution that declares an entry point."""
    return point.dist.name if point.dist else "an installed package"
