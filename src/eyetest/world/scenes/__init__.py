"""Families of scenes, one a file: each says how a question is posed and how its picture is drawn."""

from eyetest.registry import Registry
from eyetest.world.posing import Kind

KINDS: Registry[Kind] = Registry("question kind", "eyetest.world.scenes", "KINDS")
