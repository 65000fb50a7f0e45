"""An eye test for vision-language benchmarks and the models that take them."""

__version__ = "0.1.0"
