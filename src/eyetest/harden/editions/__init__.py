"""New editions of items whose picture and gold follow from data, and twins whose answer is another one."""

from eyetest.harden.editions.generating import Generator, NotRenewable, Original, Redrawn, load_generator
from eyetest.harden.editions.generators import GENERATORS
from eyetest.harden.editions.renewing import (
    RENEW_STEP,
    TWIN_STEP,
    Editions,
    EditionSettings,
    make_twins,
    renew,
    write_scenes,
)

__all__ = [
    "GENERATORS",
    "RENEW_STEP",
    "TWIN_STEP",
    "EditionSettings",
    "Editions",
    "Generator",
    "NotRenewable",
    "Original",
    "Redrawn",
    "load_generator",
    "make_twins",
    "renew",
    "write_scenes",
]
