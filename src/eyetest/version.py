"""The version, in a place that everything may import."""

__version__ = "1.0.0"
