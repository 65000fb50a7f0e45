"""Named plug-ins: modules of a package, and entry points of other installed distributions.

A package of plug-ins (formats, probes, models, metrics) holds a module for each plug-in or family of them; a plain
module may hold them all. Each module defines one constant, a plug-in or a tuple of them. Another distribution adds
plug-ins through the entry-point group ``eyetest.<group>``, whose values name such a constant. A second plug-in of a
name is refused, because results must not depend on what else is installed.
"""

import importlib
import pkgutil
from collections.abc import Container, Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from eyetest.errors import InputError, nearest

Plugin = TypeVar("Plugin")


class Registry(Mapping[str, Plugin], Generic[Plugin]):
    """The plug-ins of one kind by name, loaded at the first look-up."""

    def __init__(self, kind: str, package: str, constant: str, group: str) -> None:
        self._kind, self._package, self._constant, self._group = kind, package, constant, group

    @cached_property
    def _all(self) -> dict[str, Plugin]:
        plugins: dict[str, Plugin] = {}
        home = importlib.import_module(self._package)
        inner = [f"{self._package}.{found.name}" for found in pkgutil.iter_modules(getattr(home, "__path__", ()))]
        for module in inner or [self._package]:
            plugins |= self._of(module)
        for point in points_of(self._group):
            for plugin in _several(load_entry_point(point)):
                refuse_taken(plugin.name, plugins, self._kind, point)
                plugins[plugin.name] = plugin
        return plugins

    def _of(self, module: str) -> dict[str, Plugin]:
        found = getattr(importlib.import_module(module), self._constant, ())
        return {plugin.name: plugin for plugin in _several(found)}

    def _load_for(self, name: str) -> dict[str, Plugin]:
        """The plug-ins of the module with this name, if it has the plug-in and no entry point does; else all."""
        module = f"{self._package}.{name}"
        is_known = "_all" in vars(self) or not name.isidentifier() or name in points_of(self._group).names
        is_known |= not hasattr(importlib.import_module(self._package), "__path__")  # one module holds them all
        own = self._of(module) if not is_known and find_spec(module) else {}
        return own if name in own else self._all

    def __getitem__(self, name: str) -> Plugin:
        plugins = self._load_for(name)
        if name not in plugins:
            raise InputError(f'no {self._kind} named "{name}"; {nearest(name, plugins)}')
        return plugins[name]

    def __contains__(self, name: object) -> bool:
        return name in self._load_for(str(name))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all))

    def __len__(self) -> int:
        return len(self._all)


@cache
def _installed() -> Any:
    """All entry points, read once, because every installed distribution has a file of them."""
    return entry_points()


def points_of(group: str) -> EntryPoints:
    """The entry points of a kind of plug-ins."""
    found: EntryPoints = _installed().select(group=f"eyetest.{group}")
    return found


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
