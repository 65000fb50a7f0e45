"""What the eyetest rule set is made of, one family a file."""

__all__: list[str] = []
