"""Who can draw items again, one kind of data a file."""

from eyetest.harden.editions.generating import Generator
from eyetest.registry import Registry

GENERATORS: Registry[Generator] = Registry("generator", __name__, "GENERATOR")
