"""MMStar's six core capabilities and their eighteen axes."""

CORES: dict[str, tuple[str, ...]] = {
    "coarse perception": ("scene and topic", "style & quality", "emotion"),
    "fine-grained perception": ("recognition", "counting", "localization"),
    "instance reasoning": ("single-instance", "cross-instance attribute", "cross-instance relation"),
    "logical reasoning": ("diagram", "common", "code & sequence"),
    "science & technology": (
        "biology & chemistry & physics",
        "geography & earth science & agriculture",
        "electronics & energy & mechanical",
    ),
    "math": ("geometry", "statistical", "numeric commonsense and calculation"),
}
CORE_OF = {axis: core for core, axes in CORES.items() for axis in axes}
AXES = tuple(CORE_OF)
