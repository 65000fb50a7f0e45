"""Families of scenes: how a question is posed and how its image is drawn."""

from eyetest_world.posing import Kind
from eyetest_world.scenes import diagrams, objects, places

FAMILIES: dict[str, tuple[Kind, ...]] = {**diagrams.FAMILIES, **objects.FAMILIES, **places.FAMILIES}
KINDS = dict(sorted((kind.name, kind) for kinds in FAMILIES.values() for kind in kinds))
FAMILY_OF = {kind.name: family for family, kinds in FAMILIES.items() for kind in kinds}
